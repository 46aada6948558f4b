package provenance_test

import (
	"crypto/ed25519"
	"testing"

	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/keys"
	"github.com/xstate-engine/xstate/state/provenance"
)

// FuzzVerifyStatement: nothing but what was signed verifies, and whatever does not has a code.
func FuzzVerifyStatement(f *testing.F) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	st := &provenance.Statement{
		Type:          "https://in-toto.io/Statement/v1",
		PredicateType: "https://slsa.dev/provenance/v1",
		Subject:       []provenance.Resource{{Name: "x", Digest: map[string]string{"sha256": "00"}}},
	}
	signed, err := st.Sign(f.Context(), key)
	if err != nil {
		f.Fatal(err)
	}
	want, err := st.Bytes()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(signed)
	f.Add(want)
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := provenance.VerifyStatement(data, key.Public().(ed25519.PublicKey))
		switch {
		case err != nil && state.CodeOf(err) == "":
			t.Errorf("VerifyStatement = %v, without a code", err)
		case err == nil:
			if have, err := got.Bytes(); err != nil || string(have) != string(want) {
				t.Errorf("VerifyStatement takes %s", data)
			}
		}
	})
}

// FuzzKeys: no text is a crash, and none is both halves of a key.
func FuzzKeys(f *testing.F) {
	f.Add(
		[]byte(
			"-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n" +
				"-----END PRIVATE KEY-----\n",
		),
	)
	f.Add([]byte("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA x"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, private := keys.Private(text)
		_, public := keys.Public(text)
		for _, err := range []error{private, public} {
			if err != nil && state.CodeOf(err) != keys.CodeUnusable {
				t.Errorf("%q: %v, want code %s", text, err, keys.CodeUnusable)
			}
		}
		if private == nil && public == nil {
			t.Errorf("%q is both halves of a key", text)
		}
	})
}
