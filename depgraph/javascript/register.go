package javascript

import "github.com/xstate-engine/xstate/depgraph"

func init() {
	depgraph.Register("javascript", depgraph.Analyser{Analyze: Analyze, Outline: Outline, Comments: Comments})
}
