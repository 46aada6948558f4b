package basestate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// TestProgramKey: a program is compared by the identity of its files, also of those that are not there.
func TestProgramKey(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"gcc", "cc1"} {
		if err := os.WriteFile(path(name), []byte(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(path("include"), 0o755); err != nil {
		t.Fatal(err)
	}
	k, list := ProgramKey("gcc", []string{path("gcc"), path("cc1"), path("none"), path("include") + "/", dir})
	w := New(Options{Workspace: t.TempDir(), Records: map[string]state.FileRecord{}})
	w.Learn(map[depgraph.Key]string{k: list})
	was := w.Get(k)
	now := func() state.Digest { w.Begin(); return w.Get(k) }
	if now() != was || was == state.Absent {
		t.Fatalf("digest %q and then %q, want one", was, now())
	}
	for _, c := range []struct {
		name   string
		change func() error
		same   bool
	}{
		{"another file in the folder", func() error { return os.WriteFile(path("other"), nil, 0o644) }, true},
		{"a file that was not there", func() error { return os.WriteFile(path("none"), nil, 0o644) }, false},
		{"a file in a folder that was listed", func() error { return os.WriteFile(path("include/x.h"), nil, 0o644) },
			false},
		{"a newer program", func() error { return os.Chtimes(path("cc1"), time.Time{}, time.Now().Add(time.Hour)) },
			false},
	} {
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		if d := now(); (d == was) != c.same {
			t.Errorf("%s: the digest is the same: %v, want %v", c.name, d == was, c.same)
		} else {
			was = d
		}
	}
}

// TestCompiledPython: the first import of a module makes a folder beside it, which makes no other program of the one
// that lists the modules. A module that was replaced, added or removed does.
func TestCompiledPython(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "site-packages", "library")
	write := func(name string) error {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(name), 0o644)
	}
	if err := write("a.py"); err != nil {
		t.Fatal(err)
	}
	k, list := ProgramKey("python3", []string{folder + "/"})
	w := New(Options{Workspace: t.TempDir(), Records: map[string]state.FileRecord{}})
	w.Learn(map[depgraph.Key]string{k: list})
	was := w.Get(k)
	for _, c := range []struct {
		name   string
		change func() error
		same   bool
	}{
		{"compiled", func() error { return write("__pycache__/a.pyc") }, true},
		{"compiled again", func() error { return write("__pycache__/b.pyc") }, true},
		{"no longer compiled", func() error { return os.RemoveAll(filepath.Join(folder, "__pycache__")) }, true},
		{"another module", func() error { return write("b.py") }, false},
		{"replaced", func() error {
			if err := write("new"); err != nil {
				return err
			}
			return os.Rename(filepath.Join(folder, "new"), filepath.Join(folder, "a.py"))
		}, false},
		{"removed", func() error { return os.Remove(filepath.Join(folder, "b.py")) }, false},
	} {
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		w.Begin()
		if now := w.Get(k); (now == was) != c.same {
			t.Errorf("%s: the digest is the same: %v, want %v", c.name, now == was, c.same)
		} else {
			was = now
		}
	}
}

// TestFoldedProgram: the list of a program with thousands of files stays short.
func TestFoldedProgram(t *testing.T) {
	files := []string{"/usr/bin/python3", "/usr/lib/few/a.py"}
	for i := range 3000 {
		files = append(files, fmt.Sprintf("/usr/lib/package%d/m%d.py", i%30, i))
	}
	_, list := ProgramKey("python3", files)
	if n := strings.Count(list, "\n") + 1; n != 32 {
		t.Errorf("the list has %d files, want 32: two, and a folder for each package", n)
	}
}
