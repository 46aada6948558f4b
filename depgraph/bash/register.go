package bash

import "github.com/xstate-engine/xstate/depgraph"

func init() {
	depgraph.Register("bash", depgraph.Analyser{Analyze: Analyze, Outline: Outline, Comments: Comments})
}
