package replay_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state/artifact"
	"github.com/xstate-engine/xstate/state/provenance"
)

// TestReplay: every run of the sessions of testdata is equal to its record, except for nodes that a session lists as
// varying. Of a session's runs only the last finds the workspace as it was: the others have what the store keeps. By
// default the test takes every thirtieth session; XSTATE_TEST_REPLAY=all takes all, XSTATE_TEST_REPLAY=TEXT those that
// have the text in their names.
func TestReplay(t *testing.T) {
	xstatetest.SamplePrograms(
		t,
		"XSTATE_TEST_REPLAY",
		0,
		func(t *testing.T, python string, steps []xstatetest.ProgramStep) {
			o := xstate.SessionOptions{
				Python:    python,
				Seed:      7,
				Observe:   os.Getenv("XSTATE_TEST_OBSERVE"),
				Workspace: t.TempDir(),
			}
			session := xstatetest.OpenSession(
				t,
				xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName)),
				o,
			)
			marked := map[xstate.BlockID]bool{}
			files := map[string][]byte{}
			for _, s := range steps {
				xstatetest.WriteFiles(t, o.Workspace, s.Files)
				s.AddTo(files)
				for _, b := range xstatetest.RunFile(t, t.Context(), session, o.Workspace, files,
					steps[0].Timeout).Blocks {
					marked[b.ID] = marked[b.ID] || len(b.AllMarks) > 0
				}
			}
			before := tree(t, o.Workspace)
			found, err := replay.Run(t.Context(), session.Subject(), replay.Options{Timeout: steps[0].Timeout, Jobs: 2})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(before, tree(t, o.Workspace)); d != "" {
				t.Errorf("replay changed the workspace (-before +after):\n%s", d)
			}
			for _, run := range found.Runs {
				for _, d := range run.Divergences {
					if d.Cause == replay.CausePackage && packaged(files) {
						continue // it is not installed, but lies in the workspace: a replay does not have it
					}
					if !marked[d.Block] {
						t.Errorf(
							"step %d, %s: %s, because of %s (%s)\nrecorded %s\nreplayed %s",
							d.Step,
							d.Node,
							d.What,
							d.Cause,
							d.Detail,
							d.Recorded,
							d.Replayed,
						)
					}
				}
				for _, s := range run.Served {
					if s.Why != replay.ServedDiverged {
						t.Logf("step %d: %s served: %s %v", run.Step, s.Node, s.Why, s.What)
					}
				}
			}
			for _, m := range found.Missing {
				t.Logf("step %d: %s: %s", m.Step, m.What, m.Why)
			}
			cached, err := replay.Run(t.Context(), session.Subject(), replay.Options{Cached: true})
			if err != nil || cached.Result != replay.Equal && found.Result == replay.Equal {
				t.Errorf("cached: %+v, %v", cached, err)
			}
		},
	)
}

// packaged reports whether a session brings packages along.
func packaged(files map[string][]byte) bool {
	for name := range files {
		if strings.HasPrefix(name, "site-packages/") {
			return true
		}
	}
	return false
}

// tree is what is in the workspace but for the store.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.Name() == xstate.StoreName || e.Name() == "__pycache__" {
			if e != nil && e.IsDir() {
				return filepath.SkipDir
			}
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				data = []byte("unreadable")
			}
			text += " " + info.ModTime().String() + " " + string(data)
		}
		found[path] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestReplayDemo: the demo's session, with all its edits, is equal when it is replayed, also by several at once.
func TestReplayDemo(t *testing.T) {
	o := xstate.SessionOptions{Python: xstatetest.Pythons()[0], Seed: 7, Workspace: t.TempDir()}
	session := xstatetest.OpenSession(t, xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName)), o)
	edits, err := filepath.Glob(xstatetest.Testdata("demo", "edits", "*.py"))
	if err != nil || len(edits) == 0 {
		t.Fatalf("no edits in the demo: %v", err)
	}
	penguins, err := os.ReadFile(xstatetest.Testdata("demo", "penguins.csv"))
	if err != nil {
		t.Fatal(err)
	}
	xstatetest.WriteFiles(t, o.Workspace, map[string][]byte{"penguins.csv": penguins})
	for _, file := range append([]string{xstatetest.Testdata("demo", "analysis.py")}, edits...) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{"prog.py": data}
		xstatetest.WriteFiles(t, o.Workspace, files)
		xstatetest.RunFile(t, t.Context(), session, o.Workspace, files, await.Long)
	}
	xstatetest.WriteFiles(t, o.Workspace, map[string][]byte{"penguins.csv": nil}) // what it read is kept
	for _, jobs := range []int{1, 3} {
		found, err := replay.Run(t.Context(), session.Subject(), replay.Options{Jobs: jobs})
		if err != nil {
			t.Fatal(err)
		}
		if found.Result != replay.Equal || len(found.Runs) != len(edits)+1 || len(found.Missing) > 0 {
			t.Errorf(
				"%d at once: %s, %d runs, missing %v: %+v",
				jobs,
				found.Result,
				len(found.Runs),
				found.Missing,
				found.First,
			)
		}
		executed, nodes := 0, 0
		for _, run := range found.Runs {
			executed, nodes = executed+run.Executed, nodes+run.Nodes
		}
		if jobs == 1 && executed*2 > nodes {
			t.Errorf(
				"executed %d of %d nodes, want fewer than half: what is proved is not executed again",
				executed,
				nodes,
			)
		}
	}
}

// TestReplayInterrupted: blocks that an interrupted run did not reach are no part of it, and their results are stale if
// the run changed their inputs.
func TestReplayInterrupted(t *testing.T) {
	p := plant(
		t,
		nil,
		"",
		"k",
		"k = 0.01",
		"other",
		"z = 1",
		"slow",
		"import time\nprint('sleeps', flush=True)\ntime.sleep(k)",
		"e",
		"x = [k]",
		"last",
		"y = z",
	)
	if _, err := p.session.Patch(t.Context(), "k", "k = 30", xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(await.Context(t))
	defer stop()
	out, step, err := p.session.Run(ctx, runner.RunOptions{OnEvent: func(ev runner.Event) {
		if strings.Contains(ev.Output.Text, "sleeps") {
			stop()
		}
	}}, xstate.Origin{})
	if err != nil || out.Stopped == nil {
		t.Fatalf("the run was not interrupted: %v, %v", out, err)
	}
	if found := p.replay(replay.Options{Step: step.Number}); found.Result != replay.Equal || found.Runs[0].Nodes != 2 {
		t.Errorf("replay: %s, %d nodes, want equal, 2: %+v", found.Result, found.Runs[0].Nodes, found.First)
	}
	for block, want := range map[string]artifact.Status{"k": artifact.Fresh, "e": artifact.Stale,
		"last": artifact.Fresh} {
		e, err := provenance.EvidenceOf(t.Context(), p.session.History(), step.Number, "block:"+block)
		if err != nil {
			t.Fatal(err)
		}
		if e.Status != want {
			t.Errorf("block %s is %s, want %s: %s", block, e.Status, want, e.Reason)
		}
	}
}
