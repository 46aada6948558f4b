package languages

import (
	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/internal/lang"
)

// Block is a block of a program, with its facts; nil if it does not parse.
type Block struct {
	Dialect depgraph.Dialect
	Facts   *depgraph.Facts
}

// Unfold finds the functions of a program whose statements are nodes, see depgraph.Part, and in notebooks the nodes
// that keep the value of a cell, see depgraph.Node.Keeps.
func Unfold(program []Block) depgraph.Unfolding {
	facts := make([]*depgraph.Facts, len(program))
	for i, b := range program {
		if v, ok := lang.Of(b.Dialect); ok && v.Language.Name == "python" {
			facts[i] = b.Facts
		}
	}
	found := python.Unfold(facts)
	Keep(program, found)
	return found
}

// Keep adds the nodes that keep the value of a cell to what Unfold found. Only notebooks have such nodes: programs
// whose blocks of Python are all IPython.
func Keep(program []Block, found depgraph.Unfolding) {
	facts := make([]*depgraph.Facts, len(program))
	for i, b := range program {
		switch v, ok := lang.Of(b.Dialect); {
		case ok && v.Dialect == python.Plain:
			return
		case ok && v.Dialect == python.IPython:
			facts[i] = b.Facts
		}
	}
	python.Keep(facts, found)
}

// ReadsLastValues reports whether a block may read the value of another cell by a name of IPython's.
func ReadsLastValues(f *depgraph.Facts) bool { return python.ReadsLastValues(f) }
