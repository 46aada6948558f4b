package patch

import (
	"slices"
	"strings"
)

// share is what a text that defines functions and classes makes of one block.
type blockRewrite struct{ block, now string }

// parts reports what becomes of the blocks that hold the definitions of a text, where the text is nothing but definitions and
// imports: agents often write one function again of a block that has several, or functions of several blocks. Each definition goes
// where the one block that has it has it, a new one beside its neighbour, and imports that no block has to the top. more says that
// those blocks hold something else, too, which the text does not, and would lose it if they became the text.
func (g *decider) splitByDefinition(blocks []Block, text string) (out []blockRewrite, more, ok bool) {
	news, bad := stmts([]byte(text))
	if bad || slices.ContainsFunc(news, func(s stmt) bool { return s.defines == "" && !isImport(text[s.start:s.end]) }) {
		return nil, false, false
	}
	home := map[string]int{} // definition → the block that has it; -1: several have
	for i, b := range blocks {
		for _, s := range g.stmts(b.Source) {
			if _, twice := home[s.defines]; twice {
				i = -1
			}
			if s.defines != "" {
				home[s.defines] = i
			}
		}
	}
	again := map[string]string{} // definition → what takes its place
	var imports []string
	last, fresh, at := "", "", 0
	for i, s := range news {
		end := s.end + len(trailing(text[s.end:following(news, i, len(text))]))
		code := strings.TrimRight(text[s.start:end], " \t\r\n")
		lead := strings.TrimSpace(text[at:s.start])
		at = end
		if lead != "" && s.defines != "" {
			code = lead + "\n" + code
		}
		b, known := home[s.defines]
		switch {
		case s.defines == "":
			imports = append(imports, code)
		case again[s.defines] != "", known && b < 0:
			return nil, false, false
		case known:
			again[s.defines] = fresh + code
			last, fresh = s.defines, ""
		case last != "":
			again[last] += "\n\n\n" + code
		default:
			fresh += code + "\n\n\n"
		}
	}
	if last == "" {
		return nil, false, false
	}
	if end := strings.TrimSpace(text[at:]); end != "" {
		again[last] += "\n\n" + end
	}
	imports = slices.DeleteFunc(imports, func(line string) bool {
		return slices.ContainsFunc(blocks, func(b Block) bool { return containsLines(b.Source, line) })
	})
	for _, b := range blocks {
		now, rest, bad := replaced(b.Source, g.stmts(b.Source), again, text)
		if bad {
			return nil, false, false
		}
		if now == "" {
			continue
		}
		if len(imports) > 0 {
			now, imports = strings.Join(imports, "\n")+"\n"+now, nil
		}
		more = more || rest
		out = append(out, blockRewrite{b.ID, now})
	}
	return out, more, true
}

// stmts are the statements of a block.
func (g *decider) stmts(source string) []stmt {
	list, ok := g.lists[source]
	if !ok {
		list, _ = stmts([]byte(source))
		g.lists[source] = list
	}
	return list
}

// replaced is a block's source with definitions in the place of its own, "" if it has none of them; more, whether it holds something
// that text does not.
func replaced(source string, olds []stmt, again map[string]string, text string) (now string, more, bad bool) {
	var out strings.Builder
	at := 0
	for i, s := range olds {
		code, ok := again[s.defines]
		if !ok || s.defines == "" {
			more = more || !containsLines(text, source[s.start:s.end])
			continue
		}
		if s.broken {
			return "", false, true
		}
		out.WriteString(source[at:s.start] + withoutLead(code, source[at:s.start]))
		at = s.end + len(strings.TrimRight(trailing(source[s.end:following(olds, i, len(source))]), " \t\r\n"))
	}
	if at == 0 {
		return "", false, false
	}
	return out.String() + source[at:], more, false
}

// following is where the statement behind one begins.
func following(list []stmt, i, end int) int {
	if i+1 < len(list) {
		return list[i+1].start
	}
	return end
}

// trailing is what of the text behind a definition is still its own: the rest of its line, and comments that are indented.
func trailing(gap string) string {
	n := 0
	for line := range strings.Lines(gap) {
		if n > 0 && line[0] == '#' {
			break
		}
		n += len(line)
	}
	return gap[:n]
}

// withoutLead leaves out the comments above a definition that stand above the one whose place it takes, too.
func withoutLead(code, before string) string {
	for code != "" && code[0] == '#' {
		line, rest, _ := strings.Cut(code, "\n")
		if !containsLines(before, strings.TrimSpace(line)) {
			break
		}
		code = rest
	}
	return code
}

func isImport(code string) bool {
	return strings.HasPrefix(code, "import ") || strings.HasPrefix(code, "from ")
}

// holds reports whether a text has lines that are these.
func containsLines(text, lines string) bool {
	crlf := strings.NewReplacer("\r\n", "\n")
	return strings.Contains("\n"+crlf.Replace(text)+"\n", "\n"+crlf.Replace(lines)+"\n")
}
