package state

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// Digest names content: a source text, a node's code, a value, an output. It is lower-case hex; "" means absent.
type Digest string

// Absent is the digest of a key that has no value.
const Absent Digest = ""

// Edited is that of a file of which it is not known what a node read, see MarkEdited. It equals no other.
const Edited Digest = "edited"

// DigestOf returns the SHA-256 of content in lower-case hex.
func DigestOf(content []byte) Digest {
	sum := sha256.Sum256(content)
	return digest(sum)
}

func digest(sum [sha256.Size]byte) Digest { return Digest(hex.EncodeToString(sum[:])) }

// MarshalBinary halves a digest in records: 64 hex digits become 32 bytes. Any other text gets a zero byte in front.
// A text of 31 bytes would then have 32 bytes too, so it gets a one in front and a zero behind instead.
func (d Digest) MarshalBinary() ([]byte, error) {
	if d == "" {
		return nil, nil
	}
	if raw, ok := d.raw(); ok {
		return raw, nil
	}
	if len(d) == sha256.Size-1 {
		return append(append([]byte{1}, d...), 0), nil
	}
	return append([]byte{0}, d...), nil
}

// UnmarshalBinary is the inverse of MarshalBinary.
func (d *Digest) UnmarshalBinary(b []byte) error {
	switch {
	case len(b) == 0:
		*d = ""
	case len(b) == sha256.Size:
		*d = Digest(hex.EncodeToString(b))
	case b[0] == 0:
		*d = Digest(b[1:])
	case b[0] == 1 && len(b) == sha256.Size+1:
		*d = Digest(b[1:sha256.Size])
	default:
		return errors.New("not a digest")
	}
	return nil
}

// IsContent reports whether d has the form of the SHA-256 of a content.
func (d Digest) IsContent() bool {
	_, ok := d.raw()
	return ok
}

func (d Digest) raw() ([]byte, bool) {
	if len(d) != 2*sha256.Size {
		return nil, false
	}
	raw := make([]byte, sha256.Size)
	for i := range raw {
		hi, lo := hexDigit(d[2*i]), hexDigit(d[2*i+1])
		if hi > 15 || lo > 15 {
			return nil, false
		}
		raw[i] = hi<<4 | lo
	}
	return raw, true
}

func hexDigit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}

// key returns a digest as a database key.
func (d Digest) key() []byte {
	b, _ := d.MarshalBinary()
	return b
}

// Records are CBOR in the core deterministic encoding (RFC 8949, 4.2.1), so that equal records have equal hashes. The
// decoder bounds arrays and maps, so that a damaged length cannot exhaust memory, and rejects duplicate keys.
var (
	encoding = must(func() (cbor.EncMode, error) {
		o := cbor.CoreDetEncOptions()
		o.Time = cbor.TimeRFC3339NanoUTC
		return o.EncMode()
	}())
	decoding = must(
		cbor.DecOptions{
			MaxArrayElements: 1 << 24,
			MaxMapPairs:      1 << 24,
			DupMapKey:        cbor.DupMapKeyEnforcedAPF,
			UTF8:             cbor.UTF8DecodeInvalid, // the encoder writes every string, so every string can be read
		}.DecMode(),
	)
)

func must[T any](v T, err error) T {
	if err != nil {
		panic("state: internal error: " + err.Error())
	}
	return v
}

// encode panics if v cannot be encoded. The record types of this package always can.
func encode(v any) []byte { return must(encoding.Marshal(v)) }

// Encode returns a record of another package in the encoding of the store. It panics if v cannot be encoded.
func Encode(v any) []byte { return encode(v) }

// Decode is the inverse of Encode.
func Decode(data []byte, v any) error { return decode(data, v) }

// callDecoding reads calls of an archive, where a byte can be an element that takes a hundred in memory. No call has so
// many attempts and former outcomes.
var callDecoding = must(
	cbor.DecOptions{
		MaxArrayElements: 1 << 16,
		MaxMapPairs:      1 << 16,
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
		UTF8:             cbor.UTF8DecodeInvalid,
	}.DecMode(),
)

func decode(data []byte, v any) error { return decoding.Unmarshal(data, v) }

const sealSize = 16

var errSeal = errors.New("checksum does not match")

// seal returns the payload behind its checksum. The checksum also covers bucket and key, so that a record that turns
// up under another key is detected.
func seal(bucket, key, payload []byte) []byte {
	sum := sealSum(bucket, key, payload)
	return append(sum[:sealSize:sealSize], payload...)
}

// unseal returns the payload of a sealed record. The result shares memory with the record.
func unseal(bucket, key, value []byte) ([]byte, error) {
	if len(value) < sealSize {
		return nil, fmt.Errorf("record of %d bytes is cut short", len(value))
	}
	sum := sealSum(bucket, key, value[sealSize:])
	if string(sum[:sealSize]) != string(value[:sealSize]) {
		return nil, errSeal
	}
	return value[sealSize:], nil
}

// sealSum hashes bucket, key and payload. The lengths come first, because ("ab", "c") and ("a", "bc") must not have
// one sum.
func sealSum(bucket, key, payload []byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	var n [8]byte
	binary.BigEndian.PutUint32(n[:4], uint32(len(bucket)))
	binary.BigEndian.PutUint32(n[4:], uint32(len(key)))
	h.Write(n[:])
	h.Write(bucket)
	h.Write(key)
	h.Write(payload)
	h.Sum(sum[:0])
	return sum
}

// stepKey returns the key of a step: session, then number, both big-endian, so that a session's steps are adjacent
// and in order.
func stepKey(id sessionID, n StepNumber) []byte {
	k := make([]byte, 16)
	binary.BigEndian.PutUint64(k, uint64(id))
	binary.BigEndian.PutUint64(k[8:], uint64(n))
	return k
}

func (id sessionID) key() []byte { return binary.BigEndian.AppendUint64(nil, uint64(id)) }
