package languages

import (
	"github.com/xstate-engine/xstate/depgraph"
	_ "github.com/xstate-engine/xstate/depgraph/bash" // an analyser registers itself
	_ "github.com/xstate-engine/xstate/depgraph/javascript"
	_ "github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/internal/lang"
)

// Space returns the space of the names of a dialect; "" is that of Python.
func Space(dialect depgraph.Dialect) string {
	if v, ok := lang.Of(dialect); ok {
		return v.Language.Space
	}
	return ""
}

// Analyze returns the facts of a block, as they are in a program: see InProgram.
func Analyze(src []byte, dialect depgraph.Dialect) (*depgraph.Facts, error) {
	a, space, err := depgraph.AnalyserOf(dialect)
	if err != nil {
		return nil, err
	}
	f, err := a.Analyze(src, dialect)
	if err != nil {
		return nil, err
	}
	return InProgram(f, space, a.Comments(f)), nil
}

// Outline returns the outline of a block or file.
func Outline(src []byte, dialect depgraph.Dialect) (*depgraph.Outline, error) {
	a, _, err := depgraph.AnalyserOf(dialect)
	if err != nil {
		return nil, err
	}
	return a.Outline(src, dialect)
}

// Symbols returns, for each name that a block binds at top level, the tokens of the code that binds it: its statements
// in Python, its nodes in other languages. Two texts define a name in the same way if and only if these are equal.
func Symbols(src []byte, dialect depgraph.Dialect) (map[string]string, error) {
	a, _, err := depgraph.AnalyserOf(dialect)
	if err != nil {
		return nil, err
	}
	read := a.Analyze
	if a.Statements != nil {
		read = a.Statements
	}
	f, err := read(src, dialect)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for i := range f.Nodes {
		for _, name := range f.Nodes[i].Defines {
			found[name] += f.Nodes[i].Tokens
		}
	}
	return found, nil
}

// Comments returns the comments of the code of facts in order.
func Comments(f *depgraph.Facts, dialect depgraph.Dialect) []string {
	a, _, err := depgraph.AnalyserOf(dialect)
	if err != nil {
		return nil
	}
	return a.Comments(f)
}
