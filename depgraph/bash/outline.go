package bash

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/xstate-engine/xstate/depgraph"
)

// Outline returns the outline of a block or file: its functions and variables, and its calls of commands that begin
// with "assert". A function has its name alone, as it is called.
func Outline(source []byte, _ depgraph.Dialect) (*depgraph.Outline, error) {
	o := &depgraph.Outline{}
	err := eachNode(source, func(list []*syntax.Stmt, end int) {
		n := newNode(source, list, end)
		for _, name := range n.Defines {
			if name != Exports {
				define(o, &n, name)
			}
		}
		if asserts(list[0]) {
			o.Asserts = append(o.Asserts, n.Line)
		}
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

func define(o *depgraph.Outline, n *depgraph.Node, name string) {
	d := depgraph.Definition{Name: name, Signature: name}
	if function, is := IsFunction(name); is {
		d.Name, d.Line, d.End = function, n.Line, n.EndLine
	}
	o.Definitions = slices.DeleteFunc(o.Definitions, func(x depgraph.Definition) bool { return x.Name == d.Name })
	o.Definitions = append(o.Definitions, d)
}

func asserts(s *syntax.Stmt) bool {
	c, ok := s.Cmd.(*syntax.CallExpr)
	return ok && len(c.Args) > 0 && strings.HasPrefix(c.Args[0].Lit(), "assert")
}
