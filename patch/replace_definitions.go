package patch

import (
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// blockRewrite is the new source of one block.
type blockRewrite struct{ block, now string }

// splitByDefinition distributes a text of definitions and imports over the blocks that hold these definitions. Agents
// often write again one function of a block that has several, or functions of several blocks. Each definition replaces
// the one in its block. A new definition goes next to its neighbour, and an import that no block has goes to the top.
// more reports that these blocks also hold code that the text lacks, which would be lost if the text replaced them.
func (g *decider) splitByDefinition(blocks []Block, in code) (out []blockRewrite, more, ok bool) {
	text := in.text
	news, bad := in.Statements([]byte(text))
	if bad || slices.ContainsFunc(news, func(s syntax.Statement) bool {
		return s.Defines == "" &&
			!in.IsImport(text[s.Start:s.End])
	}) {
		return nil, false, false
	}
	home := map[string]int{} // definition → index of its block; -1: several blocks have it
	blocks = slices.DeleteFunc(slices.Clone(blocks), func(b Block) bool { return syntax.Of(b.Dialect) != in.Syntax })
	for i, b := range blocks {
		for _, s := range g.stmts(b.code()) {
			if _, twice := home[s.Defines]; twice {
				i = -1
			}
			if s.Defines != "" {
				home[s.Defines] = i
			}
		}
	}
	again := map[string]string{} // definition → its new source
	var imports []string
	last, fresh, at := "", "", 0
	for i, s := range news {
		end := s.End + len(trailing(text[s.End:following(news, i, len(text))], in.Comment))
		code := strings.TrimRight(text[s.Start:end], " \t\r\n")
		lead := strings.TrimSpace(text[at:s.Start])
		at = end
		if lead != "" && s.Defines != "" {
			code = lead + "\n" + code
		}
		b, known := home[s.Defines]
		switch {
		case s.Defines == "":
			imports = append(imports, code)
		case again[s.Defines] != "", known && b < 0:
			return nil, false, false
		case known:
			again[s.Defines] = fresh + code
			last, fresh = s.Defines, ""
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
func (g *decider) stmts(c code) []syntax.Statement {
	list, ok := g.lists[c]
	if !ok {
		list, _ = c.Syntax.Statements([]byte(c.text))
		g.lists[c] = list
	}
	return list
}

// replaced returns the source of a block with its definitions replaced by new ones, or "" if it has none of them. more
// reports that it holds code that the new text lacks.
func (c code) replaced(source string, olds []syntax.Statement, again map[string]string) (now string, more, bad bool) {
	var out strings.Builder
	at := 0
	for i, s := range olds {
		code, ok := again[s.Defines]
		if !ok || s.Defines == "" {
			more = more || !containsLines(c.text, source[s.Start:s.End])
			continue
		}
		if s.Broken {
			return "", false, true
		}
		out.WriteString(source[at:s.Start] + withoutLead(code, source[at:s.Start], c.Comment))
		end := trailing(source[s.End:following(olds, i, len(source))], c.Comment)
		at = s.End + len(strings.TrimRight(end, " \t\r\n"))
	}
	if at == 0 {
		return "", false, false
	}
	return out.String() + source[at:], more, false
}

// following returns the offset where the next statement begins.
func following(list []syntax.Statement, i, end int) int {
	if i+1 < len(list) {
		return list[i+1].Start
	}
	return end
}

// trailing returns the text after a definition that belongs to it: the rest of its line, and indented comments.
func trailing(gap, comment string) string {
	n := 0
	for line := range strings.Lines(gap) {
		if n > 0 && strings.HasPrefix(line, comment) {
			break
		}
		n += len(line)
	}
	return gap[:n]
}

// withoutLead drops the comments above a definition that are already above the definition it replaces.
func withoutLead(code, before, comment string) string {
	for strings.HasPrefix(code, comment) {
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
