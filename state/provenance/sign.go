package provenance

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/keys"
	"github.com/xstate-engine/xstate/state/query"
)

// Statements are signed in a DSSE envelope (Dead Simple Signing Envelope 1.0), see package keys. The id of a key is a
// hint for people: the verifier names the key that it trusts.

const payloadType = "application/vnd.in-toto+json"

// CodeSignature reports that there is no signature by this key for these bytes.
const CodeSignature state.Code = "signature-invalid"

// signer is dsse.Signer.
type signer ed25519.PrivateKey

func (s signer) Sign(_ context.Context, data []byte) ([]byte, error) {
	return ed25519.Sign(ed25519.PrivateKey(s), data), nil
}

func (s signer) KeyID() (string, error) {
	return keys.ID(ed25519.PrivateKey(s).Public().(ed25519.PublicKey)), nil
}

// Sign returns a statement in an envelope, signed.
func (st *Statement) Sign(ctx context.Context, key ed25519.PrivateKey) ([]byte, error) {
	payload, err := st.Bytes()
	if err != nil {
		return nil, err
	}
	return sealEnvelope(ctx, payload, key)
}

// sealEnvelope returns an in-toto statement in an envelope, signed.
func sealEnvelope(ctx context.Context, payload []byte, key ed25519.PrivateKey) ([]byte, error) {
	envelope, err := dsse.NewEnvelopeSigner(signer(key))
	if err != nil {
		return nil, err
	}
	signed, err := envelope.SignPayload(ctx, payloadType, payload)
	if err != nil {
		return nil, fmt.Errorf("sign a statement: %w", err)
	}
	data, err := json.Marshal(signed)
	return append(data, '\n'), err
}

// VerifyStatement returns the statement in an envelope if one of its signatures is by the key. It needs nothing but
// these bytes. The signature covers the bytes of the statement: JSON that is encoded again need not be equal.
func VerifyStatement(data []byte, key ed25519.PublicKey) (*Statement, error) {
	var envelope dsse.Envelope
	if err := json.Unmarshal(bytes.TrimSpace(data), &envelope); err != nil {
		return nil, &state.Error{
			Code:    CodeStatement,
			Message: "this is no signed statement: " + err.Error(),
			Hint:    "`xstate evidence OF --format in-toto --key KEY` makes one",
		}
	}
	if envelope.Payload == "" && envelope.PayloadType == "" {
		return nil, unsigned(data)
	}
	payload, err := verifyEnvelope(&envelope, key)
	if err != nil {
		return nil, err
	}
	return readStatement(payload)
}

// verifyEnvelope returns the in-toto statement in an envelope if one of its signatures is by the key.
func verifyEnvelope(envelope *dsse.Envelope, key ed25519.PublicKey) ([]byte, error) {
	payload, err := envelope.DecodeB64Payload()
	if err != nil {
		return nil, &state.Error{
			Code:    CodeStatement,
			Message: "the payload of the envelope is not in base64",
			Hint:    "it was damaged on the way; get it again",
		}
	}
	if len(envelope.Signatures) == 0 {
		return nil, &state.Error{
			Code:    CodeSignature,
			Message: "the envelope carries no signature",
			Hint:    "`xstate evidence OF --format in-toto --key KEY` makes a signed one",
		}
	}
	message := dsse.PAE(envelope.PayloadType, payload)
	var others []string
	for _, s := range envelope.Signatures {
		sig, err := base64.StdEncoding.DecodeString(s.Sig)
		if err != nil {
			sig, _ = base64.URLEncoding.DecodeString(s.Sig)
		}
		if ed25519.Verify(key, message, sig) {
			if envelope.PayloadType != payloadType {
				return nil, &state.Error{
					Code:    CodeStatement,
					Message: fmt.Sprintf("the envelope holds %q, not an in-toto statement", envelope.PayloadType),
					Hint:    "`xstate evidence OF --format in-toto --key KEY` makes one",
				}
			}
			return payload, nil
		}
		if s.KeyID != "" && s.KeyID != keys.ID(key) {
			others = append(others, fmt.Sprintf("%+q", query.Short(state.Digest(s.KeyID))))
		}
	}
	e := &state.Error{
		Code:    CodeSignature,
		Message: "the signature does not verify: the statement, or its signature, is not what was signed",
		Hint:    "do not rely on it; ask its signer for it again",
	}
	if len(others) == len(envelope.Signatures) {
		e.Message = fmt.Sprintf(
			"the signature does not verify: it is said to be by another key (%s), not by %s",
			strings.Join(others, ", "),
			query.Short(state.Digest(keys.ID(key))),
		)
		e.Hint = "ask who signed it for the public key, over a way that you trust"
	}
	return nil, e
}

// unsigned explains what a file is that is not an envelope.
func unsigned(data []byte) error {
	if _, err := readStatement(data); err != nil {
		return err
	}
	return &state.Error{
		Code:    CodeSignature,
		Message: "the statement is not signed",
		Hint:    "`xstate evidence OF --format in-toto --key KEY` makes a signed one",
	}
}
