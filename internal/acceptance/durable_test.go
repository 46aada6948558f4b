package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/state"
)

// endless is the environment variable that makes TestFinishedIsKept run a program that does not end: the folder.
const endless = "XSTATE_TEST_ENDLESS"

// TestFinishedIsKept kills a run in the middle of a block. What finished before is on disk while the run goes on, so
// that others can see it, and the next run reuses it.
func TestFinishedIsKept(t *testing.T) {
	const finished, unfinished = "# %% finished\nx = [1]\nprint(x)\n\n# %% unfinished\n", "while True: pass\n"
	o := xstate.SessionOptions{Workspace: os.Getenv(endless), Python: xstatetest.Pythons()[0], Seed: 7}
	files := map[string][]byte{"prog.py": []byte(finished + unfinished)}
	if o.Workspace != "" {
		store, err := xstate.Open(t.Context(), filepath.Join(o.Workspace, xstate.StoreName), xstate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		xstatetest.RunFile(t, t.Context(), xstatetest.OpenSession(t, store, o), o.Workspace, files, time.Hour)
		t.Fatal("not killed")
	}
	o.Workspace = t.TempDir()
	xstatetest.WriteFiles(t, o.Workspace, files)
	store := xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName))
	session := xstatetest.OpenSession(t, store, o)
	child := exec.Command(os.Args[0], "-test.run=^TestFinishedIsKept$")
	child.Env = append(os.Environ(), endless+"="+o.Workspace)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill() }) // where the test fails
	exited := make(chan error, 1)
	go func() { exited <- child.Wait() }()
	await.Until(t, "the first block is kept", func() bool {
		select {
		case err := <-exited:
			t.Fatalf("the run ended by itself: %v", err)
		default:
		}
		plan, err := session.Plan(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return len(plan.Nodes) == 1 && plan.Nodes[0].Block == "unfinished"
	})
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-exited
	outcome := runText(t, t.Context(), session, finished+"print(x * 2)\n", nil)
	if got := outcome.Blocks[0].Status; got != state.StatusReused {
		t.Errorf("the block that had finished is %v, want reused", got)
	}
	if got := outcome.Blocks[1].Status; got != state.StatusRan {
		t.Errorf("the other block is %v, want ran", got)
	}
}
