package bench

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/patch"
	py "github.com/xstate-engine/xstate/runner/kernel/python"
)

// seed seeds the random number generators of programs that do not seed them, equally for all strategies.
const seed = 7

// maxFolder is the largest program folder in bytes: it is copied for each strategy and each run from scratch.
const maxFolder = 1 << 30

// testbed is where the strategies run one program, each in its own copy of the program's folder. The copy in use
// always has the same path, because programs print paths and store them in values.
type testbed struct {
	program  *Program
	python   py.Interpreter
	environ  []string
	timeout  time.Duration
	root     string
	ipython  bool
	original map[string]fs.FileInfo // the files of the program's folder
	editor   *randomEditor
	names    map[string]blockNames
}

func newTestbed(p *Program, root string, interpreter py.Interpreter, timeout time.Duration) (*testbed, error) {
	b := &testbed{
		program:  p,
		python:   interpreter,
		environ:  os.Environ(),
		timeout:  timeout,
		root:     root,
		original: map[string]fs.FileInfo{},
		editor:   &randomEditor{facts: map[string]*depgraph.Facts{}},
		names:    map[string]blockNames{},
	}
	for _, v := range p.Versions {
		b.ipython = b.ipython ||
			slices.ContainsFunc(v.Blocks, func(x patch.Block) bool { return dialect(x) == python.IPython })
	}
	if p.Folder == "" {
		return b, nil
	}
	var size int64
	err := walkFiles(p.Folder, func(name string, info fs.FileInfo) error {
		b.original[name] = info
		if size += info.Size(); size > maxFolder {
			return fmt.Errorf("its folder holds more than %d MB, and is copied for each run", maxFolder>>20)
		}
		return nil
	})
	return b, err
}

func dialect(b patch.Block) depgraph.Dialect {
	return cmp.Or(depgraph.Dialect(b.Dialect), lang.Default)
}

// folderCopy is the copy of the folder that one strategy works in.
type folderCopy struct {
	strategy Strategy
	dir      string // its path while another copy is in use; "" before its first use
}

func (b *testbed) newCopy(s Strategy) *folderCopy { return &folderCopy{strategy: s} }

// work is the path of the copy in use.
func (b *testbed) work() string { return filepath.Join(b.root, "work") }

func (b *testbed) path(name string) string { return filepath.Join(b.work(), filepath.FromSlash(name)) }

// activate moves a copy to the path of the copy in use, and creates it first if necessary.
func (b *testbed) activate(p *folderCopy) error {
	if p.dir != "" {
		return os.Rename(p.dir, b.work())
	}
	dir, err := b.folder("place-")
	if err != nil {
		return err
	}
	p.dir = dir
	if err := os.Rename(dir, b.work()); err != nil {
		return err
	}
	for name, info := range b.original {
		if err := copyFile(filepath.Join(b.program.Folder, filepath.FromSlash(name)), b.path(name), info); err != nil {
			return fmt.Errorf("copy the folder of the program: %w", err)
		}
	}
	return nil
}

// deactivate moves the copy in use away. A copy of scratch is removed instead: scratch always gets a fresh one.
func (b *testbed) deactivate(p *folderCopy) {
	if p.strategy == Scratch {
		_ = os.RemoveAll(b.work()) // on failure it stays in the temporary folder
		return
	}
	_ = os.Rename(b.work(), p.dir)
}

func (b *testbed) folder(prefix string) (string, error) { return os.MkdirTemp(b.root, prefix) }

func (b *testbed) remove(dir string) error {
	if dir == "" {
		return nil
	}
	return os.RemoveAll(dir)
}

// changedFiles returns the digests of the files in the copy in use that differ from the program's folder; "" for
// missing ones.
func (b *testbed) changedFiles() (map[string]string, error) {
	found, seen := map[string]string{}, map[string]bool{}
	err := walkFiles(b.work(), func(name string, info fs.FileInfo) error {
		seen[name] = true
		if was := b.original[name]; was != nil && was.Size() == info.Size() && was.ModTime().Equal(info.ModTime()) {
			return nil
		}
		digest, err := digestOf(b.path(name))
		if was := b.original[name]; err == nil && was != nil {
			var old string
			if old, err = digestOf(filepath.Join(b.program.Folder, filepath.FromSlash(name))); old == digest {
				return err // rewritten with equal content
			}
		}
		found[name] = digest
		return err
	})
	for name := range b.original {
		if !seen[name] {
			found[name] = ""
		}
	}
	return found, err
}

// walkFiles visits the regular files below a folder, except in folders that do not belong to a program.
func walkFiles(folder string, visit func(name string, info fs.FileInfo) error) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != folder && ignored(d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(name), info)
	})
}

// copyFile keeps the modification time, by which changedFiles recognises untouched files.
func copyFile(from, to string, info fs.FileInfo) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), os.Chtimes(to, info.ModTime(), info.ModTime()))
}

func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return fmt.Sprintf("%x", h.Sum(nil)), err
}
