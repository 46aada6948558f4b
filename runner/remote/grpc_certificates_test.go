package remote

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/state"
)

// certificateFiles are files of an authority, a server at 127.0.0.1 and a user. Those of the user are also for servers.
type certificateFiles struct{ authorities, serverCertificate, serverKey, userCertificate, userKey string }

func makeCertificates(t *testing.T) certificateFiles {
	folder := t.TempDir()
	authority := makeCertificate(t, folder, "authority", nil)
	server := makeCertificate(t, folder, "server", authority)
	user := makeCertificate(t, folder, "user", authority)
	return certificateFiles{authority.file, server.file, server.keyFile, user.file, user.keyFile}
}

type testCertificate struct {
	file, keyFile string
	template      *x509.Certificate
	key           *ecdsa.PrivateKey
}

// makeCertificate makes the certificate of a name, and its key. by signs it; nil: it is an authority, and signs itself.
func makeCertificate(t *testing.T, folder, name string, by *testCertificate) *testCertificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &testCertificate{filepath.Join(folder, name), filepath.Join(folder, name+".key"), &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{{127, 0, 0, 1}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, key}
	if by == nil {
		by = c
		c.template.IsCA, c.template.BasicConstraintsValid, c.template.KeyUsage = true, true, x509.KeyUsageCertSign
	}
	der, err := x509.CreateCertificate(rand.Reader, c.template, by.template, &key.PublicKey, by.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		c.file: {Type: "CERTIFICATE", Bytes: der}, c.keyFile: {Type: "PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// TestBazelRemoteTLS: users with a certificate read and write; others read where the server lets them.
func TestBazelRemoteTLS(t *testing.T) {
	files := makeCertificates(t)
	flags := []string{"--tls_ca_file", files.authorities, "--tls_cert_file", files.serverCertificate,
		"--tls_key_file", files.serverKey}
	closed := startBazelRemote(t, flags...)
	open := startBazelRemote(t, append(flags, "--allow_unauthenticated_reads")...)
	stranger := Server{Authorities: files.authorities}
	user := Server{files.authorities, files.userCertificate, files.userKey, ""}
	content := testContent(t, "", 3<<20)
	names := testNames(t, 2)
	for _, server := range []*bazelRemote{closed, open} {
		s := openTestServer(t, server.address("grpcs"), user)
		putBlob(t, s, content)
		putRecord(t, s, names[0], []byte(names[0]), refOf(content))
		if err := readAll(await.Context(t), s, names[:1], []state.BlobRef{refOf(content)}); err != nil {
			t.Error(err)
		}
	}

	s := openTestServer(t, open.address("grpcs"), stranger)
	if err := readAll(await.Context(t), s, names[:1], []state.BlobRef{refOf(content)}); err != nil {
		t.Error(err)
	}
	for _, size := range []int{100, 3 << 20} {
		other := testContent(t, "other", size)
		if err := s.PutBlob(await.Context(t), refOf(other), bytes.NewReader(other)); !errors.Is(err, ErrReadOnly) {
			t.Errorf("PutBlob of a stranger: %v, want %v", err, ErrReadOnly)
		}
	}
	err := s.PutRecord(await.Context(t), names[1], []byte("record"), nil)
	if !errors.Is(err, ErrReadOnly) {
		t.Errorf("PutRecord of a stranger: %v, want %v", err, ErrReadOnly)
	}

	for name, c := range map[string]struct {
		server  *bazelRemote
		scheme  string
		options Server
	}{
		"no certificate":                {closed, "grpcs", stranger},
		"an authority that is not ours": {open, "grpcs", Server{}},
		"no TLS":                        {open, "grpc", Server{}},
	} {
		t.Run(name, func(t *testing.T) {
			address := c.server.address(c.scheme)
			_, err := openTestServer(t, address, c.options).Records(await.Context(t), names)
			wantFailure(t, err, address)
		})
	}
}

// TestServerCertificateFiles: files that are missing or hold something else are errors at the start.
func TestServerCertificateFiles(t *testing.T) {
	files := makeCertificates(t)
	for name, o := range map[string]Server{
		"no file":           {Authorities: filepath.Join(t.TempDir(), "none")},
		"no certificate":    {Authorities: files.userKey},
		"no key":            {Certificate: files.userCertificate},
		"the key of others": {Certificate: files.userCertificate, Key: files.serverKey},
	} {
		if _, err := openServer("grpcs://127.0.0.1:1", o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
