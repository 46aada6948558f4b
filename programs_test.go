package xstate_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/turns"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
)

// TestPrograms gives every session of testdata/programs and testdata/hazards to two judges after each of its steps.
// The incremental run must equal a run from scratch in a fresh folder, store and interpreter, and exactly the blocks
// listed must have run. The interpreter alone judges what the runs print.
//
// Kept: one interpreter lives through all steps. Restarted: each step has an interpreter of its own. The first
// interpreter to test with runs the sessions whose turn it is in one mode, and each further one every fourth of these.
// See oracle for the runs from scratch that are shared. With XSTATE_TEST_ALL=1 nothing is shared, and every interpreter
// runs every session in both modes.
func TestPrograms(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs in testdata: %v", err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { // TestCalls and TestLanguages have their own ways to judge
		return slices.Contains([]string{"calls", "languages"}, filepath.Base(filepath.Dir(f)))
	})
	if testing.Short() {
		files = slices.DeleteFunc(files, func(f string) bool {
			return !strings.HasPrefix(filepath.Base(f), "a") && !strings.HasPrefix(filepath.Base(f), "fi")
		})
	}
	t.Cleanup(func() {
		t.Logf("%d steps were run from scratch; %d comparisons used the run of another step or interpreter",
			ownRuns.Load(), sharedRuns.Load())
	})
	ways := observers(t)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if !turns.Come(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := xstatetest.ReadSteps(t, file)
			var before *oracle // of the interpreter before
			for _, way := range ways {
				t.Run(way.name, func(t *testing.T) {
					if way.minor < steps[0].Since {
						t.Skipf("since Python 3.%d", steps[0].Since)
					}
					modes := modesOf(name, before != nil, len(ways))
					if len(modes) == 0 {
						t.Skip("another interpreter runs every fourth session; XSTATE_TEST_ALL=1 runs all")
					}
					options := xstate.SessionOptions{
						Python: way.python, Seed: 7, Observe: way.observe, Policy: bounded(),
					}
					judge := newOracle(steps, options)
					if before != nil {
						before.lend(judge)
					}
					var found []*xstate.Outcome
					for _, mode := range modes {
						t.Run(mode, func(t *testing.T) { found = runProgram(t, steps, judge, mode) })
					}
					if len(found) == len(steps) {
						judgePlain(t, name, way.python, steps, found, before == nil || turns.Everything())
					}
					before = judge
				})
			}
		})
	}
}

// modesOf returns the modes in which an interpreter runs a session. further: it is not the first one.
func modesOf(name string, further bool, interpreters int) []string {
	n := turns.Number(name) + turns.Round()
	switch {
	case turns.Everything() || interpreters == 1:
		return bothModes
	case further && n/2%4 != 0:
		return nil
	case further:
		n++
	}
	return bothModes[n%2 : n%2+1]
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

// bothModes are the modes of runProgram. The first step of a restarted session is a run from scratch (oracle.learn).
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
			steps := xstatetest.ReadSteps(t, filepath.Join("testdata/hazards", name+".txtar"))
			for _, s := range steps {
				for file, text := range s.Files {
					s.Files[file] = bytes.ReplaceAll(text, []byte(sizes[0]), []byte(sizes[1]))
				}
			}
			judge := newOracle(steps, options)
			for _, mode := range bothModes {
				t.Run(mode, func(t *testing.T) { runProgram(t, steps, judge, mode) })
			}
		})
	}
}

// runProgram runs a session step by step, and returns what it found. In the mode "restarted" each step has an
// interpreter of its own.
func runProgram(t *testing.T, steps []xstatetest.ProgramStep, judge *oracle, mode string) (found []*xstate.Outcome) {
	o := judge.options
	o.Workspace = t.TempDir()
	files := map[string][]byte{}
	store := xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName))
	session := xstatetest.OpenSession(t, store, o)
	for i, s := range steps {
		xstatetest.WriteFiles(t, o.Workspace, s.Files)
		s.AddTo(files)
		_, arguments := s.Files[xstatetest.ArgumentsFile]
		_, stdin := s.Files[xstatetest.StdinFile]
		if mode == "restarted" && i > 0 || arguments || stdin {
			session.Close()
			o.Invocation = xstatetest.Invocation(o.Workspace, files)
			session = xstatetest.OpenSession(t, store, o)
		}
		have := xstatetest.RunFile(t, t.Context(), session, o.Workspace, files, steps[0].Timeout)
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
		found = append(found, xstatetest.Blank(have, o.Workspace))
		if i == 0 && mode == "restarted" {
			judge.learn(have)
		}
		for _, d := range judge.compare(t, t.Context(), i, have) {
			if s.Marks == nil || d.Marks == nil { // otherwise it may differ, and the user is told
				t.Errorf("step %d: %s (marks: %v)", i, d, d.Marks)
			}
		}
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
	return found
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
