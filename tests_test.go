package xstate_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/runner"
)

// testers are the interpreters to test with that have pytest.
func testers(t *testing.T) []string {
	var found []string
	for _, python := range pythons() {
		name := python
		if name == "" {
			name = "python3"
		}
		if exec.Command(name, "-c", "import pytest").Run() == nil {
			found = append(found, python)
		}
	}
	if len(found) == 0 {
		t.Skip("no interpreter to test with has pytest")
	}
	return found
}

// TestTests gives every package of testdata/tests to two judges after each of its steps: the results must equal those of running all
// tests in a folder and store of their own, and exactly the tests listed must have run.
func TestTests(t *testing.T) {
	files, err := filepath.Glob("testdata/tests/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no packages in testdata/tests: %v", err)
	}
	for _, python := range testers(t) {
		for _, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt")+"/"+filepath.Base(filepath.Dir(filepath.Dir(python))), func(t *testing.T) {
				o := xstate.SessionOptions{Python: python, Workspace: t.TempDir(), Seed: 1}
				store := openStore(t, filepath.Join(o.Workspace, xstate.StoreName))
				session := openSession(t, store, o)
				pristine := map[string][]byte{}
				for i, s := range readSteps(t, file) {
					writeFiles(t, o.Workspace, s.files)
					s.addTo(pristine)
					have := runTests(t, session, xstate.TestOptions{})
					if d := gocmp.Diff(slices.Sorted(slices.Values(append([]string{}, s.ran...))), ranTests(have), cmpopts.EquateEmpty()); d != "" {
						t.Errorf("step %d: tests that ran (-want +got):\n%s\n%v", i, d, reasonsOf(have))
					}
					if d := gocmp.Diff(outcomes(allTests(t, pristine, python)), outcomes(have)); d != "" {
						t.Errorf("step %d: outcomes (-all +selected):\n%s", i, d)
					}
				}
			})
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

// allTests runs all tests of a workspace made anew.
func allTests(t *testing.T, files map[string][]byte, python string) *xstate.TestReport {
	t.Helper()
	o := xstate.SessionOptions{Python: python, Workspace: t.TempDir(), Seed: 1}
	writeFiles(t, o.Workspace, files)
	return runTests(t, openSession(t, openStore(t, filepath.Join(o.Workspace, xstate.StoreName)), o), xstate.TestOptions{})
}

// ranTests are the tests that ran, but for those that always do, for what they are marked.
func ranTests(r *xstate.TestReport) []string {
	ran := []string{}
	for _, x := range r.Tests {
		if x.Status == runner.TestRan {
			ran = append(ran, x.ID)
		}
	}
	slices.Sort(ran)
	return ran
}

func reasonsOf(r *xstate.TestReport) map[string]string {
	why := map[string]string{}
	for _, x := range r.Tests {
		why[x.ID] = xstate.Sentence(x.Reason) + " " + string(x.Reason.Key) + " " + x.Reason.By
	}
	return why
}

var temporary = regexp.MustCompile(`/\S*/TestTests\w*/\d+`)

func outcomes(r *xstate.TestReport) map[string]string {
	found := map[string]string{}
	for _, x := range r.Tests {
		found[x.ID] = string(x.Kind) + " " + string(x.Outcome) + " " + temporary.ReplaceAllString(x.Message, "FOLDER")
	}
	return found
}
