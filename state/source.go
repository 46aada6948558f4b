package state

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
	"go.etcd.io/bbolt"
)

// Sources are the texts of versions, stored once by content. The first byte of a record is its codec.
const (
	codecRaw  byte = 0
	codecZstd byte = 1

	compressFrom = 256 // bytes; shorter texts hardly compress
)

// Encoders and decoders are expensive to create, safe for concurrent use, and hold no state between calls.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		return must(zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true)))
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		return must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30)))
	})
)

// Source returns the text of a version, or ErrNoSource.
func (s *Store) Source(ctx context.Context, version Digest) (text []byte, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		text, err = getSource(tx, version)
		return err
	})
	return text, err
}

// getSource returns the text of a version. It does not compare the text with the digest: the seal covers the key, and
// Check compares.
func getSource(tx *bbolt.Tx, version Digest) ([]byte, error) {
	if version == Absent {
		return nil, &Error{Code: CodeNoSource, Message: "an absent version has no source"}
	}
	key := version.key()
	value := tx.Bucket(bucketSources).Get(key)
	if value == nil {
		return nil, &Error{
			Code:    CodeNoSource,
			Message: fmt.Sprintf("the store has no source %s", version),
			Hint:    "`xstate doctor --check` reports whether a source is missing",
		}
	}
	payload, err := unseal(bucketSources, key, value)
	if err == nil {
		payload, err = unpack(payload)
	}
	if err != nil {
		return nil, damaged(historyFile, fmt.Sprintf("the source %s cannot be read", version), err)
	}
	return payload, nil
}

// hasSource reports whether the store has the text of a version.
func hasSource(tx *bbolt.Tx, version Digest) bool {
	return version != Absent && tx.Bucket(bucketSources).Get(version.key()) != nil
}

// putSource stores a text, unless the store has it.
func putSource(tx *bbolt.Tx, text []byte) error {
	version := DigestOf(text)
	if hasSource(tx, version) {
		return nil
	}
	key := version.key()
	return tx.Bucket(bucketSources).Put(key, seal(bucketSources, key, pack(text)))
}

// pack returns content behind a codec byte, compressed if that makes it shorter.
func pack(content []byte) []byte {
	if len(content) >= compressFrom {
		if small := encoder().EncodeAll(content, []byte{codecZstd}); len(small) < len(content) {
			return small
		}
	}
	return append([]byte{codecRaw}, content...)
}

// unpack is the inverse of pack. The result shares no memory with data.
func unpack(data []byte) ([]byte, error) {
	switch {
	case len(data) == 0:
		return nil, fmt.Errorf("it is empty")
	case data[0] == codecRaw:
		return bytes.Clone(data[1:]), nil
	case data[0] == codecZstd:
		return decoder().DecodeAll(data[1:], nil)
	}
	return nil, fmt.Errorf("its codec %d is not known", data[0])
}
