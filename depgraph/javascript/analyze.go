package javascript

import (
	"bytes"

	"github.com/xstate-engine/xstate/depgraph"
)

// Analyze returns the facts of a block. Facts.Code is the source itself. The error is a *depgraph.SyntaxError if the
// block does not parse. Analyze never guesses about such a block, but it accepts some that a compiler refuses.
func Analyze(source []byte, dialect depgraph.Dialect) (*depgraph.Facts, error) {
	w, err := analyze(source, dialect, false)
	if err != nil {
		return nil, err
	}
	return w.facts, nil
}

// analyze walks a block. With traced it notes how each name is resolved, for tests.
func analyze(source []byte, dialect depgraph.Dialect, traced bool) (*walker, error) {
	tree, err := parse(source, dialect)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	w := newWalker(string(source), tree.Nodes)
	w.facts.Code = bytes.Clone(source)
	w.typed = dialect == TypeScript || dialect == TSX
	w.traced = traced
	w.strict = dialect != JavaScript || w.directive(0)
	if dialect == JavaScript && w.strict {
		w.facts.Features = []string{useStrict}
	}
	w.program()
	if w.err != nil {
		return nil, w.err
	}
	w.cut()
	w.nodes = nil // Close frees them
	return w, nil
}
