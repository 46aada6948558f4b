package xstate_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

// TestPrograms gives every session of testdata/programs and testdata/hazards to two judges after each of its steps.
// The incremental run must equal a run from scratch in a fresh folder, store and interpreter, and exactly the blocks
// listed must have run. The interpreter alone judges what the runs print.
//
// Kept: one interpreter lives through all steps. Restarted: each step has an interpreter of its own. The first
// interpreter to test with runs every session in both modes; another one runs every second session restarted and the
// others kept. See oracle for the runs from scratch that are shared. With XSTATE_TEST_ALL=1 nothing is shared, and
// every interpreter runs every session in both modes.
func TestPrograms(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs in testdata: %v", err)
	}
	if testing.Short() {
		files = slices.DeleteFunc(files, func(f string) bool {
			return !strings.HasPrefix(filepath.Base(f), "a") && !strings.HasPrefix(filepath.Base(f), "f")
		})
	}
	t.Cleanup(func() {
		t.Logf("%d steps were run from scratch; %d comparisons used the run of another step or interpreter",
			ownRuns.Load(), sharedRuns.Load())
	})
	ways := observers(t)
	for i, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := readSteps(t, file)
			var before *oracle // of the interpreter before
			for _, way := range ways {
				t.Run(way.name, func(t *testing.T) {
					if way.minor < steps[0].since {
						t.Skipf("since Python 3.%d", steps[0].since)
					}
					options := xstate.SessionOptions{Python: way.python, Seed: 7, Observe: way.observe}
					judge := newOracle(steps, options)
					if before != nil {
						before.lend(judge)
					}
					modes := bothModes
					if before != nil && !everything() {
						modes = bothModes[i%2 : i%2+1]
					}
					var found []*xstate.Outcome
					for _, mode := range modes {
						t.Run(mode, func(t *testing.T) { found = runProgram(t, steps, judge, mode) })
					}
					if len(found) == len(steps) {
						judgePlain(t, name, way.python, steps, found, before == nil || everything())
					}
					before = judge
				})
			}
		})
	}
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
	for _, python := range pythons() {
		way := observer{
			filepath.Base(filepath.Dir(filepath.Dir(python))),
			python,
			pythonMinor(t, python),
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
	options := xstate.SessionOptions{Python: pythons()[0], Seed: 7}
	for name, sizes := range map[string][2]string{
		"np-large-array":   {"6_250_000", "62_500_000"},
		"long-nested-list": {"200_000", "1_000_000"},
	} {
		t.Run(name, func(t *testing.T) {
			steps := readSteps(t, filepath.Join("testdata/hazards", name+".txtar"))
			for _, s := range steps {
				for file, text := range s.files {
					s.files[file] = bytes.ReplaceAll(text, []byte(sizes[0]), []byte(sizes[1]))
				}
			}
			judge := newOracle(steps, options)
			for _, mode := range bothModes {
				t.Run(mode, func(t *testing.T) { runProgram(t, steps, judge, mode) })
			}
		})
	}
}

// sample judges every thirtieth session of testdata, or those that a variable of the environment chooses: "all", or
// those that have its text in their names.
func sample(t *testing.T, variable string, offset int, judge func(t *testing.T, python string, steps []step)) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs in testdata: %v", err)
	}
	chosen, python := os.Getenv(variable), pythons()[0]
	minor := pythonMinor(t, python)
	for i, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if chosen == "" && i%30 != offset || chosen != "" && chosen != "all" && !strings.Contains(name, chosen) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := readSteps(t, file)
			if minor < steps[0].since {
				t.Skipf("for 3.%d and later", steps[0].since)
			}
			judge(t, python, steps)
		})
	}
}

// pythons returns the interpreters to test with: those of XSTATE_TEST_PYTHONS, separated by colons, else the usual one.
func pythons() []string {
	if list := os.Getenv("XSTATE_TEST_PYTHONS"); list != "" {
		return filepath.SplitList(list)
	}
	return []string{""}
}

// jobs is how many interpreters sessions may use at once: XSTATE_TEST_JOBS.
func jobs() int {
	n, _ := strconv.Atoi(os.Getenv("XSTATE_TEST_JOBS"))
	return n
}

// step is one state of the workspace and the blocks that must run to get there.
type step struct {
	files map[string][]byte // name → content; nil: deleted
	ran   []string
	// static, when there is one, holds for interpreters before 3.12, where what code may read counts as read.
	static []string
	// marks names the blocks that may come out otherwise in every run, each with why: "block: clock entropy". Those of
	// a step hold until a later one says otherwise; nil: none is told, and nothing may differ.
	marks map[string]string
	// timeout and since, of the first step, hold for all: the longest a node may run, and the oldest 3.x it is for.
	timeout time.Duration
	since   int
}

// readSteps reads a session, or fails the test.
func readSteps(t *testing.T, file string) []step {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := stepsOf(archive)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return steps
}

// stepsOf reads a session. The section step-N/FILE holds a file as it is from step N on, step-N/-FILE deletes it, and
// step-N/FILE.patch holds a patch of the file as the steps before left it. Sections without step-N/ are step 0.
func stepsOf(archive *txtar.Archive) ([]step, error) {
	steps := []step{{files: map[string][]byte{}, timeout: time.Minute}}
	files := map[string][]byte{} // as the sections read so far leave them
	for _, f := range archive.Files {
		name := f.Name
		n := 0
		if rest, ok := strings.CutPrefix(name, "step-"); ok {
			number, inner, _ := strings.Cut(rest, "/")
			if _, err := fmt.Sscan(number, &n); err != nil {
				return nil, fmt.Errorf("section %q: %v", f.Name, err)
			}
			name = inner
		}
		if n < len(steps)-1 {
			return nil, fmt.Errorf("section %q stands after those of step %d", f.Name, len(steps)-1)
		}
		var err error
		for len(steps) <= n {
			steps = append(steps, step{files: map[string][]byte{}})
		}
		dir, base := filepath.Split(name)
		switch {
		case name == "ran":
			steps[n].ran = append(steps[n].ran, strings.Fields(string(f.Data))...)
		case name == "ran-static":
			steps[n].static = strings.Fields(string(f.Data))
		case name == "marks":
			steps[n].marks = map[string]string{}
			for line := range strings.Lines(string(f.Data)) {
				block, why, _ := strings.Cut(strings.TrimSpace(line), ": ")
				steps[n].marks[block] = why
			}
		case name == "timeout":
			steps[n].timeout, err = time.ParseDuration(strings.TrimSpace(string(f.Data)))
		case name == "since":
			_, err = fmt.Sscanf(string(f.Data), "3.%d", &steps[n].since)
		case strings.HasPrefix(base, "-"):
			steps[n].files[dir+base[1:]] = nil
		case n > 0 && strings.HasSuffix(name, ".patch"):
			name = strings.TrimSuffix(name, ".patch")
			steps[n].files[name], err = patchedFile(files, name, string(f.Data))
		default:
			steps[n].files[name] = f.Data
		}
		if err != nil {
			return nil, fmt.Errorf("section %q: %w", f.Name, err)
		}
		steps[n].addTo(files)
	}
	for i := 1; i < len(steps); i++ {
		if steps[i].marks == nil {
			steps[i].marks = steps[i-1].marks
		}
	}
	return steps, nil
}

// patchedFile returns a file after a patch in the format udiff: hunks without line numbers, each of lines that the
// file holds exactly so, and once.
func patchedFile(files map[string][]byte, name, text string) ([]byte, error) {
	before, ok := files[name]
	if !ok {
		return nil, fmt.Errorf("no step before has %s", name)
	}
	p, err := patch.Read(text, patch.FormatUdiff)
	if err != nil {
		return nil, err
	}
	for i := range p.Sections {
		p.Sections[i].Name = name
	}
	after, err := p.Apply(map[string]string{name: string(before)})
	if err != nil {
		return nil, err
	}
	if how := after.Loosest(); how != patch.Exact {
		return nil, fmt.Errorf("the patch fits %s only when compared by %s", name, how)
	}
	return []byte(after.Texts[name]), nil
}

// addTo makes the workspace what it is after the step.
func (s step) addTo(files map[string][]byte) {
	for name, data := range s.files {
		if data == nil {
			delete(files, name)
		} else {
			files[name] = data
		}
	}
}

// runProgram runs a session step by step, and returns what it found. In the mode "restarted" each step has an
// interpreter of its own.
func runProgram(t *testing.T, steps []step, judge *oracle, mode string) (found []*xstate.Outcome) {
	o := judge.options
	o.Workspace = t.TempDir()
	files := map[string][]byte{}
	store := openStore(t, filepath.Join(o.Workspace, xstate.StoreName))
	session := openSession(t, store, o)
	for i, s := range steps {
		writeFiles(t, o.Workspace, s.files)
		s.addTo(files)
		if mode == "restarted" && i > 0 {
			session.Close()
			session = openSession(t, store, o)
		}
		have := runFile(t, t.Context(), session, o.Workspace, files, steps[0].timeout)
		head, _, err := store.State().Head(t.Context(), session.Name())
		if err != nil {
			t.Fatal(err)
		}
		surprises, err := unpredicted(t.Context(), store, session, o, head)
		if err != nil {
			t.Fatal(err)
		}
		if len(surprises) > 0 {
			t.Errorf("step %d: names read that were not predicted: %v", i, surprises)
		}
		found = append(found, blank(have, o.Workspace))
		if i == 0 && mode == "restarted" {
			judge.learn(have)
		}
		for _, d := range judge.compare(t, t.Context(), i, have) {
			if s.marks == nil || d.Marks == nil { // otherwise it may differ, and the user is told
				t.Errorf("step %d: %s (marks: %v)", i, d, d.Marks)
			}
		}
		if d := gocmp.Diff(s.marks, marked(have)); s.marks != nil && d != "" {
			t.Errorf("step %d: marks (-want +got):\n%s", i, d)
		}
		if i == 0 {
			continue
		}
		ran := s.ran
		if s.static != nil && (o.Observe == "static" || session.Python().Minor < 12) {
			ran = s.static
		}
		if d := gocmp.Diff(ran, ranBlocks(have)); d != "" {
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

// pythonMinor asks an interpreter for its version.
func pythonMinor(t *testing.T, python string) int {
	t.Helper()
	out, err := exec.Command(cmp.Or(python, "python3"), "-c", "import sys; print(sys.version_info[1])").Output()
	if err != nil {
		t.Fatal(err)
	}
	var minor int
	fmt.Sscan(string(out), &minor)
	return minor
}

func openStore(t *testing.T, dir string) *xstate.Store {
	t.Helper()
	store, err := xstate.Open(t.Context(), dir, xstate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		problems, err := store.State().Check(context.Background())
		if err != nil {
			t.Errorf("Check: %v", err)
		}
		for _, p := range problems {
			t.Errorf("Check: %v", p)
		}
		store.Close()
	})
	return store
}

func openSession(t *testing.T, store *xstate.Store, o xstate.SessionOptions) *xstate.Session {
	t.Helper()
	session, err := store.Session(t.Context(), "prog", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func writeFiles(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		path := filepath.Join(dir, name)
		if data == nil {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Hour) // so that digests by size and time are trusted, as they would be later
		if err := os.Chtimes(path, old, old.Add(time.Duration(len(data))*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
}

func runFile(
	t *testing.T,
	ctx context.Context,
	session *xstate.Session,
	dir string,
	files map[string][]byte,
	timeout time.Duration,
) *xstate.Outcome {
	t.Helper()
	return runWith(t, ctx, session, dir, files, runner.RunOptions{Timeout: timeout, Jobs: jobs()})
}

func runWith(
	t *testing.T,
	ctx context.Context,
	session *xstate.Session,
	dir string,
	files map[string][]byte,
	o runner.RunOptions,
) *xstate.Outcome {
	t.Helper()
	name := ""
	for n := range files {
		if strings.HasPrefix(n, "prog.") {
			name = n
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	program, err := patch.Parse(name, data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Load(ctx, program.Blocks, xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	judgePlan(t, ctx, session)
	outcome, _, err := session.Run(ctx, o, xstate.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	judgePlan(t, ctx, session)
	return outcome
}

func fromScratch(
	t *testing.T,
	ctx context.Context,
	files map[string][]byte,
	o xstate.SessionOptions,
	timeout time.Duration,
) *xstate.Outcome {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, files)
	o.Workspace = dir
	session := openSession(t, openStore(t, filepath.Join(dir, xstate.StoreName)), o)
	return blank(runWith(t, ctx, session, dir, files, runner.RunOptions{Timeout: timeout}), dir)
}

// blank takes the folder's name out of what was printed.
func blank(o *xstate.Outcome, dir string) *xstate.Outcome {
	for i := range o.Blocks {
		b := &o.Blocks[i]
		for j := range b.Outputs {
			b.Outputs[j].Text = strings.ReplaceAll(b.Outputs[j].Text, dir, "DIR")
			for k, v := range b.Outputs[j].Data {
				b.Outputs[j].Data[k] = strings.ReplaceAll(v, dir, "DIR")
			}
		}
		if b.Err != nil {
			e := *b.Err
			e.Traceback = slices.Clone(e.Traceback)
			for j := range e.Traceback {
				e.Traceback[j] = strings.ReplaceAll(e.Traceback[j], dir, "DIR")
			}
			b.Err = &e
		}
	}
	return o
}

// ranBlocks returns the ids of the blocks of which a node was executed.
func ranBlocks(o *xstate.Outcome) []string {
	var ids []string
	for _, b := range o.Blocks {
		for _, n := range b.Nodes {
			if n.Status == state.StatusRan || n.Status == state.StatusFailed && n.Seconds > 0 {
				ids = append(ids, string(b.ID))
				break
			}
		}
	}
	return ids
}
