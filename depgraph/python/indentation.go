package python

import (
	"strings"

	p "github.com/xstate-engine/xstate/depgraph/python/pytree"
)

// Tree-sitter's grammar takes layout lightly. It reads "x = 1" and an indented "y = 2" below it as two statements of
// one level. It reads a line that dedents to no outer level as part of the outer one. CPython refuses both. A guess
// would put a statement into the wrong branch, so the walker checks layout by the rules of the language reference
// (2.1.8).

// column is an indentation, measured with tabs to multiples of eight and with tabs as one column. The two must agree.
type column struct{ wide, narrow int }

const byteOrderMark = "\ufeff"

// indent returns the indentation of the line that holds a byte. first reports whether only blanks precede the byte.
func (w *walker) indent(at uint32) (c column, first bool) {
	start := strings.LastIndexByte(w.text[:at], '\n') + 1
	if start > 1 && continues(w.text[:start-1]) {
		return column{}, false
	}
	lead := w.text[start:at]
	if start == 0 {
		lead = strings.TrimPrefix(lead, byteOrderMark)
	}
	for i := range len(lead) {
		switch lead[i] {
		case ' ':
			c.wide++
			c.narrow++
		case '\t':
			c.wide += 8 - c.wide%8
			c.narrow++
		case '\f':
			c = column{}
		default:
			return column{}, false
		}
	}
	return c, true
}

// continues reports whether the last line of text is joined to the next line before a statement begins there. Such a
// line is blank except for a backslash, or has a backslash after a colon or semicolon. A comment may end in a
// backslash, too.
func continues(text string) bool {
	text = strings.TrimSuffix(text, "\r")
	if !strings.HasSuffix(text, "\\") {
		return false
	}
	line := strings.TrimRight(text[strings.LastIndexByte(text, '\n')+1:len(text)-1], " \t\f")
	return line == "" || (strings.HasSuffix(line, ":") || strings.HasSuffix(line, ";")) && !strings.Contains(line, "#")
}

// checkBlockIndentation compares the statements of a block with each other and with the statement that owns the block.
func (w *walker) checkBlockIndentation(owner, block uint32) {
	var level column
	open := false // the block begins on a new line
	outer, _ := w.indent(w.nodes[owner].Start)
	for c := w.child(block); c < w.end(block); c = w.next(c) {
		if w.sym(c) < firstNonTerminal {
			continue
		}
		at := w.nodes[c].Start
		col, first := w.indent(at)
		switch {
		case c == w.child(block):
			level, open = col, first
			if first && (col.wide <= outer.wide || col.narrow <= outer.narrow) {
				w.fail(at, "expected an indented block")
			}
		case first && !open:
			w.fail(at, "unexpected indent")
		case first && col != level:
			if col.wide == level.wide || col.narrow == level.narrow {
				w.fail(at, "inconsistent use of tabs and spaces in indentation")
			} else if col.wide > level.wide {
				w.fail(at, "unexpected indent")
			} else {
				w.fail(at, "unindent does not match any outer indentation level")
			}
		}
	}
}

// checkAligned refuses a clause, or a part of a decorated definition, that is not indented like its first line.
func (w *walker) checkAligned(owner, clause uint32) {
	if owner+1 == clause {
		return
	}
	want, _ := w.indent(w.nodes[owner].Start)
	if got, first := w.indent(w.nodes[clause].Start); first && got != want {
		w.failNode(clause, "unindent does not match any outer indentation level")
	}
}

// refuseOldToken refuses numbers and operators of Python 2.
func (w *walker) refuseOldToken(i uint32) {
	text := w.src(i)
	switch {
	case w.sym(i) == p.LessGreater:
		w.failNode(i, "<> is not an operator; use !=")
	case strings.HasSuffix(text, "L") || strings.HasSuffix(text, "l"):
		w.failNode(i, "invalid decimal literal")
	case len(text) > 1 && text[0] == '0' && strings.Trim(text, "0123456789_") == "" && strings.Trim(text, "0_") != "":
		w.failNode(i, "leading zeros in decimal integer literals are not permitted")
	}
}

// string walks the interpolations of a string and refuses unknown prefixes.
func (w *walker) string(i uint32) {
	text := w.src(i)
	n := strings.IndexAny(text, "'\"`")
	switch strings.ToLower(text[:max(n, 0)]) {
	case "", "r", "u", "b", "br", "rb", "f", "fr", "rf":
	default:
		w.failNode(i, "unknown string prefix %s", text[:n])
	}
	if n >= 0 && text[n] == '`' {
		w.failNode(i, "backquotes are not an expression; use repr")
	}
	w.exprs(i)
}
