package acceptance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
	"github.com/xstate-engine/xstate/runner/suite"
	"github.com/xstate-engine/xstate/state/query"
)

// testers are the interpreters to test with that have pytest.
func testers(t *testing.T) []string {
	var found []string
	for _, python := range xstatetest.Pythons() {
		name := python
		if name == "" {
			name = "python3"
		}
		if exec.Command(name, "-c", "import pytest").Run() == nil {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		t.Skip("no interpreter to test with has pytest")
	}
	return found
}

// TestTests gives every package of testdata/tests to two judges after each of its steps: the results must equal those
// of running all tests in a folder and store of their own (or be confirmed before, see oracle), and exactly the tests
// listed must have run. The package's name chooses the interpreter.
func TestTests(t *testing.T) {
	files, err := filepath.Glob("../../testdata/tests/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no packages in testdata/tests: %v", err)
	}
	if testing.Short() {
		files = slices.DeleteFunc(files, func(f string) bool { return !strings.HasPrefix(filepath.Base(f), "fi") })
	}
	pythons := testers(t)
	reportSessions(t)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, python := range choosePython(t, pythons) {
				t.Run(filepath.Base(filepath.Dir(filepath.Dir(python))), func(t *testing.T) {
					testPackage(t, sessionOf(file), xstatetest.ReadSteps(t, file), python)
				})
			}
		})
	}
}

// choosePython returns the interpreter that the test's name chooses; with XSTATE_TEST_ALL=1 it returns all.
func choosePython(t *testing.T, pythons []string) []string {
	t.Helper()
	if sampling.All() || len(pythons) == 0 {
		return pythons
	}
	n := sampling.Of("interpreter of "+t.Name(), len(pythons))
	return pythons[n : n+1]
}

func testPackage(t *testing.T, name string, steps []xstatetest.ProgramStep, python string) {
	o := xstate.SessionOptions{Python: python, Workspace: t.TempDir(), Seed: 1}
	store := xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName))
	session := xstatetest.OpenSession(t, store, o)
	pristine := map[string][]byte{}
	for i, s := range steps {
		xstatetest.WriteFiles(t, o.Workspace, s.Files)
		s.AddTo(pristine)
		have := runTests(t, session, xstate.TestOptions{})
		want := slices.Sorted(slices.Values(append([]string{}, s.Ran...)))
		if d := gocmp.Diff(want, ranTests(have), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("step %d: tests that ran (-want +got):\n%s\n%v", i, d, reasonsOf(have))
		}
		found := outcomes(have)
		claim := xstatetest.ClaimText(pristine, fmt.Sprintf("%q", found))
		if !sampling.All() && !*update && confirmed().Has(name, claim) {
			judgements.confirmed.Add(1)
			continue
		}
		judgements.live.Add(1)
		judgements.scratch.Add(1)
		if d := gocmp.Diff(outcomes(allTests(t, pristine, python)), found); d != "" {
			t.Errorf("step %d: outcomes (-all +selected):\n%s", i, d)
		} else {
			confirmed().Add(name, claim)
		}
	}
}

func runTests(t *testing.T, s *xstate.Session, o xstate.TestOptions) *xstate.TestReport {
	t.Helper()
	found, err := s.Test(t.Context(), o, xstate.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// allTests runs all tests of a fresh copy of a workspace.
func allTests(t *testing.T, files map[string][]byte, python string) *xstate.TestReport {
	t.Helper()
	o := xstate.SessionOptions{Python: python, Workspace: t.TempDir(), Seed: 1}
	xstatetest.WriteFiles(t, o.Workspace, files)
	return runTests(
		t,
		xstatetest.OpenSession(t, xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName)), o),
		xstate.TestOptions{},
	)
}

// ranTests are the tests that ran, but for those that always do, for what they are marked.
func ranTests(r *xstate.TestReport) []string {
	ran := []string{}
	for _, x := range r.Tests {
		if x.Status == suite.TestRan {
			ran = append(ran, x.ID)
		}
	}
	slices.Sort(ran)
	return ran
}

func reasonsOf(r *xstate.TestReport) map[string]string {
	why := map[string]string{}
	for _, x := range r.Tests {
		why[x.ID] = query.Sentence(x.Reason) + " " + string(x.Reason.Key) + " " + x.Reason.By
	}
	return why
}

var temporary = regexp.MustCompile(`/\S*/TestTests[^/\s]*/\d+`)

func outcomes(r *xstate.TestReport) map[string]string {
	found := map[string]string{}
	for _, x := range r.Tests {
		found[x.ID] = string(x.Kind) + " " + string(x.Outcome) + " " + temporary.ReplaceAllString(x.Message, "FOLDER")
	}
	return found
}

// TestTestsThatDie: a test that takes its interpreter along, and one that does not end, lose nobody else's results.
func TestTestsThatDie(t *testing.T) {
	for _, python := range xstatetest.Pythons() {
		limit := 3 * time.Second
		for limit < await.Long && !testsDie(t, python, limit) {
			limit *= 5 // the machine is so slow that tests which end were stopped, too
		}
	}
}

// testsDie judges one interpreter. It reports false if the time for a test is too short for this machine.
func testsDie(t *testing.T, python string, limit time.Duration) bool {
	t.Helper()
	o := xstate.SessionOptions{Python: python, Workspace: t.TempDir(), Seed: 1}
	session := xstatetest.OpenSession(t, xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName)), o)
	xstatetest.WriteFiles(t, o.Workspace, map[string][]byte{"test_a.py": []byte(`import os, time
def test_1(): pass
def test_2(): os._exit(1)
def test_3(): pass
def test_4(): time.sleep(600)
def test_5(): os.abort()
def test_6(): pass
`)})
	want := map[string]string{
		"test_1": "passed",
		"test_2": "crashed",
		"test_3": "passed",
		"test_4": "time-out",
		"test_5": "crashed",
		"test_6": "passed",
	}
	for _, ran := range []int{6, 3} { // what died runs again
		found := runTests(t, session, xstate.TestOptions{Timeout: limit})
		got, late := map[string]string{}, 0
		for _, x := range found.Tests {
			got[strings.TrimPrefix(x.ID, "test_a.py::")] = string(x.Outcome)
			if x.Outcome == "time-out" {
				late++
			}
		}
		if late > 1 && 5*limit < await.Long {
			return false
		}
		if d := gocmp.Diff(want, got); d != "" || found.Ran != ran {
			t.Errorf("%s: ran %d, want %d; outcomes (-want +got):\n%s", python, found.Ran, ran, d)
		}
	}
	return true
}

// TestTestsByEnvironment: a variable that a test reads, and arguments of pytest.
func TestTestsByEnvironment(t *testing.T) {
	python := testers(t)[0]
	o := xstate.SessionOptions{Python: python, Workspace: t.TempDir(), Seed: 1}
	store := xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName))
	xstatetest.WriteFiles(
		t,
		o.Workspace,
		map[string][]byte{
			"test_a.py": []byte(
				"import os\ndef test_read(): assert os.environ.get('READ') is None\ndef test_not(): pass\n",
			),
		},
	)
	for _, c := range []struct {
		environ []string
		args    []string
		ran     []string
	}{
		{nil, nil, []string{"test_a.py::test_not", "test_a.py::test_read"}},
		{[]string{"READ=1", "OTHER=1"}, nil, []string{"test_a.py::test_read"}},
		{[]string{"OTHER=2"}, nil, []string{}},
		{nil, []string{"-p", "no:warnings"}, []string{"test_a.py::test_not", "test_a.py::test_read"}},
		{nil, nil, []string{}},
	} {
		o.Environ = append(os.Environ(), c.environ...)
		session := xstatetest.OpenSession(t, store, o)
		if d := gocmp.Diff(c.ran, ranTests(runTests(t, session, xstate.TestOptions{Args: c.args}))); d != "" {
			t.Errorf("%v %v: tests that ran (-want +got):\n%s", c.environ, c.args, d)
		}
	}
}

// TestFlakyTests: a success does not count any more when the same test fails on the same code.
func TestFlakyTests(t *testing.T) {
	o := xstate.SessionOptions{Python: xstatetest.Pythons()[0], Workspace: t.TempDir(), Seed: 1}
	session := xstatetest.OpenSession(t, xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName)), o)
	mark := filepath.Join(t.TempDir(), "fail")
	// the mark is looked for in a way that raises no event
	xstatetest.WriteFiles(t, o.Workspace, map[string][]byte{"test_a.py": []byte(`import posix
def test_a():
    try:
        posix.stat(` + strconv.Quote(mark) + `)
    except OSError:
        return
    assert 0
`)})
	for i, c := range []struct {
		all, fail bool
		ran       int
		failed    int
	}{{ran: 1}, {}, {fail: true}, {fail: true, all: true, ran: 1, failed: 1}, {fail: true, ran: 1, failed: 1}, {ran: 1},
		{}} {
		if err := os.RemoveAll(mark); err != nil {
			t.Fatal(err)
		}
		if c.fail {
			xstatetest.WriteFiles(t, filepath.Dir(mark), map[string][]byte{"fail": []byte("x")})
		}
		found := runTests(t, session, xstate.TestOptions{All: c.all})
		if found.Ran != c.ran || found.Failed != c.failed {
			t.Errorf("run %d: ran %d, failed %d, want %d, %d", i, found.Ran, found.Failed, c.ran, c.failed)
		}
	}
}
