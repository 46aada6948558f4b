package node

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/sandbox"
)

// Names and packages are what Node says they are: a package that is only there to import counts, and the modules that
// are globals under -e are none of a program.
func TestAvailable(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"node_modules/plain/index.js":         "",
		"node_modules/@scope/one/index.js":    "",
		"node_modules/esm/package.json":       `{"name": "esm", "exports": {"import": "./main.js"}}`,
		"node_modules/esm/main.js":            "",
		"node_modules/noexports/package.json": `{"name": "noexports", "exports": {}}`,
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	entry, err := kernel.LookupSpace("js")
	if err != nil {
		t.Fatal(err)
	}
	s := kernel.Search{Folder: folder, Environ: os.Environ(), Cache: t.TempDir(), Bounds: &sandbox.Bounds{}}
	l, err := entry.Find(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	found, err := l.(kernel.Offering).Available(t.Context(), s,
		[]string{"fs", "node:test", "plain", "@scope/one", "esm", "noexports", "none"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"fs": "standard", "node:test": "standard", "plain": "installed",
		"@scope/one": "installed", "esm": "installed", "noexports": "installed", "none": "missing"}
	if d := cmp.Diff(want, found.Modules); d != "" {
		t.Errorf("Available: modules (-want +got)\n%s", d)
	}
	is := map[string]bool{}
	for _, name := range found.Builtins {
		is[name] = true
	}
	for name, want := range map[string]bool{"JSON": true, "Promise": true, "console": true, "process": true,
		"require": true, "__dirname": true, "undefined": true, "tools": true, "xstate": true, "structuredClone": true,
		"hasOwnProperty": true, "fs": false, "path": false, "window": false, "nothing": false} {
		if is[name] != want {
			t.Errorf("Available: %s is a builtin: %v, want %v", name, is[name], want)
		}
	}
}
