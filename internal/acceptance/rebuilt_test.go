package acceptance

import (
	"path/filepath"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/state"
)

// TestRebuiltSeconds: what is executed only to rebuild a value is spent, and not saved. A run of 1.4 s had reported
// "1 s saved", which was what it had executed again.
func TestRebuiltSeconds(t *testing.T) {
	o := xstate.SessionOptions{Workspace: t.TempDir(), Python: xstatetest.Pythons()[0], Seed: 7}
	store := xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName))
	run := func(last string) *xstate.Outcome {
		session := xstatetest.OpenSession(t, store, o)
		defer session.Close()
		files := map[string][]byte{"prog.py": []byte("# %% make\nn = sum(range(10**6))\ng = (i for i in range(n))\n" +
			"# %% use\nprint(next(g) + " + last + ")\n")}
		xstatetest.WriteFiles(t, o.Workspace, files)
		return xstatetest.RunFile(t, t.Context(), session, o.Workspace, files, await.Long)
	}
	recorded := run("1").Blocks[0].Seconds
	out := run("2")
	b := &out.Blocks[0]
	if b.Status != state.StatusReused || out.Recomputed != 1 {
		t.Fatalf("block make: %s, %d recomputed; want reused and 1", b.Status, out.Recomputed)
	}
	if b.Seconds <= 0 || out.Seconds != b.Seconds+out.Blocks[1].Seconds {
		t.Errorf("%g s were spent, %g s on make, which was rebuilt", out.Seconds, b.Seconds)
	}
	if want := max(recorded-b.Seconds, 0); b.Saved != want || out.Saved > want {
		t.Errorf("saved %g s, of make %g s; want at most %g s", out.Saved, b.Saved, want)
	}
}
