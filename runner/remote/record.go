package remote

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/keys"
)

// Keys are what an execution of a node read. All texts are without the paths of roots.
type Keys struct {
	Reads          []depgraph.Key          `cbor:"reads"`
	AliasSensitive []string                `cbor:"touched,omitempty"` // see state.Trace
	Cited          []string                `cbor:"cites,omitempty"`   // blocks, see state.Trace.CitedBlocks
	Paths          map[depgraph.Key]string `cbor:"paths,omitempty"`   // see state.Trace
	// Pure: the node imported libraries and did nothing else. Such an import is made again wherever it is needed, so
	// the result holds for another home, too.
	Pure bool `cbor:"pure,omitempty"`
}

// Result is what an execution did.
type Result struct {
	// Trace has no code, no digests of reads, and no paths of roots.
	Trace state.Trace     `cbor:"trace"`
	Blobs []state.BlobRef `cbor:"blobs,omitempty"` // its outputs, and the files that it wrote
	Next  []state.Digest  `cbor:"next,omitempty"`  // the results that followed
}

// Value is a stored value.
type Value struct {
	Value state.Value     `cbor:"value"`
	Blobs []state.BlobRef `cbor:"blobs"`
}

// kind is that of a record. It is a part of what is signed.
type kind string

const (
	kindKeys   kind = "keys"
	kindResult kind = "result"
	kindValue  kind = "value"
	kindSigner kind = "signer"
	kindRef    kind = "ref"
)

// entry is where a signer keeps what a fingerprint names. Each has its own: what another has put there first is in no
// one's way.
type entry struct {
	name   state.Digest
	signer string
}

// Names of records. All but refs and the list of signers are a signer's own.

func keysName(at entry, number int) state.Digest {
	return state.DigestOf(fmt.Appendf(nil, "xstate keys 1\n%s\n%s\n%d", at.name, at.signer, number))
}

func resultName(at entry) state.Digest {
	return state.DigestOf(fmt.Appendf(nil, "xstate result 1\n%s\n%s", at.name, at.signer))
}

func valueName(at entry) state.Digest {
	return state.DigestOf(fmt.Appendf(nil, "xstate value 1\n%s\n%s", at.name, at.signer))
}

// mostSigners is how many signers the list of a cache names.
const mostSigners = 64

// signerNames are the names of the list of signers.
var signerNames = sync.OnceValue(func() (names []state.Digest) {
	for i := range mostSigners {
		names = append(names, state.DigestOf(fmt.Appendf(nil, "xstate signer 1\n%d", i)))
	}
	return names
})

func refName(session string, number int) state.Digest {
	return state.DigestOf(fmt.Appendf(nil, "xstate ref 1\n%s\n%d", session, number))
}

// A sealed record is the id of the key that signed it, the signature, and the content. So nothing of the content is
// read before the signature is verified.
const (
	idSize     = 32
	sealedSize = idSize + ed25519.SignatureSize
)

// message is what is signed: the content, with its kind and name.
func message(k kind, name state.Digest, content []byte) []byte {
	return append(fmt.Appendf(nil, "xstate remote 1\n%s\n%s\n", k, name), content...)
}

// signer signs records.
type signer struct {
	key ed25519.PrivateKey
	id  []byte
}

func newSigner(key ed25519.PrivateKey) *signer {
	id, err := hex.DecodeString(keys.ID(key.Public().(ed25519.PublicKey)))
	if err != nil {
		panic("remote: internal error: the id of a key is not hex")
	}
	return &signer{key, id}
}

// seal encodes and signs a record.
func (s *signer) seal(k kind, name state.Digest, record any) ([]byte, error) {
	content := state.Encode(record)
	sealed := slices.Concat(s.id, ed25519.Sign(s.key, message(k, name, content)), content)
	if len(sealed) > maxRecord {
		return nil, fmt.Errorf("a record of %d bytes is too large", len(sealed))
	}
	return sealed, nil
}

// trustedKeys returns keys by their ids, with the public half of the key that signs, if there is one.
func trustedKeys(own ed25519.PrivateKey, others []ed25519.PublicKey) map[string]ed25519.PublicKey {
	trusted := map[string]ed25519.PublicKey{}
	for _, key := range others {
		trusted[keys.ID(key)] = key
	}
	if own != nil {
		public := own.Public().(ed25519.PublicKey)
		trusted[keys.ID(public)] = public
	}
	return trusted
}

// verify returns the content of a sealed record with the id of the key that signed it. ok is false unless that is one
// of the keys by their ids.
func verify(trusted map[string]ed25519.PublicKey, k kind, name state.Digest, sealed []byte) (
	content []byte, id string, ok bool,
) {
	if len(sealed) < sealedSize || len(sealed) > maxRecord {
		return nil, "", false
	}
	id = hex.EncodeToString(sealed[:idSize])
	key, known := trusted[id]
	if !known {
		return nil, id, false
	}
	content = sealed[sealedSize:]
	return content, id, ed25519.Verify(key, message(k, name, content), sealed[idSize:sealedSize])
}
