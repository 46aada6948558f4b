package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/xstate-engine/xstate/state"
)

const usageForge = "usage: forge values|outputs|records IN OUT …"

// verbForge makes an archive as somebody who means harm makes one: every digest in it is right.
//
//	forge values IN OUT COMMAND     each pickle calls os.system(COMMAND)
//	forge outputs IN OUT OLD NEW    traces whose output has OLD claim that it was NEW
//	forge records IN OUT MB         xstate.json has so many megabytes of spaces
func verbForge(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf(usageForge)
	}
	a := forged(readForged(ts, args[1]))
	switch args[0] {
	case "values":
		a.values(ts, "cos\nsystem\n(S'"+args[3]+"'\ntR.")
	case "outputs":
		a.outputs(ts, args[3], args[4])
	case "records":
		var megabytes int
		_, err := fmt.Sscan(args[3], &megabytes)
		ts.Check(err)
		a["xstate.json"] = append(bytes.Repeat([]byte(" "), megabytes<<20), a["xstate.json"]...)
	default:
		ts.Fatalf(usageForge)
	}
	a.write(ts, args[2])
}

// forged has the entries of an archive by name.
type forged map[string][]byte

func readForged(ts *testscript.TestScript, name string) forged {
	data := []byte(ts.ReadFile(name))
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	ts.Check(err)
	a := forged{}
	for _, e := range z.File {
		r, err := e.Open()
		ts.Check(err)
		a[e.Name], err = io.ReadAll(r)
		ts.Check(err)
		ts.Check(r.Close())
	}
	return a
}

// under calls change for each entry of a folder.
func (a forged) under(ts *testscript.TestScript, folder string, change func(name string)) {
	found := false
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if strings.HasPrefix(name, folder+"/") {
			found = true
			change(name)
		}
	}
	if !found {
		ts.Fatalf("the archive has no %s", folder)
	}
}

func (a forged) blob(content []byte) state.Digest {
	d := state.DigestOf(content)
	a["blobs/"+string(d)] = content
	return d
}

func (a forged) values(ts *testscript.TestScript, pickle string) {
	a.under(ts, "values", func(name string) {
		v, err := state.DecodeValue(a[name])
		ts.Check(err)
		v.Blob, v.Parts, v.Bytes = a.blob([]byte(pickle)), nil, int64(len(pickle))
		a[name] = state.EncodeValue(v)
	})
}

func (a forged) outputs(ts *testscript.TestScript, old, now string) {
	changed := 0
	a.under(ts, "traces", func(name string) {
		t, err := state.DecodeTrace(a[name])
		ts.Check(err)
		text := string(a["blobs/"+string(t.Outputs)])
		if !strings.Contains(text, old) {
			return
		}
		changed++
		t.Outputs = a.blob([]byte(strings.ReplaceAll(text, old, now)))
		delete(a, name)
		a["traces/"+string(t.Identity())] = state.EncodeTrace(t)
	})
	if changed == 0 {
		ts.Fatalf("no output has %q", old)
	}
}

func (a forged) write(ts *testscript.TestScript, name string) {
	f, err := os.Create(ts.MkAbs(name))
	ts.Check(err)
	z := zip.NewWriter(f)
	delete(a, "SHA256SUMS")
	var sums strings.Builder
	for _, entry := range slices.Sorted(maps.Keys(a)) {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(a[entry]), entry)
	}
	a["SHA256SUMS"] = []byte(sums.String())
	for _, entry := range slices.Sorted(maps.Keys(a)) {
		w, err := z.Create(entry)
		ts.Check(err)
		_, err = w.Write(a[entry])
		ts.Check(err)
	}
	ts.Check(z.Close())
	ts.Check(f.Close())
}
