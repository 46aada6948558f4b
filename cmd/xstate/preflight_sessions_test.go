package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/preflight"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Preflight must not refuse a name in a program that runs: the sessions of testdata/languages do, with the interpreter
// alone as their judge.
func TestPreflightOfSessions(t *testing.T) {
	files, err := filepath.Glob("../../testdata/languages/*.txtar")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d sessions in testdata/languages: %v", len(files), err)
	}
	offers := map[string]preflight.Offer{}
	for _, space := range []string{"", "js"} {
		e, err := kernel.LookupSpace(space)
		if err != nil {
			t.Fatal(err)
		}
		s := kernel.Search{Folder: t.TempDir(), Environ: os.Environ()}
		l, err := e.Find(t.Context(), s)
		if err != nil {
			t.Skip(err)
		}
		found, err := l.(kernel.Offering).Available(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		offers[space] = preflight.OfferOf(found.Modules, found.Builtins)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if strings.Contains(f.Name, "/") || !strings.HasPrefix(f.Name, "prog.") {
				continue
			}
			for _, finding := range undefined(t, f.Name, f.Data, offers) {
				t.Errorf("%s: block %s, line %d: %s", filepath.Base(file), finding.Block, finding.Line, finding.Message)
			}
		}
	}
}

// undefined returns what preflight says about the names of a program.
func undefined(t *testing.T, name string, data []byte, offers map[string]preflight.Offer) (all []preflight.Finding) {
	p, err := patch.Parse(name, data)
	if err != nil {
		t.Fatal(err)
	}
	var program []state.ProgramBlock
	for _, b := range p.Blocks {
		program = append(program, query.ProgramBlock(b, nil))
	}
	text, err := preflight.Read(program)
	if err != nil {
		t.Fatal(err)
	}
	r, err := preflight.Check(t.Context(), text, &preflight.Host{Offers: offers,
		Exists: func(string) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Kind == preflight.KindName {
			all = append(all, f)
		}
	}
	return all
}
