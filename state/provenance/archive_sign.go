package provenance

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"github.com/xstate-engine/xstate/state"
)

// A signed archive has one entry more, which SHA256SUMS does not list: a DSSE envelope with an in-toto statement whose
// subject is SHA256SUMS. That names the digest of every other entry, so the signature covers all that an import reads.
const (
	archiveSums          = "SHA256SUMS"
	archiveSignature     = "SIGNATURE.json"
	archivePredicateType = "https://github.com/xstate-engine/xstate/archive/v1"
)

// archiveStatement is what the signer of an archive states: this session, with these entries.
type archiveStatement struct {
	Type          string     `json:"_type"`
	Subject       []Resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     any        `json:"predicate"` // what the archive says of itself
}

// signSums returns the signature of an archive with these sums.
func signSums(ctx context.Context, index any, sums []byte, key ed25519.PrivateKey) ([]byte, error) {
	payload, err := json.Marshal(archiveStatement{
		Type:          statementType,
		Subject:       []Resource{{Name: archiveSums, Digest: sha256Of(state.DigestOf(sums))}},
		PredicateType: archivePredicateType,
		Predicate:     index,
	})
	if err != nil {
		return nil, fmt.Errorf("sign an archive: %w", err)
	}
	return sealEnvelope(ctx, payload, key)
}

// verifySums fails unless a signature is one by the key of an archive whose sums have this digest.
func verifySums(signature []byte, sums state.Digest, key ed25519.PublicKey) error {
	var envelope dsse.Envelope
	if err := json.Unmarshal(bytes.TrimSpace(signature), &envelope); err != nil {
		return &state.Error{
			Code:    CodeSignature,
			Message: "the signature of the archive is not in an envelope: " + err.Error(),
			Hint:    "do not rely on it; ask its signer for it again",
		}
	}
	payload, err := verifyEnvelope(&envelope, key)
	if err != nil {
		return err
	}
	var st archiveStatement
	if err := json.Unmarshal(payload, &st); err != nil || st.PredicateType != archivePredicateType ||
		len(st.Subject) != 1 || st.Subject[0].Digest["sha256"] != string(sums) {
		return &state.Error{
			Code:    CodeSignature,
			Message: "the signature is not of this archive: an entry was changed, added or dropped",
			Hint:    "do not rely on it; ask its signer for it again",
		}
	}
	return nil
}
