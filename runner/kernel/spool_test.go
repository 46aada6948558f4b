package kernel

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSpool: a program has put links into its spool, at the names of files that the engine makes there for another
// interpreter.
func TestSpool(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	spool, outside := filepath.Join(root, "spool"), filepath.Join(root, "outside")
	for _, err := range []error{
		os.Mkdir(spool, 0o700), os.Mkdir(outside, 0o700),
		os.WriteFile(filepath.Join(outside, "stdout"), []byte("kept"), 0o600),
		os.Symlink(outside, filepath.Join(spool, "node")),
		os.Symlink(filepath.Join(outside, "stdout"), filepath.Join(spool, "stdout")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if data, err := ReadSpooled(filepath.Join(spool, "stdout")); err == nil {
		t.Errorf("ReadSpooled follows a link: %q", data)
	}
	if path, err := SpoolIn(spool, "node"); err == nil {
		t.Errorf("SpoolIn follows a link: %s", path)
	}
	if _, err := newPrinted(filepath.Join(spool, "node")); err == nil {
		t.Error("newPrinted works in a folder behind a link")
	}
	p, err := newPrinted(spool)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.files() {
		f.Close()
	}
	entries, err := os.ReadDir(outside)
	data, bad := os.ReadFile(filepath.Join(outside, "stdout"))
	if err != nil || bad != nil || len(entries) != 1 || string(data) != "kept" {
		t.Errorf("outside: %v, %v; the file holds %q, %v", entries, err, data, bad)
	}
}
