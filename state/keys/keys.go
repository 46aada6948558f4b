package keys

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/xstate-engine/xstate/state"
)

// CodeUnusable reports that a key is not an Ed25519 key, or not the half that is needed.
const CodeUnusable state.Code = "key-unusable"

func badKey(hint, format string, args ...any) error {
	return &state.Error{Code: CodeUnusable, Hint: hint,
		Message: "the key cannot be used: " + fmt.Sprintf(format, args...)}
}

const (
	hintPrivate = "make one with: openssl genpkey -algorithm ed25519 -out key.pem"
	hintPublic  = "its public half: openssl pkey -in key.pem -pubout -out pub.pem, or the .pub file of ssh-keygen"
)

// Private reads a key to sign with: PKCS #8 or OpenSSH, in PEM.
func Private(text []byte) (ed25519.PrivateKey, error) {
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

// Own returns the key in a file, and makes both if the file does not exist. The public half is beside it, with the
// ending .pub. Of several processes that make it at once, one does.
func Own(file string) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		if err := create(file); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("make the user's key: %w", err)
		}
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, fmt.Errorf("read the user's key: %w", err)
	}
	key, err := Private(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return key, nil
}

// create makes a key in a file that does not exist.
func create(file string) error {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	half, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), ".key-*") // readable by this user alone
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	if err := errors.Join(pem.Encode(temporary, &pem.Block{Type: "PRIVATE KEY", Bytes: der}), temporary.Sync(),
		temporary.Close()); err != nil {
		return err
	}
	if err := os.Link(temporary.Name(), file); err != nil { // unlike a rename, it replaces nothing
		return err
	}
	return os.WriteFile(file+".pub", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: half}), 0o644)
}

// Public reads a key to verify with: PKIX in PEM, or a line of OpenSSH.
func Public(text []byte) (ed25519.PublicKey, error) {
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
		return nil, badKey(hintPublic, "it is a private key, and verifying needs no more than the public one")
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

// ID names a key, in hex.
func ID(key ed25519.PublicKey) string {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		panic("xstate: internal error: an Ed25519 key has no DER form: " + err.Error())
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}
