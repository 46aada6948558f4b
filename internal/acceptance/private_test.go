package acceptance

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/private"
	"github.com/xstate-engine/xstate/state"
)

// variants is how many versions of a program run at the same time.
const variants = 10

// variantProgram writes the same files in each version, and waits in between until all versions have come so far. So it
// ends only where all of them run at the same time. A version that saw a file of another would count its rows, too.
const variantProgram = `# %% setup
import os, sys, subprocess, time
import scale
factor = 1
meet = os.environ["MEETING_POINT"]
# %% rows
rows = [int(x) * factor for x in open("data.txt").read().split()]
os.makedirs("out", exist_ok=True)
with open("out/rows.txt", "a") as f:
    for x in rows:
        f.write(f"{scale.by(x)}\n")
open(os.path.join("out", f"own-{factor}.txt"), "w").write("mine")
os.remove("old.txt")
# %% meet
open(os.path.join(meet, str(factor)), "w").close()
limit = time.monotonic() + 240
while len(os.listdir(meet)) < VARIANTS and time.monotonic() < limit:
    time.sleep(0.01)
print("met", len(os.listdir(meet)))
# %% child
code = "import sys; sys.stdout.write(open('out/rows.txt').read().upper())"
child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
open("out/child.txt", "w").write(child.stdout)
# %% report
print(factor, sum(rows), sorted(os.listdir("out")), sorted(os.listdir(".")))
print(open("out/rows.txt").read(), open("out/child.txt").read())
`

// variant is the program of version n. Its module differs, too.
func variant(n int) (program, module string) {
	program = strings.ReplaceAll(variantProgram, "VARIANTS", fmt.Sprint(variants))
	return strings.Replace(program, "factor = 1", fmt.Sprintf("factor = %d", n), 1),
		fmt.Sprintf("def by(x):\n    return x + %d\n", 1000*n)
}

// TestTenVariants: ten private versions of a program run at the same time, write files of the same names, and never see
// one another. Each equals a plain run of its program. The best one is applied.
func TestTenVariants(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "proj")
	meet := t.TempDir()
	program, module := variant(1)
	files := map[string][]byte{
		"prog.py": []byte(program), "scale.py": []byte(module), "data.txt": []byte("1 2 3"), "old.txt": []byte("old"),
		"sub/deep.txt": []byte("deep"),
	}
	xstatetest.WriteFiles(t, dir, files)
	store := xstatetest.OpenStore(t, filepath.Join(dir, xstate.StoreName))
	o := xstate.SessionOptions{
		Python: xstatetest.Pythons()[0], Seed: 1, Environ: append(os.Environ(), "MEETING_POINT="+meet),
	}
	o.Workspace = dir
	parent := xstatetest.OpenSession(t, store, o)
	if _, err := parent.LoadFile(t.Context(), "prog.py", files["prog.py"], xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	views, results := make([]*private.View, variants), make(chan string, variants)
	for n := range variants {
		views[n] = forkVariant(t, store, n+1)
	}
	for n, v := range views {
		go func() { results <- runVariant(t, store, v, o, n+1) }()
	}
	printed := map[string]string{}
	for range variants {
		name, text, _ := strings.Cut(<-results, ":")
		printed[name] = text
	}
	if t.Failed() {
		t.FailNow()
	}
	if d := gocmp.Diff(before, tree(t, dir)); d != "" {
		t.Errorf("the original has changed (-before +now):\n%s", d)
	}
	for n, v := range views {
		plain := filepath.Join(t.TempDir(), "proj")
		program, module := variant(n + 1)
		files["prog.py"], files["scale.py"] = []byte(program), []byte(module)
		xstatetest.WriteFiles(t, plain, files)
		if got, want := printed[v.Session], plainRun(t, o, plain); got != want {
			t.Errorf("%s printed\n%s\nwant\n%s", v.Session, got, want)
		}
		if d := gocmp.Diff(tree(t, plain), tree(t, v.Folder)); d != "" {
			t.Errorf("files of %s (-plain +private):\n%s", v.Session, d)
		}
	}
	best := views[6]
	release, err := best.Hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := best.Compare()
	if err == nil {
		_, err = c.Apply(t.Context(), xstate.Origin{Agent: "judge"})
	}
	release()
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(tree(t, best.Folder), tree(t, dir)); d != "" {
		t.Errorf("the original after Apply (-best +original):\n%s", d)
	}
	text := []byte(tree(t, dir)["prog.py"])
	if _, err := parent.LoadFile(t.Context(), "prog.py", text, xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	out, _, err := parent.Run(t.Context(), runner.RunOptions{Timeout: await.Long}, xstate.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range out.Blocks { // the listing that block meet saw has changed, and a child process sees the folder
		if b.ID != "meet" && b.Reason.Key != "conf:folder" && b.Status != state.StatusReused {
			t.Errorf("in the run after Apply, block %s has status %s: %+v", b.ID, b.Status, b.Reason)
		}
	}
	if d := gocmp.Diff(tree(t, best.Folder), tree(t, dir)); d != "" {
		t.Errorf("the original after a run (-best +original):\n%s", d)
	}
}

func forkVariant(t *testing.T, store *xstate.Store, n int) *private.View {
	t.Helper()
	head, _, err := store.State().Head(t.Context(), "prog")
	if err != nil {
		t.Fatal(err)
	}
	made, err := private.Fork(t.Context(), store.State(), fmt.Sprintf("variant-%d", n),
		state.ForkPoint{Session: "prog", Step: head}, xstate.Origin{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	program, module := variant(n)
	xstatetest.WriteFiles(t, made.Folder, map[string][]byte{"prog.py": []byte(program), "scale.py": []byte(module)})
	return made.View
}

// runVariant runs a version, and returns its name and what it printed.
func runVariant(t *testing.T, store *xstate.Store, v *private.View, o xstate.SessionOptions, n int) string {
	o.Workspace = v.Folder
	session, err := store.Existing(t.Context(), v.Session, o)
	if err != nil {
		t.Error(err)
		return v.Session
	}
	defer session.Close()
	program, _ := variant(n)
	if _, err := session.LoadFile(t.Context(), "prog.py", []byte(program), xstate.Origin{}); err != nil {
		t.Error(err)
		return v.Session
	}
	out, _, err := session.Run(t.Context(), runner.RunOptions{Timeout: await.Long}, xstate.Origin{})
	if err != nil {
		t.Error(err)
		return v.Session
	}
	text := v.Session + ":"
	for _, b := range out.Blocks {
		if b.Err != nil {
			t.Errorf("%s: block %s: %s", v.Session, b.ID, b.Err.Message)
		}
		for _, o := range b.Outputs {
			if o.Kind == "stdout" {
				text += o.Text
			}
		}
	}
	return text
}

// plainRun runs the program in a folder without xstate.
func plainRun(t *testing.T, o xstate.SessionOptions, dir string) string {
	t.Helper()
	python := o.Python
	if python == "" {
		python = "python3"
	}
	cmd := exec.Command(python, "-B", "prog.py")
	cmd.Dir, cmd.Env = dir, o.Environ
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	return string(out)
}

// tree returns the files of a folder, without stores and bytecode.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			if e != nil && (e.Name() == xstate.StoreName || e.Name() == "__pycache__") {
				return fs.SkipDir
			}
			return err
		}
		rel, _ := filepath.Rel(root, path)
		data, err := os.ReadFile(path)
		found[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
