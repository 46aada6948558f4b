package provenance_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	slsa "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"golang.org/x/crypto/ssh"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/keys"
	"github.com/xstate-engine/xstate/state/provenance"
	"github.com/xstate-engine/xstate/state/query"
)

func newStatement(t *testing.T, of string) *provenance.Statement {
	t.Helper()
	a := xstatetest.NewArtifacts(t)
	a.Declare(t, "show", state.ArtifactExample, "report", "data.csv")
	st, err := evidence(t, a, of).Statement("test")
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func newKey(t *testing.T) (ed25519.PublicKey, ed25519.PrivateKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return public, private
}

// TestStatement: those who define the formats take it, with no field that they do not know; their validators reject
// others.
func TestStatement(t *testing.T) {
	for _, of := range []string{"report", "show", "doubled", "file:out.csv", "check"} {
		st := newStatement(t, of)
		data, err := st.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		keep(t, "statement.json", data)
		var theirs intoto.Statement
		if err := protojson.Unmarshal(data, &theirs); err != nil {
			t.Fatalf("statement of %s: %v\n%s", of, err, data)
		}
		if err := theirs.Validate(); err != nil {
			t.Errorf("statement of %s: %v\n%s", of, err, data)
		}
		predicate, err := json.Marshal(st.Predicate)
		if err != nil {
			t.Fatal(err)
		}
		var provenance slsa.Provenance
		if err := protojson.Unmarshal(predicate, &provenance); err != nil {
			t.Fatalf("predicate of %s: %v\n%s", of, err, predicate)
		}
		if err := provenance.Validate(); err != nil {
			t.Errorf("predicate of %s: %v\n%s", of, err, predicate)
		}
		for _, r := range provenance.BuildDefinition.ResolvedDependencies {
			if err := r.Validate(); err != nil {
				t.Errorf("predicate of %s: dependency %s: %v", of, r.Name, err)
			}
		}
		st.Predicate.BuildDefinition.BuildType = ""
		if predicate, err = json.Marshal(st.Predicate); err != nil {
			t.Fatal(err)
		}
		var bad slsa.Provenance
		if err := protojson.Unmarshal(predicate, &bad); err != nil || bad.Validate() == nil {
			t.Errorf("the validator takes a predicate without a build type")
		}
	}
}

// TestStatementNotRun: nothing is stated of what was not run.
func TestStatementNotRun(t *testing.T) {
	a := xstatetest.NewArtifacts(t)
	a.Edit(t, strings.Replace(xstatetest.ArtifactProgram, "by * x", "x * by", 1))
	if _, err := evidence(t, a, "report").Statement("test"); state.CodeOf(err) != query.CodeNotExecuted {
		t.Errorf("Statement of what rests on an edit that was not run = %v", err)
	}
	if _, err := evidence(t, a, "load").Statement("test"); err != nil {
		t.Errorf("Statement of what does not rest on it = %v", err)
	}
}

// TestSignature: the envelope verifies by others' code and by ours; with any byte of what it says changed, or another
// key, it does not.
func TestSignature(t *testing.T) {
	st := newStatement(t, "report")
	public, private := newKey(t)
	signed, err := st.Sign(t.Context(), private)
	if err != nil {
		t.Fatal(err)
	}
	keep(t, "signed.json", signed)
	back, err := provenance.VerifyStatement(signed, public)
	if err != nil || back.Subject[0].Name != st.Subject[0].Name {
		t.Fatalf("VerifyStatement = %+v, %v", back, err)
	}
	var envelope dsse.Envelope
	if err := json.Unmarshal(signed, &envelope); err != nil {
		t.Fatal(err)
	}
	theirs, err := dsse.NewEnvelopeVerifier(judgeKey(public))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.Verify(t.Context(), &envelope); err != nil {
		t.Errorf("the library does not verify it: %v", err)
	}
	other, _ := newKey(t)
	if _, err := provenance.VerifyStatement(signed, other); state.CodeOf(err) != provenance.CodeSignature ||
		!strings.Contains(err.Error(), "by another key") {
		t.Errorf("VerifyStatement with another key = %v", err)
	}
	payload, err := envelope.DecodeB64Payload()
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(payload); i += 1 + len(payload)/500 {
		changed := bytes.Clone(payload)
		changed[i] ^= 1
		e := envelope
		e.Payload = base64.StdEncoding.EncodeToString(changed)
		refused(t, e, public, provenance.CodeSignature)
	}
	signature, err := base64.StdEncoding.DecodeString(envelope.Signatures[0].Sig)
	if err != nil {
		t.Fatal(err)
	}
	for i := range signature {
		changed := bytes.Clone(signature)
		changed[i] ^= 1
		e := envelope
		e.Signatures = []dsse.Signature{
			{KeyID: envelope.Signatures[0].KeyID, Sig: base64.StdEncoding.EncodeToString(changed)},
		}
		refused(t, e, public, provenance.CodeSignature)
	}
	for _, e := range []dsse.Envelope{
		{PayloadType: envelope.PayloadType, Payload: envelope.Payload}, // without a signature
		{PayloadType: "text/plain", Payload: envelope.Payload, Signatures: envelope.Signatures},
		{PayloadType: envelope.PayloadType, Payload: envelope.Payload,
			Signatures: []dsse.Signature{{Sig: "not base64"}}},
		{PayloadType: envelope.PayloadType, Payload: envelope.Payload, Signatures: []dsse.Signature{{Sig: ""}}},
	} {
		refused(t, e, public, provenance.CodeSignature)
	}
	refused(
		t,
		dsse.Envelope{PayloadType: envelope.PayloadType, Payload: "***", Signatures: envelope.Signatures},
		public,
		provenance.CodeStatement,
	)
	plain, err := st.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for text, code := range map[string]state.Code{string(plain): provenance.CodeSignature,
		"no JSON": provenance.CodeStatement, "{}": provenance.CodeStatement, "": provenance.CodeStatement,
		"[]": provenance.CodeStatement} {
		if _, err := provenance.VerifyStatement([]byte(text), public); state.CodeOf(err) != code {
			t.Errorf("VerifyStatement(%.20q) = %v, want code %s", text, err, code)
		}
	}
	// signed, and no statement
	for _, bad := range []string{"{}", `{"_type":"https://in-toto.io/Statement/v1","predicateType":"https://slsa.dev/provenance/v1","subject":[{"name":"x"}]}`, "no JSON"} {
		e := dsse.Envelope{PayloadType: envelope.PayloadType, Payload: base64.StdEncoding.EncodeToString([]byte(bad))}
		e.Signatures = []dsse.Signature{
			{Sig: base64.StdEncoding.EncodeToString(ed25519.Sign(private, dsse.PAE(e.PayloadType, []byte(bad))))},
		}
		refused(t, e, public, provenance.CodeStatement)
	}
	// A key id is a hint: a signature of ours under another one, or none, beside one of somebody else, verifies.
	e := envelope
	e.Signatures = []dsse.Signature{
		{KeyID: "somebody", Sig: base64.StdEncoding.EncodeToString(make([]byte, 64))},
		{KeyID: "", Sig: envelope.Signatures[0].Sig},
	}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provenance.VerifyStatement(data, public); err != nil {
		t.Errorf("VerifyStatement with two signatures = %v", err)
	}
}

func refused(t *testing.T, e dsse.Envelope, key ed25519.PublicKey, code state.Code) {
	t.Helper()
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	_, err = provenance.VerifyStatement(data, key)
	var own *xstate.Error
	if !errors.As(err, &own) || own.Code != code || own.Hint == "" {
		t.Errorf("VerifyStatement(%.80s) = %v, want code %s", data, err, code)
	}
}

// judgeKey is dsse.Verifier as the library's users write it.
type judgeKey ed25519.PublicKey

func (k judgeKey) KeyID() (string, error)   { return keys.ID(ed25519.PublicKey(k)), nil }
func (k judgeKey) Public() crypto.PublicKey { return ed25519.PublicKey(k) }
func (k judgeKey) Verify(_ context.Context, data, sig []byte) error {
	if !ed25519.Verify(ed25519.PublicKey(k), data, sig) {
		return errors.New("invalid")
	}
	return nil
}

// TestEnvelopeVector: what is signed is as the DSSE protocol publishes it (protocol.md, "Test vectors").
func TestEnvelopeVector(t *testing.T) {
	if got, want := string(dsse.PAE("http://example.com/HelloWorld", []byte("hello world"))),
		"DSSEv1 29 http://example.com/HelloWorld 11 hello world"; got != want {
		t.Errorf("PAE = %q, want %q", got, want)
	}
	// RFC 8032, 7.1, test 2.
	seed, err := hex.DecodeString("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(seed))
	if err != nil {
		t.Fatal(err)
	}
	key, err := keys.Private(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if err != nil {
		t.Fatal(err)
	}
	const want = "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da" +
		"085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
	if got := hex.EncodeToString(ed25519.Sign(key, []byte{0x72})); got != want {
		t.Errorf("signature = %s, want %s", got, want)
	}
}

// TestKeys reads keys as openssl and ssh-keygen write them, and tells what is wrong with others.
func TestKeys(t *testing.T) {
	public, private := newKey(t)
	inPEM := func(kind string, der []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	openssl := inPEM("PRIVATE KEY", pkcs8, err)
	pkix, err := x509.MarshalPKIXPublicKey(public)
	opensslPublic := inPEM("PUBLIC KEY", pkix, err)
	block, err := ssh.MarshalPrivateKey(private, "comment")
	if err != nil {
		t.Fatal(err)
	}
	openssh := string(pem.EncodeToMemory(block))
	if block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	locked := string(pem.EncodeToMemory(block))
	line, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	opensshPublic := string(ssh.MarshalAuthorizedKey(line))
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := x509.MarshalPKCS8PrivateKey(curve)
	ec := inPEM("PRIVATE KEY", other, err)
	other, err = x509.MarshalPKIXPublicKey(&curve.PublicKey)
	ecPublic := inPEM("PUBLIC KEY", other, err)
	otherLine, err := ssh.NewPublicKey(&curve.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{openssl, openssh} {
		if key, err := keys.Private([]byte(text)); err != nil || !key.Equal(private) {
			t.Errorf("PrivateKey(%.30q) = %v", text, err)
		}
	}
	for _, text := range []string{opensslPublic, opensshPublic} {
		if key, err := keys.Public([]byte(text)); err != nil || !key.Equal(public) {
			t.Errorf("PublicKey(%.30q) = %v", text, err)
		}
	}
	for text, says := range map[string]string{opensslPublic: "it is a public key", opensshPublic: "it is a public key",
		ec: "another kind", locked: "passphrase", "": "not in PEM", "junk": "not in PEM",
		inPEM("ENCRYPTED PRIVATE KEY", pkcs8, nil): "passphrase",
		inPEM("RSA PRIVATE KEY", pkcs8, nil):       "rsa private key",
		inPEM("PRIVATE KEY", pkcs8[:20], nil):      "cannot be used"} {
		if _, err := keys.Private([]byte(text)); state.CodeOf(err) != keys.CodeUnusable ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("PrivateKey(%.30q) = %v, want %s, %q", text, err, keys.CodeUnusable, says)
		}
	}
	for text, says := range map[string]string{openssl: "private key", openssh: "private key", ecPublic: "another kind",
		string(ssh.MarshalAuthorizedKey(otherLine)): "another kind", "": "neither", "junk": "neither",
		inPEM("CERTIFICATE", pkix, nil): "certificate", inPEM("PUBLIC KEY", pkix[:20], nil): "cannot be read"} {
		if _, err := keys.Public([]byte(text)); state.CodeOf(err) != keys.CodeUnusable ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("PublicKey(%.30q) = %v, want %s, %q", text, err, keys.CodeUnusable, says)
		}
	}
}

// TestOthersVerify has the reference implementation in Python verify an envelope, and read the statement in it.
func TestOthersVerify(t *testing.T) {
	python := ""
	for _, p := range xstatetest.Pythons() {
		if exec.Command(p, "-c", "import securesystemslib, cryptography, in_toto_attestation").Run() == nil {
			python = p
		}
	}
	if python == "" {
		t.Skip("no interpreter has securesystemslib, cryptography and in-toto-attestation (testdata/requirements.txt)")
	}
	st := newStatement(t, "report")
	public, private := newKey(t)
	signed, err := st.Sign(t.Context(), private)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	xstatetest.WriteFiles(
		t,
		dir,
		map[string][]byte{
			"signed.json":   signed,
			"pub.pem":       pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}),
			"tampered.json": bytes.Replace(signed, []byte(`"sig":"`), []byte(`"sig":"AAAA`), 1),
		},
	)
	judge, err := os.ReadFile(xstatetest.Testdata("judges", "statement.py"))
	if err != nil {
		t.Fatal(err)
	}
	xstatetest.WriteFiles(t, dir, map[string][]byte{"judge.py": judge})
	for name, want := range map[string]string{"signed.json": "verified", "tampered.json": "refused"} {
		cmd := exec.Command(python, "judge.py", name, "pub.pem", keys.ID(public))
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%s: %s, %v, want %s", name, out, err, want)
		}
	}
}
