package patch

// stmt is one statement at the top level of a text, or a range of it that does not parse.
type stmt struct {
	start, end int    // byte range in the text
	defines    string // the name, if it defines a function or class
	compound   bool   // Python: it has a suite: if, for, while, with, try, match, def, class
	broken     bool
}

// onlyDefinition returns the name that the statements define if exactly one of them is a definition, else "".
func onlyDefinition(list []stmt) string {
	name := ""
	for _, s := range list {
		if s.defines == "" {
			continue
		}
		if name != "" {
			return ""
		}
		name = s.defines
	}
	return name
}

// wholeParse limits the text that is parsed only to detect its format. Parsing that much takes 50 ms.
const wholeParse = 256 << 10
