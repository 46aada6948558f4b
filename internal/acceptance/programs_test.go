package acceptance

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state/query"
)

// TestPrograms gives every session of testdata but those of calls and languages to two judges after each of its steps.
// The outcome must be that of a run from scratch, with the prints of the interpreter alone (oracle), and exactly the
// blocks listed must have run.
//
// Kept: one interpreter lives through all steps. Restarted: each step has an interpreter of its own. The session's name
// chooses the mode, and the interpreter among those to test with. With XSTATE_TEST_ALL=1 every interpreter runs every
// session in both modes.
func TestPrograms(t *testing.T) {
	files, err := filepath.Glob("../../testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs in testdata: %v", err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { // TestCalls and TestLanguages have their own ways to judge
		return slices.Contains([]string{"calls", "languages"}, filepath.Base(filepath.Dir(f)))
	})
	if testing.Short() {
		files = slices.DeleteFunc(files, func(f string) bool { return sampling.Of(sessionOf(f), 20) != 0 })
	}
	reportSessions(t)
	ways := observers(t)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := xstatetest.ReadSteps(t, file)
			for _, way := range waysOf(name, steps, ways) {
				t.Run(way.name, func(t *testing.T) {
					judge := newOracle(sessionOf(file), steps, xstate.SessionOptions{
						Python: way.python, Seed: 7, Observe: way.observe, Policy: bounded(),
					})
					if unlike[name] == "" {
						judge.alone = func(
							t *testing.T, i int, files map[string][]byte, out *xstate.Outcome,
						) string {
							if unlike[fmt.Sprint(name, " ", i)] != "" {
								return ""
							}
							return unlikePlain(t, way.python, files, out)
						}
					}
					for _, mode := range modesOf(name) {
						t.Run(mode, func(t *testing.T) { runProgram(t, steps, judge, mode) })
					}
				})
			}
			if *update && unlike[name] == "" {
				updatePrints(t, file, steps, func(files map[string][]byte) (string, bool) {
					return plainPrints(t, ways, steps[0].Since, files)
				})
			}
		})
	}
}

// waysOf returns the interpreters that run a session: one, or with XSTATE_TEST_ALL=1 all that are new enough.
func waysOf(session string, steps []xstatetest.ProgramStep, ways []observer) []observer {
	var able []observer
	for _, way := range ways {
		if way.minor >= steps[0].Since {
			able = append(able, way)
		}
	}
	if sampling.All() || len(able) == 0 {
		return able
	}
	n := sampling.Of("interpreter of "+session, len(able))
	return able[n : n+1]
}

// modesOf returns the modes in which a session runs.
func modesOf(session string) []string {
	if sampling.All() {
		return bothModes
	}
	n := sampling.Of("mode of "+session, len(bothModes))
	return bothModes[n : n+1]
}

// bounded is the policy of the level that XSTATE_TEST_SANDBOX names; nil: there are no bounds. Results must not differ
// by level.
func bounded() *policy.Policy {
	if level := os.Getenv("XSTATE_TEST_SANDBOX"); level != "" {
		return &policy.Policy{Level: policy.Level(level)}
	}
	return nil
}

// observer is an interpreter to test with, and a way to observe names.
type observer struct {
	name, python string
	minor        int    // of 3.x
	observe      string // "static": in the way of interpreters before 3.12, whatever it is
}

// observers returns the interpreters to test with. Where all are from 3.12 on, the first one also observes names in
// the way of those before: an interpreter from before is better, but the catalogue should not leave that way untested.
func observers(t *testing.T) []observer {
	var ways []observer
	older := false
	for _, python := range xstatetest.Pythons() {
		way := observer{
			filepath.Base(filepath.Dir(filepath.Dir(python))),
			python,
			xstatetest.PythonMinor(t, python),
			os.Getenv("XSTATE_TEST_OBSERVE"),
		}
		older = older || way.minor < 12 || way.observe != ""
		ways = append(ways, way)
	}
	if !older && !testing.Short() {
		way := ways[0]
		way.name, way.observe = way.name+"-static", "static"
		ways = append(ways, way)
	}
	return ways
}

// bothModes are the modes of runProgram.
var bothModes = []string{"restarted", "kept"}

// TestLarge runs sessions whose values are large, at a size that takes minutes and gigabytes.
func TestLarge(t *testing.T) {
	if os.Getenv("XSTATE_TEST_LARGE") == "" {
		t.Skip("set XSTATE_TEST_LARGE=1")
	}
	options := xstate.SessionOptions{Python: xstatetest.Pythons()[0], Seed: 7}
	for name, sizes := range map[string][2]string{
		"np-large-array":   {"6_250_000", "62_500_000"},
		"long-nested-list": {"200_000", "1_000_000"},
	} {
		t.Run(name, func(t *testing.T) {
			steps := xstatetest.ReadSteps(t, filepath.Join("../../testdata/hazards", name+".txtar"))
			for _, s := range steps {
				for file, text := range s.Files {
					s.Files[file] = bytes.ReplaceAll(text, []byte(sizes[0]), []byte(sizes[1]))
				}
			}
			judge := newOracle("hazards/"+name, steps, options)
			for _, mode := range bothModes {
				t.Run(mode, func(t *testing.T) { runProgram(t, steps, judge, mode) })
			}
		})
	}
}

// runProgram runs a session step by step, and judges each. In the mode "restarted" each step has an interpreter of its
// own, and that of every other one is made before the edit.
func runProgram(t *testing.T, steps []xstatetest.ProgramStep, judge *oracle, mode string) {
	t.Helper()
	o := judge.options
	o.Workspace = t.TempDir()
	files := map[string][]byte{}
	store := xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName))
	session := xstatetest.OpenSession(t, store, o)
	reopen := func() {
		session.Close()
		session = xstatetest.OpenSession(t, store, o)
	}
	for i, s := range steps {
		ahead := mode == "restarted" && i > 0 && i%2 == 0
		if ahead { // the interpreter starts before the edit, as after a fork
			reopen()
			if err := session.ImportLibraries(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		xstatetest.WriteFiles(t, o.Workspace, s.Files)
		s.AddTo(files)
		_, arguments := s.Files[xstatetest.ArgumentsFile]
		_, stdin := s.Files[xstatetest.StdinFile]
		if mode == "restarted" && i > 0 && !ahead || arguments || stdin {
			o.Invocation = xstatetest.Invocation(o.Workspace, files)
			reopen()
		}
		began := time.Now()
		have := xstatetest.RunFile(t, t.Context(), session, o.Workspace, files, steps[0].Timeout)
		judge.spent.run(have, time.Since(began).Seconds())
		head, _, err := store.State().Head(t.Context(), session.Name())
		if err != nil {
			t.Fatal(err)
		}
		if files[inShell] == nil && !slices.ContainsFunc(slices.Collect(maps.Keys(files)), isNodeProgram) {
			surprises, err := unpredicted(t.Context(), store, session, o, head)
			if err != nil {
				t.Fatal(err)
			}
			if len(surprises) > 0 {
				t.Errorf("step %d: names read that were not predicted: %v", i, surprises)
			}
		}
		snapshot, err := session.History().At(t.Context(), head)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range snapshot.Blocks {
			if b.Status == query.StatusStale {
				t.Errorf("step %d: block %s is up to date, and called stale", i, b.ID)
			}
		}
		xstatetest.Blank(have, o.Workspace)
		judge.judge(t, i, have)
		if d := gocmp.Diff(s.Marks, marked(have)); s.Marks != nil && d != "" {
			t.Errorf("step %d: marks (-want +got):\n%s", i, d)
		}
		if i == 0 {
			continue
		}
		ran := s.Ran
		if s.Static != nil && (o.Observe == "static" || session.Python().Minor < 12) {
			ran = s.Static
		}
		if s.Restarted != nil && mode == "restarted" {
			ran = s.Restarted
		}
		if d := gocmp.Diff(ran, xstatetest.RanBlocks(have)); d != "" {
			t.Errorf("step %d: blocks that ran (-want +got):\n%s", i, d)
			for _, b := range have.Blocks {
				t.Logf("%s: %v %+v", b.ID, b.Status, b.Reason)
			}
		}
	}
}

// marked returns why blocks may come out otherwise in every run.
func marked(o *xstate.Outcome) map[string]string {
	marks := map[string]string{}
	for _, b := range o.Blocks {
		if len(b.AllMarks) > 0 {
			marks[string(b.ID)] = strings.Join(slices.Sorted(slices.Values(b.AllMarks)), " ")
		}
	}
	return marks
}
