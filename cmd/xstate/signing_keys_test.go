package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/crypto/ssh"
)

// writeKeys makes what scripts find in $KEYS: key.pem, an Ed25519 key, with its public half in pub.pem and ssh.pub;
// other.pem, the public half of another; and rsa.pem.
func writeKeys(dir string) error {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	other, _, err2 := ed25519.GenerateKey(rand.Reader)
	large, err3 := rsa.GenerateKey(rand.Reader, 2048)
	if err := errors.Join(err, err2, err3, os.MkdirAll(dir, 0o777)); err != nil {
		return err
	}
	line, err := ssh.NewPublicKey(public)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	err = errors.Join(
		err,
		os.WriteFile(filepath.Join(dir, "ssh.pub"), ssh.MarshalAuthorizedKey(line), 0o666),
		os.WriteFile(
			filepath.Join(dir, "key.pem"),
			pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
			0o600,
		),
	)
	for name, key := range map[string]any{"pub.pem": public, "other.pem": other, "rsa.pem": &large.PublicKey} {
		der, failed := x509.MarshalPKIXPublicKey(key)
		err = errors.Join(
			err,
			failed,
			os.WriteFile(
				filepath.Join(dir, name),
				pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}),
				0o666,
			),
		)
	}
	return err
}

func verbSubstitute(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: substitute FILE OLD NEW")
	}
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], args[2], 1)), 0o666))
}
