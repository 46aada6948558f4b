package languages

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/lang"
)

// Handover is what a comment asks for: names that are bound to copies of another language's values.
type Handover struct {
	From  string      // the space of the other language
	Names [][2]string // the name there, and here
}

// handoverComment matches what follows the sign of a comment.
var handoverComment = regexp.MustCompile(`^\s*xstate:\s*from\s+([a-z]+)\s+import\s+(.+?)\s*$`)

var importedName = regexp.MustCompile(`^([\pL_$][\pL\pN_$]*)(?:\s+as\s+([\pL_$][\pL\pN_$]*))?$`)

// ReadHandover reads a comment such as "# xstate: from py import rows as table". ok is false for any other text.
func ReadHandover(line string) (h Handover, ok bool) {
	line = strings.TrimLeft(line, " \t\n\f\r")
	sign, ok := lang.Commented(line)
	if !ok {
		return h, false
	}
	m := handoverComment.FindStringSubmatch(line[len(sign.Comment):])
	if m == nil {
		return h, false
	}
	from, ok := lang.Named(m[1])
	if !ok {
		return h, false
	}
	h.From = from.Language.Space
	for name := range strings.SplitSeq(m[2], ",") {
		n := importedName.FindStringSubmatch(strings.TrimSpace(name))
		if n == nil {
			return h, false
		}
		if n[2] == "" {
			n[2] = n[1]
		}
		h.Names = append(h.Names, [2]string{n[1], n[2]})
	}
	return h, true
}

// handovers returns the nodes of the comments of a block that ask for values.
func handovers(f *depgraph.Facts, space string, comments []string) (nodes []depgraph.Node) {
	asks := map[string]bool{}
	for _, c := range comments {
		if strings.Contains(c, "xstate:") {
			asks[strings.TrimSpace(c)] = true
		}
	}
	if len(asks) == 0 {
		return nil
	}
	at := 0
	for i, line := range strings.SplitAfter(string(f.Code), "\n") {
		start := at
		at += len(line)
		if h, ok := ReadHandover(line); ok && h.From != space && asks[strings.TrimSpace(line)] {
			n := h.node(space)
			n.Start, n.End = start, start+len(strings.TrimRight(line, "\r\n"))
			n.Line, n.EndLine = i+1, i+1
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// node returns the node that hands over.
func (h Handover) node(space string) depgraph.Node {
	n := depgraph.Node{Kind: depgraph.KindStatement, Tokens: fmt.Sprintf("handover %q %q", h.From, h.Names)}
	for _, name := range h.Names {
		n.Uses = append(n.Uses, Name(h.From, name[0]))
		n.Defines = append(n.Defines, Name(space, name[1]))
	}
	slices.Sort(n.Uses)
	slices.Sort(n.Defines)
	n.Uses, n.Defines = slices.Compact(n.Uses), slices.Compact(n.Defines)
	n.Certain = n.Defines
	return n
}

// Name returns the name that a variable of a language has in a program.
func Name(space, name string) string { return depgraph.Var(name).In(space).Name() }
