package xstatetest

import (
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

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"golang.org/x/tools/txtar"
)

// SamplePrograms runs judge on a part of the sessions of testdata, about one in thirty. offset, from 0 to 29, chooses
// the part. An environment variable selects others: "all", or those whose names contain its text.
func SamplePrograms(
	t *testing.T,
	variable string,
	offset int,
	judge func(t *testing.T, python string, steps []ProgramStep),
) {
	files, err := filepath.Glob(Testdata("*", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs in testdata: %v", err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return filepath.Base(filepath.Dir(f)) == "languages" })
	chosen, python := os.Getenv(variable), Pythons()[0]
	minor := PythonMinor(t, python)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if chosen == "" && sampling.Of(name, 30) != offset ||
			chosen != "" && chosen != "all" && !strings.Contains(name, chosen) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := ReadSteps(t, file)
			if minor < steps[0].Since {
				t.Skipf("for 3.%d and later", steps[0].Since)
			}
			judge(t, python, steps)
		})
	}
}

// Pythons returns the interpreters to test with: those of XSTATE_TEST_PYTHONS, separated by colons, or else the usual
// one.
func Pythons() []string {
	if list := os.Getenv("XSTATE_TEST_PYTHONS"); list != "" {
		return filepath.SplitList(list)
	}
	return []string{""}
}

// Jobs returns how many interpreters a session may use at once, from XSTATE_TEST_JOBS.
func Jobs() int {
	n, _ := strconv.Atoi(os.Getenv("XSTATE_TEST_JOBS"))
	return n
}

// ProgramStep is one state of the workspace, with the blocks that must run to get there.
type ProgramStep struct {
	Files map[string][]byte // name → content; nil: deleted
	Ran   []string
	// Static, if set, replaces Ran for interpreters before 3.12, for which everything that code may read counts as
	// read.
	Static []string
	// Marks lists the blocks whose results may vary between runs, each with the reason: "block: clock entropy". They
	// apply to later steps until one of these has its own. If Marks is nil, no result may vary.
	Marks map[string]string
	// Called counts the calls of tools and models that must happen, by name, and Decided are the choices of a person
	// for calls that wait, in order, before the step. Both are only for sessions of testdata/calls.
	Called  map[string]int
	Decided []string
	// Timeout and Since belong to the first step and apply to all: the time limit of a node, and the oldest 3.x.
	Timeout time.Duration
	Since   int
	// Restarted, if set, replaces Ran if each step has a new interpreter: what cannot be stored runs again.
	Restarted []string
	// Prints is what the interpreter alone prints, where that is short. It applies to later steps until one of these
	// has its own. If Prints is nil, it is not kept.
	Prints *string
	// Judge, of the first step, says how the interpreter alone runs a program of testdata/languages.
	Judge string
}

// ReadSteps reads a session, or fails the test.
func ReadSteps(t *testing.T, file string) []ProgramStep {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := StepsOf(archive)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return steps
}

// StepsOf reads a session. The section step-N/FILE holds a file from step N on, and step-N/-FILE deletes it. The
// section step-N/FILE.patch holds a patch of the file that the earlier steps left. Sections without step-N/ belong to
// step 0.
func StepsOf(archive *txtar.Archive) ([]ProgramStep, error) {
	steps := []ProgramStep{{Files: map[string][]byte{}, Timeout: await.Long}}
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
			steps = append(steps, ProgramStep{Files: map[string][]byte{}})
		}
		dir, base := filepath.Split(name)
		switch {
		case name == "ran":
			steps[n].Ran = append(steps[n].Ran, strings.Fields(string(f.Data))...)
		case name == "ran-static":
			steps[n].Static = strings.Fields(string(f.Data))
		case name == "ran-restarted":
			steps[n].Restarted = strings.Fields(string(f.Data))
		case name == "marks":
			steps[n].Marks = map[string]string{}
			for line := range strings.Lines(string(f.Data)) {
				block, why, _ := strings.Cut(strings.TrimSpace(line), ": ")
				steps[n].Marks[block] = why
			}
		case name == "prints":
			text := string(f.Data)
			steps[n].Prints = &text
		case name == "called":
			steps[n].Called, err = counts(string(f.Data))
		case name == "decided":
			steps[n].Decided = strings.Fields(string(f.Data))
		case name == "timeout":
			steps[n].Timeout, err = time.ParseDuration(strings.TrimSpace(string(f.Data)))
		case name == "judge":
			steps[n].Judge = strings.TrimSpace(string(f.Data))
		case name == "since":
			_, err = fmt.Sscanf(string(f.Data), "3.%d", &steps[n].Since)
		case strings.HasPrefix(base, "-"):
			steps[n].Files[dir+base[1:]] = nil
		case n > 0 && strings.HasSuffix(name, ".patch"):
			name = strings.TrimSuffix(name, ".patch")
			steps[n].Files[name], err = patchedFile(files, name, string(f.Data))
		default:
			steps[n].Files[name] = f.Data
		}
		if err != nil {
			return nil, fmt.Errorf("section %q: %w", f.Name, err)
		}
		steps[n].AddTo(files)
	}
	for i := 1; i < len(steps); i++ {
		if steps[i].Marks == nil {
			steps[i].Marks = steps[i-1].Marks
		}
		if steps[i].Prints == nil {
			steps[i].Prints = steps[i-1].Prints
		}
	}
	return steps, nil
}

// counts reads lines of a name and a number.
func counts(text string) (map[string]int, error) {
	found := map[string]int{}
	for line := range strings.Lines(text) {
		var name string
		var n int
		if _, err := fmt.Sscanf(line, "%s %d", &name, &n); err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
		found[name] = n
	}
	return found, nil
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

// AddTo applies the step's changes to the files of a workspace.
func (s ProgramStep) AddTo(files map[string][]byte) {
	for name, data := range s.Files {
		if data == nil {
			delete(files, name)
		} else {
			files[name] = data
		}
	}
}

// PythonMinor returns the minor version of an interpreter.
func PythonMinor(t *testing.T, python string) int {
	t.Helper()
	out, err := exec.Command(cmp.Or(python, "python3"), "-c", "import sys; print(sys.version_info[1])").Output()
	if err != nil {
		t.Fatal(err)
	}
	var minor int
	fmt.Sscan(string(out), &minor)
	return minor
}

// OpenStore opens a store, and checks and closes it at the end of the test.
func OpenStore(t *testing.T, dir string) *xstate.Store {
	t.Helper()
	store, err := xstate.Open(t.Context(), dir, xstate.Options{Templates: true})
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

// OpenSession opens the session "prog" and closes it at the end of the test.
func OpenSession(t *testing.T, store *xstate.Store, o xstate.SessionOptions) *xstate.Session {
	t.Helper()
	session, err := store.Session(t.Context(), "prog", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// WriteFiles writes files to dir with an old time of change, and removes those whose content is nil.
func WriteFiles(t *testing.T, dir string, files map[string][]byte) {
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

// RunFile loads and runs the program file in dir, and compares its plans with walks.
func RunFile(
	t *testing.T,
	ctx context.Context,
	session *xstate.Session,
	dir string,
	files map[string][]byte,
	timeout time.Duration,
) *xstate.Outcome {
	t.Helper()
	return runWith(t, ctx, session, dir, files, runner.RunOptions{Timeout: timeout, Jobs: Jobs()})
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

// A program is started with the contents of these files: arguments, one a line, and a standard input.
const (
	ArgumentsFile = "given/arguments"
	StdinFile     = "given/stdin"
)

// Invocation returns what these files start a program with.
func Invocation(dir string, files map[string][]byte) *runner.Invocation {
	in := &runner.Invocation{Arguments: strings.Split(strings.TrimSpace(string(files[ArgumentsFile])), "\n")}
	if files[ArgumentsFile] == nil {
		in.Arguments = nil
	}
	if files[StdinFile] != nil {
		in.StdinFile = filepath.Join(dir, StdinFile)
	}
	return in
}

// FromScratch runs the program in a new store and a new folder with these files.
func FromScratch(
	t *testing.T,
	ctx context.Context,
	files map[string][]byte,
	o xstate.SessionOptions,
	timeout time.Duration,
) *xstate.Outcome {
	t.Helper()
	dir := t.TempDir()
	WriteFiles(t, dir, files)
	o.Workspace, o.Invocation = dir, Invocation(dir, files)
	session := OpenSession(t, OpenStore(t, filepath.Join(dir, xstate.StoreName)), o)
	return Blank(runWith(t, ctx, session, dir, files, runner.RunOptions{Timeout: timeout}), dir)
}

// Blank replaces the folder's name in the outputs and errors of an outcome.
func Blank(o *xstate.Outcome, dir string) *xstate.Outcome {
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

// RanBlocks returns the ids of the blocks of which a node was executed.
func RanBlocks(o *xstate.Outcome) []string {
	var ids []string
	for _, b := range o.Blocks {
		for _, n := range b.Nodes {
			if n.Status == state.StatusRan || n.Status == state.StatusFailed && n.Seconds > 0 {
				if n.Part != "" {
					ids = append(ids, n.Part)
				} else if len(ids) == 0 || ids[len(ids)-1] != string(b.ID) {
					ids = append(ids, string(b.ID))
				}
			}
		}
	}
	return ids
}

// judgePlan plans the program, and compares the plan with a walk.
func judgePlan(t *testing.T, ctx context.Context, session *xstate.Session) {
	t.Helper()
	if _, err := session.Plan(ctx, nil); err != nil {
		t.Error(err)
	}
}

// init makes tests compare every plan of the planner with a walk of the program.
func init() { os.Setenv("XSTATE_VERIFY", "plan") }

// Testdata returns the path of something in the module's folder testdata.
func Testdata(elem ...string) string {
	folder := "."
	for range 8 {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			break
		}
		folder = filepath.Join("..", folder)
	}
	return filepath.Join(append([]string{folder, "testdata"}, elem...)...)
}
