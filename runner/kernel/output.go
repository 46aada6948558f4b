package kernel

// Output is one thing that a node printed or displayed. A node has a list of them, in order.
type Output struct {
	Kind string            `json:"kind"` // stdout, stderr, display or result
	Text string            `json:"text,omitempty"`
	Data map[string]string `json:"data,omitempty"` // media type → text, images in base64; for display and result
}

// Merge joins neighbouring pieces of the same stream.
func Merge(outputs []Output) []Output {
	var merged []Output
	for _, o := range outputs {
		if n := len(merged); n > 0 && o.Data == nil && merged[n-1].Data == nil && merged[n-1].Kind == o.Kind {
			merged[n-1].Text += o.Text
			continue
		}
		merged = append(merged, o)
	}
	return merged
}
