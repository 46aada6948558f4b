package languages

import (
	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/python"
)

// Block is a block of a program, with its facts; nil where it does not parse.
type Block struct {
	Dialect depgraph.Dialect
	Facts   *depgraph.Facts
}

// Unfold finds the functions of a program whose statements are nodes, see depgraph.Part.
func Unfold(program []Block) depgraph.Unfolding {
	facts := make([]*depgraph.Facts, len(program))
	for i, b := range program {
		if b.Dialect == "" || b.Dialect == python.Plain || b.Dialect == python.IPython {
			facts[i] = b.Facts
		}
	}
	return python.Unfold(facts)
}
