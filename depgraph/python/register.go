package python

import "github.com/xstate-engine/xstate/depgraph"

func init() {
	depgraph.Register("python", depgraph.Analyser{Analyze: Analyze, Outline: Outline, Comments: Comments,
		Statements: func(src []byte, dialect depgraph.Dialect) (*depgraph.Facts, error) {
			return facts(src, dialect, eachStatement)
		}})
}
