package syntax

// Statement is one statement at the top level of a text, or a range of it that does not parse.
type Statement struct {
	Start, End int    // byte range in the text
	Defines    string // the name, if it defines a function or class
	Compound   bool   // of Python: has a suite: if, for, while, with, try, match, def, class
	Broken     bool   // it does not parse
}

// OnlyDefinition returns the name that the statements define if exactly one of them is a definition, else "".
func OnlyDefinition(list []Statement) string {
	name := ""
	for _, s := range list {
		if s.Defines == "" {
			continue
		}
		if name != "" {
			return ""
		}
		name = s.Defines
	}
	return name
}

// WholeParse limits the text, in bytes, that is parsed only to detect its format. Parsing that much takes 50 ms.
const WholeParse = 256 << 10
