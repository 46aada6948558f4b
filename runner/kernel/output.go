package kernel

import "github.com/xstate-engine/xstate/state"

// Merge joins neighbouring pieces of the same stream.
func Merge(outputs []state.Output) []state.Output {
	var merged []state.Output
	for _, o := range outputs {
		if n := len(merged); n > 0 && o.Data == nil && merged[n-1].Data == nil && merged[n-1].Kind == o.Kind {
			merged[n-1].Text += o.Text
			continue
		}
		merged = append(merged, o)
	}
	return merged
}
