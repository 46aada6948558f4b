package runner

import (
	"encoding/json"
	"fmt"

	"github.com/xstate-engine/xstate/state"
)

// Output is one thing a node put out, in order.
type Output struct {
	Kind string            `json:"kind"` // stdout, stderr, display or result
	Text string            `json:"text,omitempty"`
	Data map[string]string `json:"data,omitempty"` // media type → text, images in base64; for display and result
}

// putOutputs stores outputs and returns their blob; no outputs are no blob.
func putOutputs(store *state.Store, outputs []Output) (state.Digest, error) {
	if len(outputs) == 0 {
		return "", nil
	}
	data, err := json.Marshal(outputs)
	if err != nil {
		return "", fmt.Errorf("encode outputs: %w", err)
	}
	ref, err := store.PutBlob(data)
	return ref.Digest, err
}

// Outputs returns what a trace put out. ok is false when the blob is gone.
func Outputs(store *state.Store, t *state.Trace) (outputs []Output, ok bool, err error) {
	if t.Outputs == "" {
		return nil, true, nil
	}
	data, ok, err := store.Blob(t.Outputs)
	if err != nil || !ok {
		return nil, false, err
	}
	if err := json.Unmarshal(data, &outputs); err != nil {
		return nil, false, nil
	}
	return outputs, true, nil
}

// merge joins neighbouring pieces of the same stream.
func merge(outputs []Output) []Output {
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
