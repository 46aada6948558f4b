package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

// TestShownAtOnce: what a block prints is shown while it runs, even half of a line, of Python code or of a child
// process, and once. The block waits for a file that only the follower of the run makes.
func TestShownAtOnce(t *testing.T) {
	for name, print := range map[string]string{
		"python": `print("before", end="")`,
		"stderr": `sys.stderr.write("before")`,
		"many":   `print("x\n" * 2000 + "before", end="")`,
		"native": `os.write(1, b"before")`,
		"child":  `subprocess.run(["sh", "-c", "printf before"])`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session, folder := newSession(t)
			shown := map[string]string{}
			outcome := runText(
				t,
				t.Context(),
				session,
				"# %% wait\nimport os, subprocess, sys\nif True:\n    "+print+ // one statement
					"\n    while not os.path.exists('go'): pass\n    print(' after')\n",
				func(e runner.Event) {
					shown[e.Output.Kind] += e.Output.Text
					if strings.HasSuffix(e.Output.Text, "before") {
						if err := os.WriteFile(filepath.Join(folder, "go"), nil, 0o644); err != nil {
							t.Error(err)
						}
					}
				},
			)
			block, recorded := outcome.Blocks[0], map[string]string{}
			for _, o := range block.Outputs {
				recorded[o.Kind] += o.Text
			}
			if block.Err != nil {
				t.Fatalf("it did not see that it was shown: %v; shown was %.100q", block.Err, shown)
			}
			for _, kind := range []string{"stdout", "stderr"} {
				if shown[kind] != recorded[kind] {
					t.Errorf("shown of %s: %.200q, recorded: %.200q", kind, shown[kind], recorded[kind])
				}
			}
		})
	}
}

// TestEndFirst: followers learn how a node ended, after all that it printed, before the engine has recorded what it
// did.
// A node that turns out to have run without a name that it uses executes again, and a second "begin" says so.
func TestEndFirst(t *testing.T) {
	dir := t.TempDir()
	store := xstatetest.OpenStore(t, filepath.Join(dir, xstate.StoreName))
	options := xstate.SessionOptions{Workspace: dir, Python: xstatetest.Pythons()[0]}
	var events []string
	var cursor state.Cursor
	follow := func(e runner.Event) {
		line := string(e.Block) + " " + e.Kind
		switch e.Kind {
		case "begin":
			_, cursor, _ = store.State().TracedSince(state.Cursor{})
		case "output":
			line += " " + e.Output.Text
		case "end":
			line += " " + e.Status.String()
			if codes, _, ok := store.State().TracedSince(cursor); !ok || len(codes) > 0 {
				t.Errorf("block %s was recorded before its end was reported", e.Block)
			}
		}
		events = append(events, line)
	}
	const first = "# %% x\nx = [1]\n\n# %% fails\nprint(x)\nnone\n"
	const names = "\n# %% names\nimport sys\n# %% looks\nprint(\"so\")\n" +
		"print(len(vars(sys.modules[\"__main__\"])[\"x\"]))\n"
	session := xstatetest.OpenSession(t, store, options)
	outcome := runText(t, t.Context(), session, first, follow)
	if o := outcome; o.ResultSeconds <= 0 || o.TotalSeconds <= o.ResultSeconds {
		t.Errorf("the last output came after %g s and the end after %g s", o.ResultSeconds, o.TotalSeconds)
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	runText(t, t.Context(), xstatetest.OpenSession(t, store, options), first+names, follow)
	want := []string{"x begin", "x end ran", "fails begin", "fails output [1]\n", "fails end failed", "fails failed",
		"names begin", "names end ran",
		"looks begin", "looks output so\n", "looks begin", "looks output so\n1\n", "looks end ran"}
	if d := gocmp.Diff(want, events); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}
