package python

import "github.com/xstate-engine/xstate/depgraph"

func init() {
	depgraph.Register("python",
		depgraph.Analyser{Analyze: Analyze, Outline: Outline, Symbols: Symbols, Comments: Comments})
}
