package python

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/python/pytree"
)

// parseError turns a parser error into a position and a message.
func parseError(text string, err error) *depgraph.SyntaxError {
	var at *pytree.Error
	if !errors.As(err, &at) {
		return &depgraph.SyntaxError{Line: 1, Column: 1, Msg: err.Error()}
	}
	msg := "invalid syntax"
	start := min(at.Start, len(text))
	if at.Deep {
		msg = "the code is nested too deep"
	} else if where, what := lexicalError(text); what != "" {
		start, msg = where, what
	} else if at.Missing {
		msg = "something is missing here"
	} else if line, _, _ := strings.Cut(text[start:min(at.End, len(text))], "\n"); strings.TrimSpace(line) != "" {
		if utf8.RuneCountInString(line) > 40 {
			line = string([]rune(line)[:40]) + "…"
		}
		msg = fmt.Sprintf("invalid syntax near %q", line)
	}
	line := strings.Count(text[:start], "\n") + 1
	from := strings.LastIndexByte(text[:start], '\n') + 1
	return &depgraph.SyntaxError{Line: line, Column: utf8.RuneCountInString(text[from:start]) + 1, Msg: msg}
}

// lexicalError finds brackets and strings that are not closed. The parser recovers from such a mistake and reports it
// where the statement begins, or far below.
func lexicalError(text string) (at int, msg string) {
	closer := map[byte]byte{'(': ')', '[': ']', '{': '}'}
	var open []int
	for n := 0; n < len(text); n++ {
		switch c := text[n]; c {
		case '(', '[', '{':
			open = append(open, n)
		case ')', ']', '}':
			if len(open) == 0 {
				return n, fmt.Sprintf("unmatched '%c'", c)
			}
			last := open[len(open)-1]
			if closer[text[last]] != c {
				return n, fmt.Sprintf("closing '%c' does not match opening '%c'", c, text[last])
			}
			open = open[:len(open)-1]
		case '#':
			for n+1 < len(text) && text[n+1] != '\n' {
				n++
			}
		case '\\':
			n++
		case '\'', '"':
			length := stringEnd(text[n:])
			if !closed(text[n : n+length]) {
				return n, "unterminated string literal"
			}
			n += length - 1
		}
	}
	if len(open) > 0 {
		last := open[len(open)-1]
		return last, fmt.Sprintf("'%c' was never closed", text[last])
	}
	return 0, ""
}

// closed reports whether a string literal without prefix ends with the quotes it begins with.
func closed(literal string) bool {
	quote := literal[:1]
	if strings.HasPrefix(literal, strings.Repeat(quote, 3)) {
		quote = literal[:3]
	}
	return len(literal) >= 2*len(quote) && strings.HasSuffix(literal, quote) && stringEnd(literal+"\n") == len(literal)
}
