package runner

import (
	"encoding/json"
	"fmt"

	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// Output is one thing that a node printed or displayed.
type Output = kernel.Output

// putOutputs stores outputs and returns their blob. No outputs have no blob.
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

// Outputs returns the outputs of a trace. ok is false when the blob is gone.
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
