package patch

import (
	"slices"
	"strings"
)

// blockRewrite is the new source of one block.
type blockRewrite struct{ block, now string }

// splitByDefinition distributes a text of definitions and imports over the blocks that hold these definitions. Agents
// often write again one function of a block that has several, or functions of several blocks. Each definition replaces
// the one in its block. A new definition goes next to its neighbour, and an import that no block has goes to the top.
// more reports that these blocks also hold code that the text lacks, which would be lost if the text replaced them.
func (g *decider) splitByDefinition(blocks []Block, in code) (out []blockRewrite, more, ok bool) {
	text := in.text
	news, bad := in.stmts([]byte(text))
	if bad || slices.ContainsFunc(news, func(s stmt) bool {
		return s.defines == "" &&
			!in.isImport(text[s.start:s.end])
	}) {
		return nil, false, false
	}
	home := map[string]int{} // definition → index of its block; -1: several blocks have it
	blocks = slices.DeleteFunc(slices.Clone(blocks), func(b Block) bool { return syntaxOf(b.Dialect) != in.syntax })
	for i, b := range blocks {
		for _, s := range g.stmts(b.code()) {
			if _, twice := home[s.defines]; twice {
				i = -1
			}
			if s.defines != "" {
				home[s.defines] = i
			}
		}
	}
	again := map[string]string{} // definition → its new source
	var imports []string
	last, fresh, at := "", "", 0
	for i, s := range news {
		end := s.end + len(in.trailing(text[s.end:following(news, i, len(text))]))
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
		now, rest, bad := in.replaced(b.Source, g.stmts(b.code()), again)
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

// stmts returns the statements of a block.
func (g *decider) stmts(c code) []stmt {
	list, ok := g.lists[c]
	if !ok {
		list, _ = c.syntax.stmts([]byte(c.text))
		g.lists[c] = list
	}
	return list
}

// replaced returns the source of a block with its definitions replaced by new ones, or "" if it has none of them. more
// reports that it holds code that the new text lacks.
func (c code) replaced(source string, olds []stmt, again map[string]string) (now string, more, bad bool) {
	var out strings.Builder
	at := 0
	for i, s := range olds {
		code, ok := again[s.defines]
		if !ok || s.defines == "" {
			more = more || !containsLines(c.text, source[s.start:s.end])
			continue
		}
		if s.broken {
			return "", false, true
		}
		out.WriteString(source[at:s.start] + c.withoutLead(code, source[at:s.start]))
		at = s.end + len(strings.TrimRight(c.trailing(source[s.end:following(olds, i, len(source))]), " \t\r\n"))
	}
	if at == 0 {
		return "", false, false
	}
	return out.String() + source[at:], more, false
}

// following returns the offset where the next statement begins.
func following(list []stmt, i, end int) int {
	if i+1 < len(list) {
		return list[i+1].start
	}
	return end
}

// trailing returns the text after a definition that belongs to it: the rest of its line, and indented comments.
func (s *syntax) trailing(gap string) string {
	n := 0
	for line := range strings.Lines(gap) {
		if n > 0 && strings.HasPrefix(line, s.comment) {
			break
		}
		n += len(line)
	}
	return gap[:n]
}

// withoutLead drops the comments above a definition that are already above the definition it replaces.
func (s *syntax) withoutLead(code, before string) string {
	for strings.HasPrefix(code, s.comment) {
		line, rest, _ := strings.Cut(code, "\n")
		if !containsLines(before, strings.TrimSpace(line)) {
			break
		}
		code = rest
	}
	return code
}

// containsLines reports whether a text contains the given lines.
func containsLines(text, lines string) bool {
	crlf := strings.NewReplacer("\r\n", "\n")
	return strings.Contains("\n"+crlf.Replace(text)+"\n", "\n"+crlf.Replace(lines)+"\n")
}
