package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// neighbour is what lies beside the workspace of TestLinksOut: no run may change it, and the store must not have it.
const neighbour = "what the user has beside the workspace\n"

// linkSession is a session in a workspace with a neighbour.
type linkSession struct {
	*xstate.Session
	store         *xstate.Store
	dir, outside  string
	options       xstate.SessionOptions
	before, token map[string]string
}

func newLinkSession(t *testing.T, bounds *policy.Policy) *linkSession {
	t.Helper()
	root := t.TempDir()
	l := &linkSession{dir: filepath.Join(root, "w"), outside: filepath.Join(root, "outside")}
	xstatetest.WriteFiles(t, l.outside, map[string][]byte{"keep": []byte(neighbour), "sub/x.py": []byte(neighbour)})
	if err := os.Mkdir(l.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l.options = xstate.SessionOptions{Workspace: l.dir, Python: xstatetest.Pythons()[0], Seed: 7,
		Policy: bounds}
	l.store = xstatetest.OpenStore(t, filepath.Join(l.dir, xstate.StoreName))
	l.Session = xstatetest.OpenSession(t, l.store, l.options)
	xstatetest.WriteFiles(t, l.dir, map[string][]byte{".xstate/keep": []byte("a token")})
	l.before, l.token = described(t, l.outside), described(t, filepath.Join(l.dir, ".xstate", "keep"))
	return l
}

// described describes all files in a folder: content, permissions, time and names.
func described(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		text := info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" %q %d", data, info.ModTime().UnixNano())
		}
		found[path] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// contained fails the test where a run changed what is outside, or the store has the content of it.
func (l *linkSession) contained(t *testing.T) {
	t.Helper()
	for root, want := range map[string]map[string]string{
		l.outside: l.before, filepath.Join(l.dir, ".xstate", "keep"): l.token,
	} {
		now := described(t, root)
		for path, was := range want {
			if now[path] != was {
				t.Errorf("%s is %q now, want %q", path, now[path], was)
			}
			delete(now, path)
		}
		for path, is := range now {
			t.Errorf("%s is new outside: %s", path, is)
		}
	}
	if l.store.State().HasBlob(state.DigestOf([]byte(neighbour))) {
		t.Error("the store has the content of a file outside")
	}
}

// script makes a program of blocks.
func script(blocks []string) map[string][]byte {
	return map[string][]byte{"prog.py": []byte("# %% b\n" + strings.Join(blocks, "\n# %% b\n") + "\n")}
}

// TestLinksOut: a program replaces a folder in which it had written by a link. The next run restores that folder, and
// must not follow the link: neither to a neighbour of the workspace, nor to the store. The result is that of a fresh
// run.
func TestLinksOut(t *testing.T) {
	const setup = "import os, shutil, time\n"
	replaced := func(target string) string {
		return fmt.Sprintf("shutil.rmtree('d'); os.symlink(%q, 'd')", target)
	}
	for _, test := range []struct {
		name   string
		blocks []string
		edited string // replaces the first block
	}{
		{"content", []string{"os.makedirs('d', exist_ok=True); open('d/keep', 'w').write('1')"},
			"os.makedirs('d', exist_ok=True); open('d/keep', 'w').write('22')"},
		{"removed", []string{"os.makedirs('d', exist_ok=True); open('d/keep', 'w').write('1')"}, "pass"},
		{"permissions", []string{"os.makedirs('d', exist_ok=True); open('d/keep', 'w').write('1')",
			"os.chmod('d/keep', 0o600)"}, "os.makedirs('d', exist_ok=True); open('d/keep', 'w').write('3')"},
		{"folders", []string{"os.makedirs('d/sub', exist_ok=True); open('d/sub/x.py', 'w').write('1')"},
			"os.makedirs('d/other', exist_ok=True); open('d/other/x.py', 'w').write('1')"},
		{"links", []string{"os.makedirs('d', exist_ok=True); os.symlink('nowhere', 'd/keep')"},
			"os.makedirs('d', exist_ok=True); os.symlink('elsewhere', 'd/keep')"},
		{"names", []string{"os.makedirs('d', exist_ok=True); open('a', 'w').write('1'); os.link('a', 'd/keep')"},
			"os.makedirs('d', exist_ok=True); open('a', 'w').write('2'); os.link('a', 'd/keep')"},
	} {
		for _, target := range []string{"../outside", "ABSOLUTE", ".xstate"} {
			t.Run(test.name+" "+filepath.Base(target), func(t *testing.T) {
				t.Parallel()
				l := newLinkSession(t, nil)
				target := strings.Replace(target, "ABSOLUTE", l.outside, 1)
				blocks := slices.Concat([]string{setup}, test.blocks,
					[]string{replaced(target), "print(os.path.islink('d'), os.path.exists('gone'))"})
				steps := [][]string{blocks, slices.Replace(slices.Clone(blocks), 1, 2, test.edited), blocks}
				if test.name == "removed" { // the folder has to be there for the link to replace it
					steps[1] = append(slices.Clone(blocks[:1]), "os.makedirs('d')")
					steps[1] = append(steps[1], blocks[2:]...)
				}
				for i, blocks := range steps {
					files := script(blocks)
					xstatetest.WriteFiles(t, l.dir, files)
					have := xstatetest.RunFile(t, t.Context(), l.Session, l.dir, files, await.Long)
					l.contained(t)
					want := xstatetest.FromScratch(t, t.Context(), files, l.options, await.Long)
					for _, d := range replay.Compare(have, want) {
						t.Errorf("step %d: %s", i, d)
					}
				}
			})
		}
	}
}

// TestLinksOfTheUser: links that the user made work: to data outside that is read, and to a folder that took the place
// of one in which the program writes. The program follows them; the engine does not.
func TestLinksOfTheUser(t *testing.T) {
	l := newLinkSession(t, nil)
	data := filepath.Join(filepath.Dir(l.dir), "data")
	xstatetest.WriteFiles(t, data, map[string][]byte{"x": []byte("one"), "pkg/__init__.py": []byte("v = 1\n")})
	for name, target := range map[string]string{"data": "../data", "pkg": "../data/pkg", "near": "real"} {
		if err := os.Symlink(target, filepath.Join(l.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	xstatetest.WriteFiles(t, l.dir, map[string][]byte{"real/y": []byte("near one")})
	files := script([]string{"import os, pkg", "print(open('data/x').read())", "print(open('near/y').read())",
		"print(pkg.v)", "os.makedirs('out', exist_ok=True)", "n = open('out/result', 'w').write('r')",
		"print(open('out/result').read())"})
	xstatetest.WriteFiles(t, l.dir, files)
	run := func(what string, printed string, ran ...int) {
		t.Helper()
		out := xstatetest.RunFile(t, t.Context(), l.Session, l.dir, files, await.Long)
		text, nodes := "", []int{}
		for i, b := range out.Blocks {
			for _, o := range b.Outputs {
				text += o.Text
			}
			for _, n := range b.Nodes {
				if n.Status == state.StatusRan && !slices.Contains(nodes, i) {
					nodes = append(nodes, i)
				}
			}
			if b.Err != nil {
				t.Errorf("%s: block %d: %v", what, i, b.Err)
			}
		}
		if text != printed || !slices.Equal(nodes, ran) {
			t.Errorf("%s: ran %v and printed %q, want %v and %q", what, nodes, text, ran, printed)
		}
		l.contained(t)
	}
	run("at first", "one\nnear one\n1\nr\n", 0, 1, 2, 3, 4, 5, 6)
	run("again", "one\nnear one\n1\nr\n")
	xstatetest.WriteFiles(t, data, map[string][]byte{"x": []byte("second")})
	run("data outside was edited", "second\nnear one\n1\nr\n", 1)
	xstatetest.WriteFiles(t, l.dir, map[string][]byte{"real/y": []byte("near second")})
	run("data behind a link inside was edited", "second\nnear second\n1\nr\n", 2)
	xstatetest.WriteFiles(t, data, map[string][]byte{"pkg/__init__.py": []byte("v = 22\n")})
	run("a module behind a link was edited", "second\nnear second\n22\nr\n", 0, 3)
	moved := filepath.Join(filepath.Dir(l.dir), "disk")
	if err := os.Rename(filepath.Join(l.dir, "out"), moved); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../disk", filepath.Join(l.dir, "out")); err != nil {
		t.Fatal(err)
	}
	out := xstatetest.RunFile(t, t.Context(), l.Session, l.dir, files, await.Long)
	if text, err := os.ReadFile(filepath.Join(moved, "result")); err != nil || string(text) != "r" {
		t.Errorf("after the folder moved: %q, %v, in %v", text, err, out.Blocks)
	}
	if target, err := os.Readlink(filepath.Join(l.dir, "out")); err != nil || target != "../disk" {
		t.Errorf("the user's link is %q, %v", target, err)
	}
	run("after the folder moved", "second\nnear second\n22\nr\n")
}

// TestForged: a bounded program speaks for its own interpreter. It writes into the journal in which that announces what
// it is about to change, and into what that says a node did. So it names files of the user's as its own, for the engine
// to delete, to copy, or to empty. A run may fail for it.
func TestForged(t *testing.T) {
	const find = `import json, os, sys
spool = [p for p in (os.path.realpath("/proc/self/fd/" + f) for f in os.listdir("/proc/self/fd"))
    if p.endswith("/writing")][0]
seen, frame = [], sys._getframe()
while frame is not None:
    for v in list(frame.f_locals.values()):
        for o in (v, getattr(v, "files", None)):
            if isinstance(getattr(o, "writes", None), dict) and isinstance(getattr(o, "chmods", None), dict):
                seen.append(o)
    frame = frame.f_back
v = o = frame = None
def announce(path, before):
    with open(spool, "a") as f: print(json.dumps({"path": path, "before": before}), file=f)
`
	for _, test := range []struct{ name, forge string }{
		{"journal deletes", `announce(OUTSIDE, None); os.kill(os.getpid(), 9)`},
		{"journal copies", `announce(STOLEN, {"copy": OUTSIDE, "mode": 420, "time": 1}); os.kill(os.getpid(), 9)`},
		{"journal is a link", `os.remove(spool); os.symlink(OUTSIDE, spool)`},
		{"journal is a pipe", `os.remove(spool); os.mkfifo(spool)`},
		{"reply deletes", `for o in seen: o.writes[OUTSIDE] = None`},
		{"reply copies", `for o in seen: o.writes[STOLEN] = {"copy": OUTSIDE, "mode": 420, "time": 1}`},
		{"reply copies over a link", `os.symlink(OUTSIDE, os.path.dirname(spool) + "/copy")
for o in seen: o.writes[STOLEN] = {"copy": os.path.dirname(spool) + "/copy", "mode": 420, "time": 1}`},
		{"reply changes permissions", `for o in seen: o.chmods[OUTSIDE] = 0o777`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newLinkSession(t, &policy.Policy{Level: policy.Workspace})
			stolen := filepath.Join(l.dir, "stolen")
			forge := strings.NewReplacer("OUTSIDE", fmt.Sprintf("%q", filepath.Join(l.outside, "keep")), "STOLEN",
				fmt.Sprintf("%q", stolen)).Replace(test.forge)
			fine := script([]string{"print(1)"})
			for _, files := range []map[string][]byte{script([]string{find, "print(len(seen) > 0)", forge, "print(2)"}),
				fine, script([]string{"print(1)", "open('own', 'w').write('x')"}), fine} {
				_, err := l.Load(t.Context(), xstatetest.ParseScript(t, string(files["prog.py"])), xstate.Origin{})
				if err != nil {
					t.Fatal(err)
				}
				out, _, err := l.Run(t.Context(), runner.RunOptions{Timeout: await.Long}, xstate.Origin{})
				if err == nil && len(out.Blocks) > 1 && out.Blocks[0].Err != nil {
					t.Fatalf("the program fails before it tries: %v", out.Blocks[0].Err)
				}
				t.Logf("%v", err)
				l.contained(t)
				if data, err := os.ReadFile(stolen); err == nil {
					t.Errorf("%s holds %q", stolen, data)
				}
			}
			out, _, err := l.Run(t.Context(), runner.RunOptions{Timeout: await.Long}, xstate.Origin{})
			if err != nil || len(out.Blocks) != 1 || out.Blocks[0].Err != nil {
				t.Errorf("the session is of no use any more: %v", err)
			}
		})
	}
}
