package acceptance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/runner/replay"
)

// faultBlocks is a program that does to files what is then to be undone and done again: it appends to a file of the
// user's, overwrites one, removes one, and makes folders, links, names and permissions.
var faultBlocks = []string{
	"import os, shutil",
	"n = open('log', 'a').write('first\\n')",
	"n = open('notes', 'w').write('mine'); os.remove('old')",
	"os.makedirs('out/sub'); n = open('out/sub/a', 'w').write('aa'); os.symlink('sub/a', 'out/link')",
	"os.link('out/sub/a', 'out/name'); os.chmod('notes', 0o600)",
	"f = open('kept', 'w'); n = f.write('buffered'); f.flush()",
	"shutil.rmtree('out'); os.symlink('gone', 'out')",
	"n = open('log', 'a').write('last\\n'); print(open('log').read(), open('notes').read())",
	"print(sorted(os.listdir('.')), os.stat('notes').st_mode & 0o777, os.readlink('out'), open('kept').read())",
}

// faultFiles are what the user has before the program.
var faultFiles = map[string][]byte{"log": []byte("the user's\n"), "notes": []byte("the user's notes"),
	"old": []byte("old")}

// TestFileFaults makes each operation on files fail that the engine carries out while it restores files and keeps what
// they held: once, and from there to the end of the run. That run is right, or fails with an error. The next one is
// right, in the same process or in another. And when the program writes nothing more, the user has all files as they
// were.
func TestFileFaults(t *testing.T) {
	edited := append([]string{}, faultBlocks...)
	edited[1] = "n = open('log', 'a').write('another\\n')"
	edited[3] = strings.Replace(edited[3], "'aa'", "'other'", 1)
	files := func(blocks []string) map[string][]byte {
		all := script(blocks)
		for name, data := range faultFiles {
			all[name] = data
		}
		return all
	}
	options := xstate.SessionOptions{Workspace: t.TempDir(), Python: xstatetest.Pythons()[0], Seed: 7}
	want := xstatetest.FromScratch(t, t.Context(), files(edited), options, await.Long)
	nothing := []string{"pass"}
	stride := 23
	if os.Getenv("XSTATE_TEST_ALL") != "" {
		stride = 1
	}
	cases := 0
	for _, lasting := range []bool{false, true} {
		for n := 0; ; n += stride {
			f := newFaulted(t, fmt.Sprintf("operation %d, lasting %t", n, lasting), files(faultBlocks))
			f.load(edited)
			hit, out, err := f.faulty(n, lasting)
			if hit == "" {
				if n == 0 {
					t.Fatal("a run has no operation")
				}
				f.close()
				break
			}
			cases++
			f.what += ", " + hit
			f.judge("the run itself", out, err, want)
			if n/stride%2 == 0 {
				f.reopen()
			}
			out, err = f.run()
			if err != nil {
				t.Errorf("%s: the next run fails: %v", f.what, err)
			}
			f.judge("the next run", out, err, want)
			f.load(nothing)
			if _, err := f.run(); err != nil {
				t.Errorf("%s: the run without writes fails: %v", f.what, err)
			}
			f.restored()
			f.close()
		}
	}
	t.Logf("%d operations failed", cases)
}

// faulted is a session in which operations fail.
type faulted struct {
	t       *testing.T
	what    string
	store   *xstate.Store
	session *xstate.Session
	options xstate.SessionOptions
}

func newFaulted(t *testing.T, what string, files map[string][]byte) *faulted {
	t.Helper()
	f := &faulted{t: t, what: what, options: xstate.SessionOptions{Workspace: t.TempDir(),
		Python: xstatetest.Pythons()[0], Seed: 7}}
	xstatetest.WriteFiles(t, f.options.Workspace, files)
	f.reopen()
	f.load(strings.Split(strings.TrimPrefix(strings.TrimSpace(string(files["prog.py"])), "# %% b\n"), "\n# %% b\n"))
	if _, err := f.run(); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *faulted) close() {
	f.session.Close()
	f.store.Close()
}

// reopen opens the session as another process does.
func (f *faulted) reopen() {
	f.t.Helper()
	if f.store != nil {
		f.close()
	}
	var err error
	f.store, err = xstate.Open(f.t.Context(), filepath.Join(f.options.Workspace, xstate.StoreName), xstate.Options{})
	if err == nil {
		f.session, err = f.store.Session(f.t.Context(), "prog", f.options)
	}
	if err != nil {
		f.t.Fatalf("%s: %v", f.what, err)
	}
}

func (f *faulted) load(blocks []string) {
	f.t.Helper()
	program, err := patch.Parse("prog.py", script(blocks)["prog.py"])
	if err == nil {
		_, err = f.session.Load(f.t.Context(), program.Blocks, xstate.Origin{})
	}
	if err != nil {
		f.t.Fatalf("%s: %v", f.what, err)
	}
}

func (f *faulted) run() (*xstate.Outcome, error) {
	out, _, err := f.session.Run(f.t.Context(), runner.RunOptions{Timeout: await.Long}, xstate.Origin{})
	return out, err
}

// faulty runs with a fault at operation n, and says which one that was; "" where there are not so many.
func (f *faulted) faulty(n int, lasting bool) (hit string, out *xstate.Outcome, err error) {
	count := 0
	undo := beneath.Inject(func(o beneath.Operation) error {
		if !strings.HasPrefix(o.Path, f.options.Workspace+"/") {
			return nil // of the interpreter and its packages
		}
		count++
		if count-1 == n {
			hit = fmt.Sprintf("%s of %s", o.Name, strings.TrimPrefix(o.Path, f.options.Workspace))
		}
		switch {
		case count-1 < n, count-1 > n && !lasting:
			return nil
		case o.Name == "write":
			return syscall.ENOSPC
		}
		return syscall.EIO
	})
	defer undo()
	out, err = f.run()
	return hit, out, err
}

// judge compares an outcome with one from scratch. A run that failed has an error that says what was tried.
func (f *faulted) judge(which string, out *xstate.Outcome, err error, want *xstate.Outcome) {
	f.t.Helper()
	if err != nil {
		if !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), " ") {
			f.t.Errorf("%s: %s fails with %v, want the error of the operation", f.what, which, err)
		}
		return
	}
	for _, d := range replay.Compare(xstatetest.Blank(out, f.options.Workspace), want) {
		f.t.Errorf("%s: %s: %s", f.what, which, d)
	}
}

// restored fails the test where the user's files are not as they were, or where something of the program's is left.
func (f *faulted) restored() {
	f.t.Helper()
	entries, err := os.ReadDir(f.options.Workspace)
	if err != nil {
		f.t.Fatal(err)
	}
	left := map[string]bool{}
	for _, e := range entries {
		left[e.Name()] = true
	}
	delete(left, xstate.StoreName)
	delete(left, "prog.py")
	for name, was := range faultFiles {
		data, err := os.ReadFile(filepath.Join(f.options.Workspace, name))
		info, bad := os.Stat(filepath.Join(f.options.Workspace, name))
		if err != nil || bad != nil || string(data) != string(was) || info.Mode().Perm() != 0o644 {
			f.t.Errorf("%s: the user's %s holds %q: %v, %v", f.what, name, data, info, err)
		}
		delete(left, name)
	}
	if len(left) > 0 {
		f.t.Errorf("%s: left in the workspace: %v", f.what, left)
	}
}
