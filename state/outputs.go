package state

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"

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

// Outputs returns the outputs of a trace, whose data is shared with other callers. ok is false when the blob is gone.
func (s *Store) Outputs(t *Trace) (outputs []output.Output, ok bool, err error) {
	if t.Outputs == "" {
		return nil, true, nil
	}
	path, info := s.blobs.file(t.Outputs)
	if info != nil {
		if outputs, ok = s.shown.get(t.Outputs, info); ok {
			s.blobs.used(info, path)
			return outputs, true, nil
		}
	}
	data, ok, err := s.Blob(t.Outputs)
	if err != nil || !ok {
		return nil, false, err
	}
	if err := json.Unmarshal(data, &outputs); err != nil {
		return nil, false, nil
	}
	if info != nil {
		s.shown.put(t.Outputs, info, outputs, len(data))
	}
	return outputs, true, nil
}

// file returns the path of a blob's own file and what is known of it; nil if it has none, as small ones do.
func (b *blobs) file(d Digest) (path string, info fs.FileInfo) {
	if path, ok := b.path(d); ok {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, info
		}
	}
	return "", nil
}
