package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
)

func sources(t *testing.T, s *xstate.Session) string {
	t.Helper()
	blocks, _, err := s.History().Program(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, b := range blocks {
		text += b.Source + "\n"
	}
	return text
}

// TestRollback: the program of a step is back with its results, by a step more, and running it executes nothing; so is
// the way back, and an edit after it.
func TestRollback(t *testing.T) {
	a := xstatetest.NewAsked(t, xstatetest.AskedFirst, xstatetest.AskedSecond)
	first, second := a.Runs[0], a.Runs[1]
	want := []string{"2 * x", "3 * x", "2 * x"}
	for i, to := range []xstate.StepNumber{first, second, first} {
		step, err := a.Session.Rollback(t.Context(), to, xstate.Origin{Agent: "reviewer"})
		if err != nil {
			t.Fatal(err)
		}
		if got := sources(t, a.Session); !strings.Contains(got, want[i]) || step.Kind != state.KindRollback ||
			step.To != to {
			t.Errorf("rollback to %d = %s to %d with program\n%s, want %q in it", to, step.Kind, step.To, got, want[i])
		}
		snap, err := a.Session.History().At(t.Context(), step.Number)
		if err != nil {
			t.Fatal(err)
		}
		then, err := a.Session.History().At(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(then.Blocks, snap.Blocks); d != "" {
			t.Errorf("after the rollback (-the step, +now):\n%s", d)
		}
		if n := xstatetest.RunsBlocks(t, a.Session); n != 0 {
			t.Errorf("the run after the rollback executed %d nodes, want none", n)
		}
	}
	a.Run(t, strings.Replace(xstatetest.AskedFirst, "print(scaled)", "print(sum(scaled))", 1))
	if snap, err := a.Session.History().At(t.Context(), a.Runs[2]); err != nil ||
		snap.Blocks[3].Outputs[0].Text != "6\n" {
		t.Errorf("an edit after the rollback gives %+v, %v; want 6", snap.Blocks[3].Outputs, err)
	}
	if _, err := a.Session.Rollback(t.Context(), 999, xstate.Origin{}); state.CodeOf(err) != state.CodeNoStep {
		t.Errorf("rollback to no step = %v, want %s", err, state.CodeNoStep)
	}
}

// load makes a script the program of a session.
func load(t *testing.T, s *xstate.Session, text string) {
	t.Helper()
	if _, err := s.Load(t.Context(), xstatetest.ParseScript(t, text), xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
}

// TestFork: both sessions have the past in common and nothing after it.
func TestFork(t *testing.T) {
	dir := t.TempDir()
	store := xstatetest.OpenStore(t, dir+"/.xstate")
	one := xstatetest.OpenSession(t, store, xstate.SessionOptions{Workspace: dir, Seed: 1})
	load(t, one, "# %% a\nx = 1\n# %% b\ny = x + 1\n")
	xstatetest.RunsBlocks(t, one)
	made, err := one.Fork(t.Context(), "other", 3, xstate.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	if made.From.Session != one.Name() || made.From.Step != 3 || made.Head != 4 {
		t.Errorf("fork = %+v, want one after step 3", made)
	}
	other, err := store.Existing(t.Context(), "other", xstate.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	if n := xstatetest.RunsBlocks(t, other); n != 0 {
		t.Errorf("the run after the fork executed %d nodes, want none", n)
	}
	load(t, other, "# %% a\nx = 1\n# %% b\ny = x + 2\n")
	if n := xstatetest.RunsBlocks(t, other); n != 1 {
		t.Errorf("the run of the edited fork executed %d nodes, want 1", n)
	}
	if n := xstatetest.RunsBlocks(t, one); n != 0 || !strings.Contains(sources(t, one), "x + 1") {
		t.Errorf("the other session executed %d nodes of\n%s, want none and its own program", n, sources(t, one))
	}
	family, err := store.State().Family(t.Context(), "other")
	if err != nil || len(family) != 2 {
		t.Errorf("family = %v, %v; want both", family, err)
	}
}

// TestForkAhead: before its first run a fork has an interpreter with the libraries of its program, and nothing of the
// program was executed. What it runs then, and what comes of it, is as without.
func TestForkAhead(t *testing.T) {
	dir := t.TempDir()
	store := xstatetest.OpenStore(t, dir+"/.xstate")
	options := xstate.SessionOptions{Python: xstatetest.Pythons()[0], Workspace: dir, Seed: 1}
	one := xstatetest.OpenSession(t, store, options)
	xstatetest.WriteFiles(t, dir, map[string][]byte{"own.py": []byte("open('imported.txt', 'a').write('own ')\n")})
	program := `# %% imports
import own
import numpy as np
import this

# %% data
data = np.arange(10)
open('imported.txt', 'a').write('data ')

# %% total
total = int(data.sum())
`
	load(t, one, program)
	xstatetest.RunsBlocks(t, one)
	before, err := os.ReadFile(filepath.Join(dir, "imported.txt"))
	if err != nil {
		t.Fatal(err)
	}
	head, _, err := store.State().Head(t.Context(), one.Name())
	if err != nil {
		t.Fatal(err)
	}
	for i, ahead := range []bool{false, true} {
		name, last := fmt.Sprint("fork ", ahead), fmt.Sprintf("data[%d]", i+5)
		if _, err := one.Fork(t.Context(), name, head, xstate.Origin{}); err != nil {
			t.Fatal(err)
		}
		fork, err := store.Existing(t.Context(), name, options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { fork.Close() })
		if ahead {
			if err := fork.ImportLibraries(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(fork.Groups(), hasNumPy) {
				t.Errorf("the interpreters %v have no NumPy", fork.Groups())
			}
			now, err := os.ReadFile(filepath.Join(dir, "imported.txt"))
			if err != nil || string(now) != string(before) {
				t.Errorf("imported.txt is %q, %v; want %q: something of the program was executed", now, err, before)
			}
		}
		load(t, fork, strings.Replace(program, "data.sum()", last, 1))
		if n := xstatetest.RunsBlocks(t, fork); n != 1 {
			t.Errorf("the run of the edited fork executed %d nodes, want 1", n)
		}
		if got, err := fork.Value(t.Context(), head+3, "total", nil); err != nil || got.Text != fmt.Sprint(i+5) {
			t.Errorf("total = %v, %v; want %d", got, err, i+5)
		}
	}
}

// TestForkElsewhere: no interpreter is made ahead where the program has changed its folder, on which it may depend what
// an import finds.
func TestForkElsewhere(t *testing.T) {
	dir := t.TempDir()
	s := xstatetest.OpenSession(t, xstatetest.OpenStore(t, dir+"/.xstate"),
		xstate.SessionOptions{Python: xstatetest.Pythons()[0], Workspace: dir, Seed: 1})
	program := "# %% a\nimport os\nimport numpy\n# %% b\nos.makedirs('in', exist_ok=True)\nos.chdir('in')\n"
	load(t, s, program)
	xstatetest.RunsBlocks(t, s)
	head, _, err := s.Store().State().Head(t.Context(), s.Name())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fork(t.Context(), "other", head, xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	fork, err := s.Store().Existing(t.Context(), "other", xstate.SessionOptions{Python: xstatetest.Pythons()[0]})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fork.Close() })
	if err := fork.ImportLibraries(t.Context()); err != nil || len(fork.Groups()) != 0 {
		t.Errorf("interpreters %v, %v; want none", fork.Groups(), err)
	}
}

// hasNumPy reports whether a process has the code of NumPy in its memory.
func hasNumPy(pid int) bool {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	return err == nil && strings.Contains(string(maps), "_multiarray_umath")
}

// TestText: the file that goes along with a rollback reads as the program, so that loading it records no edit.
func TestText(t *testing.T) {
	a := xstatetest.NewAsked(t, xstatetest.AskedFirst, xstatetest.AskedSecond)
	file := "# notes\n\n" + xstatetest.AskedSecond
	edits, err := a.Session.History().Unrecorded(t.Context(), "prog.py", []byte(file))
	if err != nil || len(edits) != 0 {
		t.Fatalf("unrecorded = %v, %v; want none", edits, err)
	}
	for _, data := range [][]byte{[]byte(file), nil} {
		text, err := a.Session.History().Text(t.Context(), a.Runs[0], "prog.py", data)
		if err != nil {
			t.Fatal(err)
		}
		if data != nil && string(text) != "# notes\n\n"+xstatetest.AskedFirst {
			t.Errorf("text = %s, want the first version with its notes", text)
		}
		if edits, err := a.Session.History().Unrecorded(t.Context(), "prog.py", text); err != nil || len(edits) != 1 ||
			edits[0].Op != patch.OpPatch {
			t.Errorf("the first version differs by %v, %v; want one patch", edits, err)
		}
	}
	if _, err := a.Session.History().Text(t.Context(), a.Runs[0], "prog.txt", nil); err == nil {
		t.Error("a program was written as .txt")
	}
}
