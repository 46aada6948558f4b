package languages

import (
	"fmt"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/bash"
	"github.com/xstate-engine/xstate/depgraph/javascript"
	"github.com/xstate-engine/xstate/depgraph/python"
)

// analyser holds the functions that read a language.
type analyser struct {
	analyze  func(src []byte, dialect depgraph.Dialect) (*depgraph.Facts, error)
	outline  func(src []byte, dialect depgraph.Dialect) (*depgraph.Outline, error)
	symbols  func(src []byte, dialect depgraph.Dialect) (map[string]string, error) // nil: those of the nodes
	comments func(f *depgraph.Facts) []string
	space    string
}

var (
	pythons = analyser{python.Analyze, python.Outline, python.Symbols, python.Comments, ""}
	scripts = analyser{javascript.Analyze, javascript.Outline, nil, javascript.Comments, depgraph.SpaceJS}
	shells  = analyser{bash.Analyze, bash.Outline, nil, bash.Comments, depgraph.SpaceBash}
)

// analysers are the languages by dialect. A block that names none is Python.
var analysers = map[depgraph.Dialect]analyser{
	"": pythons, python.Plain: pythons, python.IPython: pythons, javascript.JavaScript: scripts,
	javascript.ESM:        scripts,
	javascript.TypeScript: scripts, javascript.TSX: scripts, bash.Bash: shells,
}

func of(dialect depgraph.Dialect) (analyser, error) {
	a, ok := analysers[dialect]
	if !ok {
		return a, fmt.Errorf("no analyser reads the dialect %q", dialect)
	}
	return a, nil
}

// Space returns the space of the names of a dialect; "" is that of Python.
func Space(dialect depgraph.Dialect) string { return analysers[dialect].space }

// Analyze returns the facts of a block, as they are in a program: see InProgram.
func Analyze(src []byte, dialect depgraph.Dialect) (*depgraph.Facts, error) {
	a, err := of(dialect)
	if err != nil {
		return nil, err
	}
	f, err := a.analyze(src, dialect)
	if err != nil {
		return nil, err
	}
	return InProgram(f, a.space, a.comments(f)), nil
}

// Outline returns the outline of a block or file.
func Outline(src []byte, dialect depgraph.Dialect) (*depgraph.Outline, error) {
	a, err := of(dialect)
	if err != nil {
		return nil, err
	}
	return a.outline(src, dialect)
}

// Symbols returns, for each name that a block binds at top level, the tokens of the code that binds it: its statements
// in Python, its nodes in other languages.
func Symbols(src []byte, dialect depgraph.Dialect) (map[string]string, error) {
	a, err := of(dialect)
	if err != nil {
		return nil, err
	}
	if a.symbols != nil {
		return a.symbols(src, dialect)
	}
	f, err := a.analyze(src, dialect)
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
	a, err := of(dialect)
	if err != nil {
		return nil
	}
	return a.comments(f)
}
