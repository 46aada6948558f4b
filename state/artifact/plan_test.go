package artifact_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/artifact"
)

// TestFreshIsReused: what is called fresh, the engine would reuse. Between the edits and the run of each step of the
// sessions of testdata, each block is an artifact, and the plan of the run the judge. By itself the test takes every
// thirtieth session; XSTATE_TEST_ARTIFACTS=all takes all, XSTATE_TEST_ARTIFACTS=TEXT those that have the text in their
// names.
func TestFreshIsReused(t *testing.T) {
	xstatetest.SamplePrograms(
		t,
		"XSTATE_TEST_ARTIFACTS",
		2,
		func(t *testing.T, python string, steps []xstatetest.ProgramStep) {
			a := &xstatetest.Asked{Dir: t.TempDir()}
			a.Store = xstatetest.OpenStore(t, filepath.Join(a.Dir, xstate.StoreName))
			a.Session = xstatetest.OpenSession(
				t,
				a.Store,
				xstate.SessionOptions{
					Python:    python,
					Seed:      7,
					Observe:   os.Getenv("XSTATE_TEST_OBSERVE"),
					Workspace: a.Dir,
				},
			)
			files := map[string][]byte{}
			for n, s := range steps {
				xstatetest.WriteFiles(t, a.Dir, s.Files)
				s.AddTo(files)
				if n > 0 {
					freshIsReused(t, a, files)
				}
				xstatetest.RunFile(t, t.Context(), a.Session, a.Dir, files, steps[0].Timeout)
			}
		},
	)
}

func freshIsReused(t *testing.T, a *xstatetest.Asked, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		if !strings.HasPrefix(name, "prog.") {
			continue
		}
		p, err := patch.Parse(name, data)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Session.Load(t.Context(), p.Blocks, xstate.Origin{}); err != nil {
			t.Fatal(err)
		}
	}
	blocks, _, err := a.Session.History().Program(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	status := map[xstate.BlockID]artifact.View{}
	for _, b := range blocks {
		a.Declare(t, "x", state.ArtifactExample, "block:"+string(b.ID))
		v, err := artifact.Get(t.Context(), a.Session.History(), a.Head(t), "x")
		if err != nil {
			t.Fatal(err)
		}
		status[b.ID] = *v
	}
	plan, err := a.Session.Plan(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	planned, err := plan.Blocks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// blocks that would run for what a status does not look at, and those that rest on them
	excused := map[string]bool{}
	for _, b := range planned {
		if status[b.ID].Status != artifact.Fresh {
			continue
		}
		for _, n := range b.Nodes {
			by, _, _ := strings.Cut(n.Reason.By, "#")
			switch {
			case n.Action == runner.ActReuse:
			case unlooked(n.Reason) || excused[by]:
				excused[string(b.ID)] = true
			default:
				t.Errorf("block %s is fresh (%s), but would %s: %+v", b.ID, status[b.ID].Reason, n.Action, n.Reason)
			}
		}
	}
}

// unlooked reports whether a status does not look at what a block would run for.
func unlooked(r state.Reason) bool {
	switch r.Code {
	case state.ReasonRetry, state.ReasonSharing, state.ReasonLayout, state.ReasonEngine,
		state.ReasonCode: // of a block whose text is as it was: a function is unfolded, or no longer
		return true
	}
	if r.Was == "!failed" { // what would be tried again may not fail
		return true
	}
	switch r.Key.Space() {
	case "dir", "stat", "time", "mode", "link", "env", "isset", "module", "held", "conf", "names":
		return true
	}
	return false
}
