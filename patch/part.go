package patch

import "strings"

// part reports which block holds the definitions that a text consists of, where the text is nothing but definitions of functions
// and classes, and the one block that defines any of them defines each of them once, among other things. It returns the block's
// text with these in their place: agents often write one function again of a block that has several.
func part(blocks []Block, text string) (id, now string, ok bool) {
	news, bad := stmts([]byte(text))
	if bad || len(news) == 0 {
		return "", "", false
	}
	defines := map[string]string{} // name → its definition
	for i, s := range news {
		end := len(text)
		if i+1 < len(news) {
			end = news[i+1].start
		}
		if s.defines == "" || defines[s.defines] != "" || i == 0 && !blankLine(text[:s.start]) {
			return "", "", false
		}
		defines[s.defines] = strings.TrimRight(text[s.start:end], " \t\r\n")
	}
	for _, b := range blocks {
		olds, _ := stmts([]byte(b.Source))
		found := 0
		var out strings.Builder
		at := 0
		for _, s := range olds {
			if again := defines[s.defines]; s.defines != "" && again != "" {
				found++
				out.WriteString(b.Source[at:s.start] + again)
				at = s.end
			}
		}
		if found == 0 {
			continue
		}
		if ok || found != len(defines) {
			return "", "", false
		}
		id, now, ok = b.ID, out.String()+b.Source[at:], true
	}
	return id, now, ok
}
