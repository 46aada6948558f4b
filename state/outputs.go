package state

import (
	"encoding/json"
	"fmt"

	"github.com/xstate-engine/xstate/state/output"
)

// PutOutputs stores outputs and returns their blob. No outputs have no blob.
func (s *Store) PutOutputs(outputs []output.Output) (Digest, error) {
	if len(outputs) == 0 {
		return "", nil
	}
	data, err := json.Marshal(outputs)
	if err != nil {
		return "", fmt.Errorf("encode outputs: %w", err)
	}
	ref, err := s.PutBlob(data)
	return ref.Digest, err
}

// Outputs returns the outputs of a trace. ok is false when the blob is gone.
func (s *Store) Outputs(t *Trace) (outputs []output.Output, ok bool, err error) {
	if t.Outputs == "" {
		return nil, true, nil
	}
	data, ok, err := s.Blob(t.Outputs)
	if err != nil || !ok {
		return nil, false, err
	}
	if err := json.Unmarshal(data, &outputs); err != nil {
		return nil, false, nil
	}
	return outputs, true, nil
}
