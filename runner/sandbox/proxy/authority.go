package proxy

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// An Authority signs the certificates by which a recording proxy speaks TLS with programs. Programs trust it because
// their environment names Roots; nothing else trusts it. It signs certificates of servers alone, and no authorities.
// The names of its hosts are not known beforehand, so it cannot be bound to some.
type Authority struct {
	Roots string // a file with the roots of the system and the authority's own certificate

	key    *ecdsa.PrivateKey
	cert   *x509.Certificate
	leaf   *ecdsa.PrivateKey // for all hosts, while this process lives
	mu     sync.Mutex
	leaves map[string]*tls.Certificate
}

// authorityFile holds the key and the certificate, in the folder of the user's policy.
const authorityFile = "network.pem"

// How long certificates are valid. An authority is replaced in its last month.
const (
	authorityTime = 3 * 365 * 24 * time.Hour
	leafTime      = 30 * 24 * time.Hour
)

// OpenAuthority returns the authority of a user, which it makes at the first use. config is a folder that bounded
// programs cannot read; cache is one that they can read. roots is a file with the roots that programs trust otherwise;
// "": that of the system.
func OpenAuthority(config, cache, roots string) (*Authority, error) {
	name := filepath.Join(config, authorityFile)
	a, err := readAuthority(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && time.Until(a.cert.NotAfter) < leafTime {
		if err = makeAuthority(name, err == nil); err == nil {
			a, err = readAuthority(name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the certificate authority %s: %w", name, err)
	}
	if a.leaf, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	a.leaves = map[string]*tls.Certificate{}
	if a.Roots, err = writeRoots(cache, append(rootsOf(roots), certificatePEM(a.cert.Raw)...)); err != nil {
		return nil, fmt.Errorf("write the certificates that programs trust: %w", err)
	}
	return a, nil
}

func readAuthority(name string) (*Authority, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	a := &Authority{}
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		switch block.Type {
		case "CERTIFICATE":
			a.cert, err = x509.ParseCertificate(block.Bytes)
		case "EC PRIVATE KEY":
			a.key, err = x509.ParseECPrivateKey(block.Bytes)
		}
		if err != nil {
			return nil, err
		}
	}
	if a.key == nil || a.cert == nil || !a.key.PublicKey.Equal(a.cert.PublicKey) {
		return nil, errors.New("it is damaged; remove the file, and a new one is made")
	}
	return a, nil
}

// makeAuthority makes an authority. Of several processes that make one at a time, the first wins.
func makeAuthority(name string, replace bool) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "xstate: recorded requests of programs"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(authorityTime),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), certificatePEM(cert)...)
	folder := filepath.Dir(name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	temp, err := writeTemp(folder, text)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	if replace {
		return os.Rename(temp, name)
	}
	if err := os.Link(temp, name); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// writeTemp writes a file that only the user can read.
func writeTemp(folder string, text []byte) (string, error) {
	f, err := os.CreateTemp(folder, "new-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
	}
	return f.Name(), err
}

// writeRoots writes certificates under a name that says what they are: two processes may trust different ones, and
// programs look at the name, so it must not change while the certificates are the same.
func writeRoots(cache string, text []byte) (string, error) {
	sum := sha256.Sum256(text)
	name := filepath.Join(cache, fmt.Sprintf("roots-%x.pem", sum[:6]))
	if found, err := os.ReadFile(name); err == nil && bytes.Equal(found, text) {
		return name, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	temp, err := writeTemp(cache, text)
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.Chmod(temp, 0o644), os.Rename(temp, name)); err != nil {
		_ = os.Remove(temp)
		return "", err
	}
	return filepath.EvalSymlinks(name)
}

// systemRoots are where systems keep the certificates that they trust.
var systemRoots = []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem"}

// rootsOf returns the certificates of a file, or those of the system.
func rootsOf(file string) []byte {
	for _, name := range append([]string{file}, systemRoots...) {
		if text, err := os.ReadFile(name); err == nil {
			return append(bytes.TrimRight(text, "\n"), '\n')
		}
	}
	return nil
}

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func serial() *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		panic("proxy: internal error: " + err.Error()) // crypto/rand does not fail
	}
	return n
}

// certificate returns a certificate for a host, by name or address.
func (a *Authority) certificate(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.leaves[host]; c != nil && time.Until(c.Leaf.NotAfter) > time.Hour {
		return c, nil
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "xstate"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(leafTime),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &a.leaf.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: a.leaf, Leaf: leaf}
	a.leaves[host] = c
	return c, nil
}

// server returns how the proxy speaks TLS as a host. It speaks HTTP/1.1 alone.
func (a *Authority) server(host string) *tls.Config {
	return &tls.Config{
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if hello.ServerName != "" {
				host = hello.ServerName
			}
			return a.certificate(host)
		},
	}
}
