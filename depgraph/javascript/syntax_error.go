package javascript

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

// syntaxError returns an error at a byte of a text.
func syntaxError(text string, at int, format string, args ...any) *depgraph.SyntaxError {
	from := strings.LastIndexByte(text[:at], '\n') + 1
	return &depgraph.SyntaxError{
		Line: strings.Count(text[:at], "\n") + 1, Column: utf8.RuneCountInString(text[from:at]) + 1,
		Msg: fmt.Sprintf(format, args...),
	}
}

// parseError turns the first error of a tree into a position and a message. Where the parser dropped most of the text,
// a bracket that is not closed explains more than where the parser began to recover.
func parseError(text string, tree *jstree.Tree) *depgraph.SyntaxError {
	at := tree.Broken
	start := min(at.Start, len(text))
	if at.Deep {
		return syntaxError(text, start, "the code is nested too deep")
	}
	if where, msg := unbalanced(text, tree.Nodes); msg != "" {
		return syntaxError(text, where, "%s", msg)
	}
	if at.Missing {
		return syntaxError(text, start, "something is missing here")
	}
	line, _, _ := strings.Cut(text[start:min(at.End, len(text))], "\n")
	if strings.TrimSpace(line) == "" {
		return syntaxError(text, start, "invalid syntax")
	}
	if utf8.RuneCountInString(line) > 40 {
		line = string([]rune(line)[:40]) + "…"
	}
	return syntaxError(text, start, "invalid syntax near %q", line)
}

// unbalanced finds a bracket without its partner, among the tokens of a broken tree.
func unbalanced(text string, nodes []jstree.Node) (at int, msg string) {
	closer := map[string]string{"(": ")", "[": "]", "{": "}", "${": "}"}
	var open []jstree.Node
	for _, n := range nodes {
		if n.Kind != jstree.Token || n.Missing() {
			continue
		}
		switch token := text[n.Start:n.End]; token {
		case "(", "[", "{", "${":
			open = append(open, n)
		case ")", "]", "}":
			if len(open) == 0 {
				return int(n.Start), fmt.Sprintf("unmatched '%s'", token)
			}
			last := open[len(open)-1]
			if opener := text[last.Start:last.End]; closer[opener] != token {
				return int(n.Start), fmt.Sprintf("closing '%s' does not match opening '%s'", token, opener)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		last := open[len(open)-1]
		return int(last.Start), fmt.Sprintf("'%s' was never closed", text[last.Start:last.End])
	}
	return 0, ""
}
