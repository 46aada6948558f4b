package acceptance

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

// TestBackAndForth is the promise for sessions that are edited, rolled back and forked in one folder, in any order:
// what a run prints and leaves in the files it writes is what a fresh interpreter would, and going back executes
// nothing.
func TestBackAndForth(t *testing.T) {
	seed := sampling.Seed(t)
	r := rand.New(rand.NewPCG(seed, 2))
	dir := t.TempDir()
	xstatetest.WriteFiles(t, dir, map[string][]byte{"data.csv": []byte("1\n2\n")})
	store := xstatetest.OpenStore(t, filepath.Join(dir, xstate.StoreName))
	sessions := []*xstate.Session{xstatetest.OpenSession(t, store, xstate.SessionOptions{Workspace: dir, Seed: 7})}
	runs := map[string]map[xstate.StepNumber]string{sessions[0].Name(): {}}
	var done []string
	rounds := 30
	if testing.Short() {
		rounds = 8
	}
	for range rounds {
		s := sessions[r.IntN(len(sessions))]
		head, _, err := store.State().Head(t.Context(), s.Name())
		if err != nil {
			t.Fatal(err)
		}
		quiet := false
		switch op := r.IntN(5); {
		case op == 0 && head > 0:
			n := xstate.StepNumber(r.IntN(int(head)) + 1)
			_, quiet = runs[s.Name()][n]
			if _, err := s.Rollback(t.Context(), n, xstate.Origin{}); err != nil {
				t.Fatal(err)
			}
			done = append(done, fmt.Sprintf("%s back to %d", s.Name(), n))
		case op == 1 && head > 0 && len(sessions) < 4:
			n := xstate.StepNumber(r.IntN(int(head)) + 1)
			name := fmt.Sprintf("fork%d", len(sessions))
			if _, err := s.Fork(t.Context(), name, n, xstate.Origin{}); err != nil {
				t.Fatal(err)
			}
			runs[name] = map[xstate.StepNumber]string{}
			done = append(done, fmt.Sprintf("%s from %s after %d", name, s.Name(), n))
			if s, err = store.Existing(t.Context(), name, xstate.SessionOptions{Workspace: dir}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			sessions = append(sessions, s)
		default:
			text := ""
			for i, part := range xstatetest.ReplacedParts {
				if code := part[r.IntN(len(part))]; code != "" {
					text += fmt.Sprintf("# %%%% part %d\n%s\n", i, code)
				}
			}
			if _, err := s.Load(t.Context(), xstatetest.ParseScript(t, text), xstate.Origin{}); err != nil {
				t.Fatal(err)
			}
			done = append(done, s.Name()+" edited")
		}
		out, step, err := s.Run(t.Context(), runner.RunOptions{Timeout: await.Long}, xstate.Origin{})
		if err != nil {
			t.Fatalf("seed %d, after %v: %v", seed, done, err)
		}
		done = append(done, fmt.Sprintf("%s ran as %d", s.Name(), step.Number))
		runs[s.Name()][step.Number] = ""
		var program, printed bytes.Buffer
		for _, b := range out.Blocks {
			program.WriteString(b.Source + "\n")
			if b.Status >= state.StatusBlocked {
				t.Fatalf("seed %d, after %v: block %s %v", seed, done, b.ID, b.Err)
			}
			for _, o := range b.Outputs {
				printed.WriteString(o.Text)
			}
		}
		if want, got := xstatetest.FromScratchText(t, s.Python().Path, program.String()),
			printed.String()+xstatetest.WrittenFiles(dir); got != want {
			t.Fatalf(
				"seed %d, after %v:\n%s\n--- came to\n%s--- from scratch\n%s",
				seed,
				done,
				program.String(),
				got,
				want,
			)
		}
		if quiet && step.Run.Nodes.Ran > 0 {
			t.Fatalf("seed %d, after %v: %d nodes were executed, want none", seed, done, step.Run.Nodes.Ran)
		}
	}
}
