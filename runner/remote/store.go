package remote

import (
	"context"
	"errors"
	"io"

	"github.com/xstate-engine/xstate/state"
)

// Store is the way to what a cache holds. It is safe for concurrent use. It verifies nothing: its user does.
//
// A method fails where the connection or the store does. That something is missing is an answer.
type Store interface {
	// Records returns the records with these names, in their order; nil for each that is missing.
	Records(ctx context.Context, names []state.Digest) ([][]byte, error)
	// PutRecord stores a record, unless there is one of that name. refs are the blobs that it refers to: a store that
	// frees what was not used for long keeps them with the record, if it can.
	PutRecord(ctx context.Context, name state.Digest, record []byte, refs []state.BlobRef) error
	// Missing returns those of some blobs that the store does not have.
	Missing(ctx context.Context, refs []state.BlobRef) ([]state.BlobRef, error)
	// Blob writes the content of a blob to w. It reports false if the store does not have it.
	Blob(ctx context.Context, ref state.BlobRef, w io.Writer) (bool, error)
	// PutBlob stores a blob. r has ref.Size bytes, or ends early with an error.
	PutBlob(ctx context.Context, ref state.BlobRef, r io.Reader) error
	// Close ends connections.
	Close() error
}

// ErrReadOnly reports that a store does not take what it was given: it is full, or this user may not write.
var ErrReadOnly = errors.New("the cache takes no more")

// maxRecord bounds the size of a record, in bytes.
const maxRecord = 1 << 20
