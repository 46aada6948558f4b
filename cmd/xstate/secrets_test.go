package main

import (
	"bytes"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
)

// verbHolds reads the whole store. Blobs are compressed, also those inside of databases: each frame is unpacked.
func verbHolds(ts *testscript.TestScript, neg bool, args []string) {
	value := ts.Getenv("API_KEY")
	if len(args) > 0 {
		value = args[0]
	}
	if neg || len(value) < 8 {
		ts.Fatalf("usage: holds [SECRET], with a secret")
	}
	forms := [][]byte{[]byte(value), []byte(base64.StdEncoding.EncodeToString([]byte("u:" + value)))[3:12]}
	files := 0
	err := filepath.WalkDir(ts.MkAbs(".xstate"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		files++
		for _, part := range append(unpacked(data), data) {
			for _, form := range forms {
				if bytes.Contains(part, form) {
					ts.Fatalf("%s holds %q", path, form)
				}
			}
		}
		return err
	})
	ts.Check(err)
	if files < 3 {
		ts.Fatalf("the store has %d files", files)
	}
}

// unpacked returns what every frame of zstd in a file decompresses to.
func unpacked(data []byte) (parts [][]byte) {
	magic := []byte{0x28, 0xb5, 0x2f, 0xfd}
	for {
		i := bytes.Index(data, magic)
		if i < 0 {
			return parts
		}
		data = data[i:]
		if r, err := zstd.NewReader(bytes.NewReader(data)); err == nil {
			var part bytes.Buffer
			_, _ = part.ReadFrom(r) // what follows the frame is no part of it
			parts = append(parts, part.Bytes())
			r.Close()
		}
		data = data[len(magic):]
	}
}
