package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/patch/syntax"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Edits that another commits while a program runs stay, and so does what the run found out about the other blocks.
func TestEditWhileRunning(t *testing.T) {
	session, dir := newSession(t)
	store, err := xstate.Open(
		t.Context(),
		filepath.Join(dir, xstate.StoreName),
		xstate.Options{State: state.Options{Wait: 300 * time.Millisecond}},
	)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	other, err := store.Existing(t.Context(), session.Name(), xstate.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const program = "# %% first\nx = 1\n\n# %% second\ny = x + 1\n\n# %% third\nprint(y)\n"
	edited := false
	outcome := runText(t, t.Context(), session, program, func(ev runner.Event) {
		if ev.Kind != "begin" || ev.Block != "second" || edited {
			return
		}
		edited = true
		if _, err := other.Patch(t.Context(), "first", "x = 10", xstate.Origin{Agent: "other"}); err != nil {
			t.Error(err)
		}
		if _, err := other.Append(t.Context(), patch.Block{ID: "fourth", Dialect: "python", Source: "print(x)"}, "",
			xstate.Origin{}); err != nil {
			t.Error(err)
		}
		if _, _, err := other.Run(t.Context(), runner.RunOptions{}, xstate.Origin{}); state.CodeOf(
			err,
		) != state.CodeBusy {
			t.Errorf("Run during a run = %v, want code %s", err, state.CodeBusy)
		}
	})
	if got, want := query.Text(outcome.Blocks[2].Outputs), "[stdout]2\n\n"; got != want {
		t.Errorf("third printed %q, want %q", got, want)
	}
	blocks, head, err := other.History().Program(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[xstate.BlockID]state.Status{
		"first":  state.StatusNew,
		"second": state.StatusRan,
		"third":  state.StatusRan,
		"fourth": state.StatusNew,
	}
	for _, b := range blocks {
		if b.Before.Status != want[b.ID] || b.ID == "first" && b.Source != "x = 10" {
			t.Errorf(
				"after step %d block %s has status %d and is %q, want status %d",
				head,
				b.ID,
				b.Before.Status,
				b.Source,
				want[b.ID],
			)
		}
	}
	if len(blocks) != len(want) {
		t.Errorf("%d blocks, want %d", len(blocks), len(want))
	}
	outcome, _, err = other.Run(t.Context(), runner.RunOptions{}, xstate.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	if got := query.Text(outcome.Blocks[2].Outputs) + query.Text(outcome.Blocks[3].Outputs); got != "[stdout]11\n\n"+
		"[stdout]10\n\n" {
		t.Errorf("the next run printed %q", got)
	}
	session.Close()
	other.Close()
}

// A block that wrote a file in one session is reused in another one, in another folder. Its file must be there before a
// block is executed that reads it: it once came only with the end of the run, and the reader failed. What the file held
// before is kept.
func TestReusedFile(t *testing.T) {
	root := t.TempDir()
	store := xstatetest.OpenStore(t, filepath.Join(root, xstate.StoreName))
	const write = "# %% write\nopen('out.txt', 'w').write('hello')\n"
	for i, c := range []struct{ program, want string }{
		{write + "# %% print\nprint(1)\n", "1\n"},
		{write + "# %% read\nprint(open('out.txt').read())\n", "hello\n"},
		{write + "# %% look\nimport os; print(os.path.exists('out.txt'), os.listdir('.'))\n", "True ['out.txt']\n"},
	} {
		dir := filepath.Join(root, "folder", string(rune('a'+i)))
		xstatetest.WriteFiles(t, dir, map[string][]byte{"out.txt": []byte("by hand")})
		s, err := store.Session(t.Context(), dir, xstate.SessionOptions{Workspace: dir, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		out := runText(t, t.Context(), s, c.program, nil)
		if got := out.Blocks[1].Outputs[0].Text; got != c.want || out.Blocks[0].Status != state.StatusRan && i == 0 ||
			out.Blocks[0].Status != state.StatusReused && i > 0 {
			t.Errorf("session %d: %s, prints %q, want %q", i, out.Blocks[0].Status.String(), got, c.want)
		}
		if _, err := s.Delete(t.Context(), "write", xstate.Origin{}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Run(t.Context(), runner.RunOptions{}, xstate.Origin{}); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(filepath.Join(dir, "out.txt")); string(data) != "by hand" {
			t.Errorf("session %d: without the block, the file is %q, %v", i, data, err)
		}
		s.Close()
	}
}

// TestShareAfterDeath: what an interpreter that died had written is no part of the workspace as it was, also where
// nothing is executed after it: the result of another session would not hold there, and the block after would see the
// file.
func TestShareAfterDeath(t *testing.T) {
	store := xstatetest.OpenStore(t, filepath.Join(t.TempDir(), xstate.StoreName))
	for _, name := range []string{"first", "second"} {
		o := xstate.SessionOptions{Workspace: t.TempDir(), Seed: 7, Python: xstatetest.Pythons()[0]}
		session, err := store.Session(t.Context(), name, o)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		for _, b := range [][2]string{{"work", "import os\nopen('out.txt', 'w').close()\nos._exit(1)"},
			{"after", "import os\nprint(os.path.exists('out.txt'))"}} {
			if _, err := session.Append(t.Context(), patch.Block{ID: b[0], Dialect: syntax.Python, Source: b[1]}, "",
				xstate.Origin{}); err != nil {
				t.Fatal(err)
			}
		}
		out, _, err := session.Run(t.Context(), runner.RunOptions{}, xstate.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		if text := query.Text(out.Blocks[1].Outputs); !strings.Contains(text, "False") {
			t.Errorf("session %s: after the death it put out %q, want False", name, text)
		}
	}
}
