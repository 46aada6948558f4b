package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"

	"github.com/xstate-engine/xstate/state"
)

// exact passes on the content of a blob, at most as many bytes as that has, and knows at the end whether it was that.
type exact struct {
	ref    state.BlobRef
	w      io.Writer
	left   int64
	hash   hash.Hash
	long   bool  // there was more
	failed error // w's
}

func newExact(ref state.BlobRef, w io.Writer) *exact {
	return &exact{ref: ref, w: w, left: ref.Size, hash: sha256.New()}
}

var errLong = errors.New("the blob has more bytes than its ref says")

func (e *exact) Write(part []byte) (int, error) {
	if int64(len(part)) > e.left {
		e.long = true
		return 0, errLong
	}
	n, err := e.w.Write(part)
	e.hash.Write(part[:n])
	e.left -= int64(n)
	e.failed = err
	return n, err
}

// whole reports whether all was written that the digest is of.
func (e *exact) whole() bool {
	return e.left == 0 && hex.EncodeToString(e.hash.Sum(nil)) == string(e.ref.Digest)
}
