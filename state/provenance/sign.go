package provenance

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"golang.org/x/crypto/ssh"

	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Statements are signed in a DSSE envelope (Dead Simple Signing Envelope 1.0) with Ed25519 keys (RFC 8032), as openssl
// (PKCS #8, RFC 8410) and ssh-keygen write them. The id of a key is the SHA-256 of its public part in DER. It is a
// hint for people: the verifier names the key that it trusts.

const payloadType = "application/vnd.in-toto+json"

const (
	CodeKey       state.Code = "key-unusable"      // it is not an Ed25519 key, or not the half that is needed
	CodeSignature state.Code = "signature-invalid" // there is none by this key for these bytes
)

func badKey(hint, format string, args ...any) error {
	return &state.Error{Code: CodeKey, Message: "the key cannot be used: " + fmt.Sprintf(format, args...), Hint: hint}
}

const (
	hintPrivate = "make one with: openssl genpkey -algorithm ed25519 -out key.pem"
	hintPublic  = "its public half: openssl pkey -in key.pem -pubout -out pub.pem, or the .pub file of ssh-keygen"
)

// PrivateKey reads a key to sign with: PKCS #8 or OpenSSH, in PEM.
func PrivateKey(text []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		if _, _, _, _, err := ssh.ParseAuthorizedKey(text); err == nil {
			return nil, badKey(hintPrivate, "it is a public key, and signing needs the private one")
		}
		return nil, badKey(hintPrivate, "it is not in PEM")
	}
	var key any
	var err error
	switch block.Type {
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "OPENSSH PRIVATE KEY":
		key, err = ssh.ParseRawPrivateKey(text)
	case "ENCRYPTED PRIVATE KEY":
		err = &ssh.PassphraseMissingError{}
	case "PUBLIC KEY":
		return nil, badKey(hintPrivate, "it is a public key, and signing needs the private one")
	default:
		return nil, badKey(hintPrivate, "it is a %s, not an Ed25519 key", strings.ToLower(block.Type))
	}
	if missing := (*ssh.PassphraseMissingError)(nil); errors.As(err, &missing) {
		return nil, badKey(
			"write it without one to a place that only you can read: openssl pkey -in key.pem -out plain.pem",
			"it is protected by a passphrase",
		)
	}
	if err != nil {
		return nil, badKey(hintPrivate, "%v", err)
	}
	switch key := key.(type) {
	case ed25519.PrivateKey:
		return key, nil
	case *ed25519.PrivateKey:
		return *key, nil
	}
	return nil, badKey(hintPrivate, "it is of another kind (%T), not Ed25519", key)
}

// PublicKey reads a key to verify with: PKIX in PEM, or a line of OpenSSH.
func PublicKey(text []byte) (ed25519.PublicKey, error) {
	var key any
	if block, _ := pem.Decode(text); block == nil {
		line, _, _, _, err := ssh.ParseAuthorizedKey(text)
		if err != nil {
			return nil, badKey(hintPublic, "it is neither in PEM nor a public key of OpenSSH")
		}
		wrapped, ok := line.(ssh.CryptoPublicKey)
		if !ok {
			return nil, badKey(hintPublic, "it is of another kind (%s), not Ed25519", line.Type())
		}
		key = wrapped.CryptoPublicKey()
	} else if strings.HasSuffix(block.Type, "PRIVATE KEY") {
		return nil, badKey(hintPublic, "it is a private key, and whoever verifies needs no more than the public one")
	} else {
		var err error
		if key, err = x509.ParsePKIXPublicKey(block.Bytes); err != nil || block.Type != "PUBLIC KEY" {
			return nil, badKey(hintPublic, "it is a %s that cannot be read as a public key",
				strings.ToLower(block.Type))
		}
	}
	if public, ok := key.(ed25519.PublicKey); ok {
		return public, nil
	}
	return nil, badKey(hintPublic, "it is of another kind (%T), not Ed25519", key)
}

// KeyID names a key.
func KeyID(key ed25519.PublicKey) string {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		panic("xstate: internal error: an Ed25519 key has no DER form: " + err.Error())
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// signer is dsse.Signer.
type signer ed25519.PrivateKey

func (s signer) Sign(_ context.Context, data []byte) ([]byte, error) {
	return ed25519.Sign(ed25519.PrivateKey(s), data), nil
}

func (s signer) KeyID() (string, error) {
	return KeyID(ed25519.PrivateKey(s).Public().(ed25519.PublicKey)), nil
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
		if s.KeyID != "" && s.KeyID != KeyID(key) {
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
			query.Short(state.Digest(KeyID(key))),
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
