package private

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// applying is the environment variable that makes this program apply the view "v" of the store in that folder.
const applying = "XSTATE_TEST_APPLY"

func TestMain(m *testing.M) {
	if dir := os.Getenv(applying); dir != "" {
		if err := applyIn(context.Background(), dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func applyIn(ctx context.Context, dir string) error {
	store, err := state.Open(ctx, dir, state.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	v, err := Needed(ctx, store, "v")
	if err != nil {
		return err
	}
	_, err = applyAll(ctx, v)
	return err
}

func applyAll(ctx context.Context, v *View, paths ...string) (state.StepNumber, error) {
	release, err := v.Hold(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	c, err := v.Compare()
	if err != nil {
		return 0, err
	}
	if err := c.Only(paths); err != nil {
		return 0, err
	}
	return c.Apply(ctx, state.Origin{Agent: "judge"})
}

// write makes files of a folder: "-" is none, "/" a folder, "> TARGET" a link, "! TEXT" an executable file.
func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path, text := filepath.Join(root, name), files[name]
		err := os.RemoveAll(path)
		if text != "-" {
			err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755))
		}
		target, isLink := strings.CutPrefix(text, "> ")
		switch {
		case text == "-":
		case text == "/":
			err = errors.Join(err, os.Mkdir(path, 0o755))
		case isLink:
			err = errors.Join(err, os.Symlink(strings.ReplaceAll(target, "ROOT", root), path))
		case strings.HasPrefix(text, "! "):
			err = errors.Join(err, os.WriteFile(path, []byte(text[2:]), 0o755))
		default:
			err = errors.Join(err, os.WriteFile(path, []byte(text), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// read is the inverse of write. Stores are left out.
func read(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		switch {
		case err != nil || rel == ".":
			return err
		case e.Name() == ".xstate":
			return fs.SkipDir
		case e.IsDir():
			found[rel] = "/"
			return nil
		case e.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			found[rel] = "> " + strings.ReplaceAll(target, root, "ROOT")
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if found[rel] = string(data); info.Mode()&0o100 != 0 {
			found[rel] = "! " + found[rel]
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// newStore makes a folder with files, and a store in it with the session "s".
func newStore(t *testing.T, files map[string]string) (root string, store *state.Store) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root = filepath.Join(root, "proj")
	write(t, root, files)
	store, err = state.Open(t.Context(), filepath.Join(root, ".xstate"), state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := store.CreateSession(t.Context(), "s", state.SessionMeta{Workspace: root}); err != nil {
		t.Fatal(err)
	}
	return root, store
}

func fork(t *testing.T, store *state.Store, name, from string) *View {
	t.Helper()
	made, err := Fork(t.Context(), store, name, state.ForkPoint{Session: from}, state.Origin{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return made.View
}

func compare(t *testing.T, v *View) *Comparison {
	t.Helper()
	c, err := v.Compare()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestForkRoot: there is no folder above the root whose files a copy of it could link to.
func TestForkRoot(t *testing.T) {
	_, store := newStore(t, nil)
	if _, err := store.CreateSession(t.Context(), "root", state.SessionMeta{Workspace: "/"}); err != nil {
		t.Fatal(err)
	}
	_, err := Fork(t.Context(), store, "copy", state.ForkPoint{Session: "root"}, state.Origin{}, nil)
	if state.CodeOf(err) != state.CodeRootFolder {
		t.Errorf("Fork of the root folder = %v, want %s", err, state.CodeRootFolder)
	}
}

// A view holds what the original holds, with its attributes. Links do not lead out of it.
func TestFork(t *testing.T) {
	files := map[string]string{
		"a.txt": "a", "tool": "! run", "sub/b.txt": "b", "empty": "/", "inner": "> a.txt",
		"absolute": "> ROOT/sub/b.txt", "gone": "> nowhere",
		"zero": "", "__pycache__/a.pyc": "x", "sub/.xstate/history.db": "x", "-dash": "d",
		"caf\xe9": "not UTF-8",
	}
	root, store := newStore(t, files)
	old := time.Unix(1_000_000_000, 123456789)
	for _, path := range []string{"a.txt", "sub"} {
		if err := os.Chtimes(filepath.Join(root, path), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(root, "a.txt"), filepath.Join(root, "hard")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../"+filepath.Base(root)+"/a.txt", filepath.Join(root, "around")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../elsewhere", filepath.Join(root, "outside")); err != nil {
		t.Fatal(err)
	}
	holes, err := os.Create(filepath.Join(root, "holes"))
	if err = errors.Join(err, holes.Truncate(16<<20), holes.Close()); err != nil {
		t.Fatal(err)
	}
	v := fork(t, store, "v", "s")
	want := read(t, root)
	delete(want, "__pycache__")
	delete(want, "__pycache__/a.pyc")
	want["around"], want["outside"] = "> ROOT/a.txt", "> "+root+"/./../elsewhere"
	if d := cmp.Diff(want, read(t, v.Folder)); d != "" {
		t.Errorf("the view (-want +got):\n%s", d)
	}
	for _, path := range []string{"a.txt", "sub"} {
		if info, err := os.Stat(filepath.Join(v.Folder, path)); err != nil || !info.ModTime().Equal(old) {
			t.Errorf("time of %s = %v, %v; want %v", path, info.ModTime(), err, old)
		}
	}
	a, _ := os.Stat(filepath.Join(v.Folder, "a.txt"))
	if hard, _ := os.Stat(filepath.Join(v.Folder, "hard")); !os.SameFile(a, hard) {
		t.Error("hard links were not kept")
	}
	info, _ := os.Stat(filepath.Join(v.Folder, "holes"))
	if info.Size() != 16<<20 || sizeOnDisk(info) > 1<<20 {
		t.Errorf("a sparse file takes %d bytes", sizeOnDisk(info))
	}
	if c := compare(t, v); len(c.Changes)+len(c.Behind) > 0 {
		t.Errorf("a new view differs: %+v, %q", c.Changes, c.Behind)
	}
	if _, err := Fork(t.Context(), store, "v", state.ForkPoint{Session: "s"}, state.Origin{}, nil); state.CodeOf(
		err) != state.CodeSessionExists {
		t.Errorf("Fork again = %v, want %s", err, state.CodeSessionExists)
	}
}

// A virtual environment is that of the original.
func TestEnvironment(t *testing.T) {
	_, store := newStore(t, map[string]string{".venv/pyvenv.cfg": "", ".venv/lib/x.py": "x"})
	v := fork(t, store, "v", "s")
	if target, err := os.Readlink(filepath.Join(v.Folder, ".venv")); err != nil ||
		target != filepath.Join(v.Original, ".venv") {
		t.Errorf(".venv leads to %q, %v", target, err)
	}
	write(t, v.Folder, map[string]string{".venv/lib/y.py": "y"})
	if c := compare(t, v); len(c.Changes)+len(c.Behind) > 0 {
		t.Errorf("changes of a virtual environment: %+v, %q", c.Changes, c.Behind)
	}
	w := fork(t, store, "w", "v")
	if target, err := os.Readlink(filepath.Join(w.Folder, ".venv")); err != nil ||
		target != filepath.Join(v.Original, ".venv") {
		t.Errorf("in a fork of the view, .venv leads to %q, %v", target, err)
	}
}

// What differs, three ways, and what Apply makes of it.
func TestApply(t *testing.T) {
	base := map[string]string{"a": "1", "d/x": "1", "d/y": "1", "e": "/", "l": "> a", "m": "1"}
	for _, x := range []struct {
		name         string
		view, theirs map[string]string // written after the fork
		changes      []string          // PATH OP [CONFLICT]
		behind       []string
		after        map[string]string // the original after Apply, where it differs from what it was; nil: refused
	}{
		{
			name: "changed, added, removed",
			view: map[string]string{"a": "2", "n/new": "n", "d/y": "-", "l": "> m", "m": "! 1", "e": "-"},
			changes: []string{"a changed", "d/y removed", "e removed", "l changed", "m changed", "n added",
				"n/new added"},
			after: map[string]string{"a": "2", "n": "/", "n/new": "n", "d/y": "-", "l": "> m", "m": "! 1", "e": "-"},
		},
		{
			name: "theirs alone", theirs: map[string]string{"a": "2", "new": "n", "d": "-"},
			behind: []string{"a", "d", "d/x", "d/y", "new"}, after: map[string]string{},
		},
		{
			name: "alike", view: map[string]string{"a": "2", "e": "-"}, theirs: map[string]string{"a": "2", "e": "-"},
			after: map[string]string{},
		},
		{
			name: "other files", view: map[string]string{"a": "2"}, theirs: map[string]string{"m": "2"},
			changes: []string{"a changed"}, behind: []string{"m"}, after: map[string]string{"a": "2"},
		},
		{
			name: "both", view: map[string]string{"a": "2", "m": "2"}, theirs: map[string]string{"a": "3"},
			changes: []string{"a changed changed", "m changed"},
		},
		{
			name: "removed there", view: map[string]string{"a": "2"}, theirs: map[string]string{"a": "-"},
			changes: []string{"a changed removed"},
		},
		{
			name: "both new", view: map[string]string{"n": "1"}, theirs: map[string]string{"n": "2"},
			changes: []string{"n added added"},
		},
		{
			name:    "a folder becomes a file, and a file a folder",
			view:    map[string]string{"d": "file", "a": "-", "a/b": "b"},
			changes: []string{"a changed", "a/b added", "d changed", "d/x removed", "d/y removed"},
			after:   map[string]string{"d": "file", "d/x": "-", "d/y": "-", "a": "/", "a/b": "b"},
		},
		{
			name: "a folder with new files there", view: map[string]string{"d": "file"},
			theirs:  map[string]string{"d/z": "z"},
			changes: []string{"d changed changed", "d/x removed", "d/y removed"}, behind: []string{"d/z"},
		},
		{
			name: "a removed folder with new files there", view: map[string]string{"d": "-"},
			theirs:  map[string]string{"d/z": "z"},
			changes: []string{"d removed changed", "d/x removed", "d/y removed"}, behind: []string{"d/z"},
		},
		{
			name: "a link into the folder", view: map[string]string{"n": "> ROOT/a"}, changes: []string{"n added"},
			after: map[string]string{"n": "> ROOT/a"},
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			root, store := newStore(t, base)
			v := fork(t, store, "v", "s")
			write(t, v.Folder, x.view)
			write(t, root, x.theirs)
			var got []string
			c := compare(t, v)
			for _, x := range c.Changes {
				got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", x.Path, x.Op, x.Conflict)))
			}
			if d := cmp.Diff(x.changes, got); d != "" {
				t.Errorf("changes (-want +got):\n%s", d)
			}
			if d := cmp.Diff(x.behind, c.Behind); d != "" {
				t.Errorf("behind (-want +got):\n%s", d)
			}
			want := read(t, root)
			_, err := applyAll(t.Context(), v)
			if refused := state.CodeOf(err) == CodeConflict; refused != (x.after == nil) || err != nil && !refused {
				t.Fatalf("Apply = %v", err)
			}
			for path, text := range x.after {
				if want[path] = text; text == "-" {
					delete(want, path)
				}
			}
			if d := cmp.Diff(want, read(t, root)); d != "" {
				t.Errorf("the original (-want +got):\n%s", d)
			}
			if c := compare(t, v); x.after != nil && len(c.Changes) > 0 {
				t.Errorf("changes after Apply: %+v", c.Changes)
			}
			if step, err := applyAll(t.Context(), v); x.after != nil && (step != 0 || err != nil) {
				t.Errorf("Apply again = %d, %v; want no step", step, err)
			}
		})
	}
}

// A file that was written again with its old time and size differs all the same.
func TestOldTime(t *testing.T) {
	root, store := newStore(t, map[string]string{"a": "1", "b": "1"})
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"a", "b"} {
		if err := os.Chtimes(filepath.Join(root, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	v := fork(t, store, "v", "s")
	for _, path := range []string{filepath.Join(v.Folder, "a"), filepath.Join(root, "b")} {
		if err := errors.Join(os.WriteFile(path, []byte("2"), 0o644), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	if c := compare(t, v); !slices.Equal(c.Paths(), []string{"a"}) || !slices.Equal(c.Behind, []string{"b"}) {
		t.Errorf("changes %q, behind %q; want a and b", c.Paths(), c.Behind)
	}
}

// Only a part is applied, and the rest later. The step says what was moved, and records of the program's files follow.
func TestApplyPaths(t *testing.T) {
	root, store := newStore(t, map[string]string{"a": "1", "d/x": "1"})
	v := fork(t, store, "v", "s")
	write(t, v.Folder, map[string]string{"a": "2", "d/x": "2", "d/y": "2"})
	records := map[string]state.FileRecord{
		"d/x": {Base: state.DigestOf([]byte("1")), Left: state.DigestOf([]byte("2"))},
	}
	if err := store.PutSessionRecord(t.Context(), "v", query.RecordFiles, records); err != nil {
		t.Fatal(err)
	}
	if _, err := applyAll(t.Context(), v, "nothing"); state.CodeOf(err) != CodeUnchanged {
		t.Errorf("Apply of nothing = %v, want %s", err, CodeUnchanged)
	}
	n, err := applyAll(t.Context(), v, "d")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"a": "1", "d": "/", "d/x": "2", "d/y": "2"}, read(t, root)); d != "" {
		t.Errorf("the original (-want +got):\n%s", d)
	}
	step, err := store.Step(t.Context(), "s", n)
	if err != nil || step.Applied == nil || step.Applied.Count != 2 || step.Origin.Agent != "judge" ||
		step.Applied.Files[0] != (state.AppliedFile{Path: "d/x", Digest: records["d/x"].Left}) {
		t.Errorf("step %d = %+v, %v", n, step.Applied, err)
	}
	got := map[string]state.FileRecord{}
	if _, err := store.SessionRecord(t.Context(), "s", query.RecordFiles, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(records, got); d != "" {
		t.Errorf("records of files (-want +got):\n%s", d)
	}
	if c := compare(t, v); !slices.Equal(c.Paths(), []string{"a"}) {
		t.Errorf("left are %q, want a", c.Paths())
	}
}

// A fork of a private session has its files and its base. What changed in the original before is no change of its own.
func TestForkOfView(t *testing.T) {
	root, store := newStore(t, map[string]string{"a": "1", "b": "1", "c": "1"})
	v := fork(t, store, "v", "s")
	write(t, v.Folder, map[string]string{"a": "2", "l": "> ROOT/a"})
	write(t, root, map[string]string{"b": "2", "c": "-"})
	w := fork(t, store, "w", "v")
	if w.Original != root || w.Parent != "s" {
		t.Errorf("it is a view of %s, of session %s", w.Original, w.Parent)
	}
	c := compare(t, w)
	if !slices.Equal(c.Paths(), []string{"a", "l"}) || !slices.Equal(c.Behind, []string{"b", "c"}) {
		t.Errorf("changes %q, behind %q", c.Paths(), c.Behind)
	}
	if _, err := applyAll(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"a": "2", "b": "2", "l": "> ROOT/a"}, read(t, root)); d != "" {
		t.Errorf("the original (-want +got):\n%s", d)
	}
	if c := compare(t, v); len(c.Changes) > 0 {
		t.Errorf("the first view still differs: %+v", c.Changes)
	}
}

// Refresh makes a view what the original is.
func TestRefresh(t *testing.T) {
	root, store := newStore(t, map[string]string{"a": "1", "d/x": "1", "f": "1", "l": "> a"})
	v := fork(t, store, "v", "s")
	write(t, v.Folder, map[string]string{"a": "2", "mine/x": "1", "d/__pycache__/x.pyc": "1", "l": "-"})
	write(t, root, map[string]string{"d": "file", "f": "-", "f/y": "! y", "n": "> ROOT/a"})
	for range 2 {
		if err := v.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(read(t, root), read(t, v.Folder)); d != "" {
			t.Errorf("the view (-want +got):\n%s", d)
		}
		if c := compare(t, v); len(c.Changes)+len(c.Behind) > 0 {
			t.Errorf("a refreshed view differs: %+v, %q", c.Changes, c.Behind)
		}
	}
}

// A run in the folder and a copy of it exclude each other; copies do not, nor do runs in views.
func TestLocks(t *testing.T) {
	root, store := newStore(t, map[string]string{"a": "1"})
	v, w := fork(t, store, "v", "s"), fork(t, store, "w", "s")
	ctx := state.WithWait(t.Context(), -1)
	hold := func(session, folder string) *state.Lock {
		t.Helper()
		lock, err := store.LockRun(ctx, session, folder)
		if err != nil {
			t.Fatal(err)
		}
		return lock
	}
	for _, lock := range []*state.Lock{hold("s", root), hold("v", v.Folder), hold("w", w.Folder)} {
		defer lock.Release()
	}
	if _, err := Fork(ctx, store, "x", state.ForkPoint{Session: "s"}, state.Origin{}, nil); state.CodeOf(
		err) != state.CodeBusy {
		t.Errorf("Fork during a run = %v, want %s", err, state.CodeBusy)
	}
	if _, err := applyAll(ctx, v); state.CodeOf(err) != state.CodeBusy {
		t.Errorf("Apply during a run = %v, want %s", err, state.CodeBusy)
	}
	for range 2 {
		lock, err := store.LockCopy(ctx, "copy", t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := lock.Release(); err != nil {
			t.Fatal(err)
		}
	}
	one, err := store.LockCopy(ctx, "one", filepath.Join(root, ".xstate"))
	if err != nil {
		t.Fatal(err)
	}
	defer one.Release()
	two, err := store.LockCopy(ctx, "two", filepath.Join(root, ".xstate"))
	if err != nil {
		t.Fatalf("a second copy of one folder: %v", err)
	}
	defer two.Release()
}

// A process that is killed while it applies leaves each file as it was or as it is to be. Apply then does the rest.
func TestKilledApply(t *testing.T) {
	random := rand.New(rand.NewPCG(sampling.Seed(t), 0))
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("d%d/f%d", i%7, i)] = fmt.Sprint("old ", i)
	}
	root, store := newStore(t, files)
	v := fork(t, store, "v", "s")
	halves, names := 0, slices.Sorted(maps.Keys(files))
	for round := range 5 {
		changed := map[string]string{}
		for name := range files {
			changed[name] = fmt.Sprint(round, name)
		}
		changed[fmt.Sprintf("new%d/x", round)] = "new"
		before := read(t, root)
		write(t, v.Folder, changed)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), applying+"="+store.Dir())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }() // it was killed, or not
		at := filepath.Join(root, names[random.IntN(len(names))])
		if round == 0 {
			at = filepath.Join(v.home, stagedName, fmt.Sprint(random.IntN(len(names))))
		}
		for was := signatureAt(at); signatureAt(at) == was && running(ended); {
		}
		_ = cmd.Process.Kill()
		<-ended
		half := false
		for name, text := range read(t, root) {
			if text != before[name] && text != changed[name] && text != "/" {
				t.Fatalf("%s holds %q, want %q or %q", name, text, before[name], changed[name])
			}
			half = half || text != before[name]
		}
		if c := compare(t, v); half && len(c.Changes) > 0 {
			halves++
		}
		if _, err := applyAll(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(read(t, v.Folder), read(t, root)); d != "" {
			t.Errorf("after Apply (-view +original):\n%s", d)
		}
	}
	if halves == 0 {
		t.Error("no process was killed while it applied")
	}
}

func running(ended chan struct{}) bool {
	select {
	case <-ended:
		return false
	default:
		return true
	}
}

func signatureAt(path string) signature {
	info, err := beneath.Look(path)
	if err != nil {
		return signature{}
	}
	return signatureOf(info)
}

// Views that were being made when their process was killed are not found, and are collected. One that is being made is
// not.
func TestAbandoned(t *testing.T) {
	_, store := newStore(t, map[string]string{"a": "1"})
	fork(t, store, "v", "s")
	views := filepath.Join(store.Dir(), folderName)
	write(t, views, map[string]string{"making-1/proj/a": "1", "w/proj/a": "old", "making-2/proj/a": "1"})
	lock, _, err := state.LockFolder(filepath.Join(views, "making-2"))
	if err != nil {
		t.Fatal(err)
	}
	w := fork(t, store, "w", "s") // in the place of the one that was left
	if d := cmp.Diff(map[string]string{"a": "1"}, read(t, w.Folder)); d != "" {
		t.Errorf("the view (-want +got):\n%s", d)
	}
	for _, want := range []int{1, 1, 0} {
		count, bytes, err := Abandoned(t.Context(), store,
			want == 1 && exists(filepath.Join(views, "making-1", "keep")))
		if count != want || bytes != int64(want) || err != nil {
			t.Errorf("Abandoned = %d, %d, %v; want %d", count, bytes, err, want)
		}
		if lock != nil && want == 1 {
			if err := lock.Release(); err != nil {
				t.Fatal(err)
			}
			lock = nil
		}
	}
	if _, err := Needed(t.Context(), store, "w"); err != nil {
		t.Error(err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func sizeOnDisk(info fs.FileInfo) int64 { return int64(info.Sys().(*syscall.Stat_t).Blocks) * 512 }

// TestApplyThroughLink: between the comparison and the changes, a folder of the original becomes a link to a neighbour.
func TestApplyThroughLink(t *testing.T) {
	root, store := newStore(t, map[string]string{"sub/a": "1"})
	v := fork(t, store, "v", "s")
	write(t, v.Folder, map[string]string{"sub/new": "chosen"})
	outside := t.TempDir()
	write(t, outside, map[string]string{"a": "1"})
	c := compare(t, v)
	if err := os.RemoveAll(filepath.Join(root, "sub")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "sub")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Apply(t.Context(), state.Origin{}); err == nil {
		t.Error("Apply writes through a link")
	}
	if got := read(t, outside); len(got) != 1 || got["a"] != "1" {
		t.Errorf("outside: %q", got)
	}
}
