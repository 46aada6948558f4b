package acceptance

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/artifact"
	"github.com/xstate-engine/xstate/state/query"
)

// TestLines gives the lines that each test executed to two judges: what was observed must be what the trace module of
// the standard library finds, in modules of that library and in statements that are told in odd ways.
func TestLines(t *testing.T) {
	for _, python := range testers(t) {
		if python == "" {
			python = "python3"
		}
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(python))), func(t *testing.T) {
			t.Parallel()
			o := xstate.SessionOptions{Python: python, Workspace: t.TempDir(), Seed: 1}
			out, err := exec.Command(python, "-c", "import configparser, difflib, textwrap\n"+
				"for m in configparser, difflib, textwrap: print(m.__file__)").
				Output()
			if err != nil {
				t.Fatal(err)
			}
			files := []string{"odd.py"}
			for path := range strings.FieldsSeq(string(out)) {
				files = append(files, strings.TrimSuffix(filepath.Base(path), ".py")+"_copy.py")
				copyFile(t, path, filepath.Join(o.Workspace, files[len(files)-1]))
			}
			for _, name := range []string{"odd.py", "test_lines.py"} {
				copyFile(t, xstatetest.Testdata("lines", name), filepath.Join(o.Workspace, name))
			}
			session := xstatetest.OpenSession(
				t,
				xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName)),
				o,
			)
			found := runTests(t, session, xstate.TestOptions{Lines: true})
			if len(found.Tests) < 15 || found.Failed > 0 {
				t.Fatalf("%d tests, %d failed: %v", len(found.Tests), found.Failed, outcomes(found))
			}
			want := judgeLines(t, python, o.Workspace, files)
			for _, x := range found.Tests {
				want.compare(t, &x.Check)
			}
		})
	}
}

// TestLinesOfBlocks: the same of tests in blocks, and of functions in blocks.
func TestLinesOfBlocks(t *testing.T) {
	for _, python := range xstatetest.Pythons() {
		if python == "" {
			python = "python3"
		}
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(python))), func(t *testing.T) {
			t.Parallel()
			if xstatetest.PythonMinor(t, python) < 12 {
				t.Skip("lines are told since Python 3.12")
			}
			o := xstate.SessionOptions{Python: python, Workspace: t.TempDir(), Seed: 1}
			odd, err := os.ReadFile("../../testdata/lines/odd.py")
			if err != nil {
				t.Fatal(err)
			}
			tests, err := os.ReadFile("../../testdata/lines/test_lines.py")
			if err != nil {
				t.Fatal(err)
			}
			_, own, _ := strings.Cut(string(tests), "import odd\n")
			_, own, _ = strings.Cut(own, "\n")
			own, _, _ = strings.Cut(own, "def test_wrap")
			judged := t.TempDir()
			xstatetest.WriteFiles(
				t,
				judged,
				map[string][]byte{"odd.py": odd, "test_lines.py": []byte("import odd\n" + own)},
			)
			want := judgeLines(t, python, judged, []string{"odd.py"})

			session := xstatetest.OpenSession(
				t,
				xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName)),
				o,
			)
			text := "# %% odd\n" + string(odd) + "\n# %% tests\n" + strings.ReplaceAll(own, "odd.", "")
			runText(t, t.Context(), session, text, nil)
			for _, again := range []bool{false, true} {
				found := runTests(t, session, xstate.TestOptions{Lines: true})
				if len(found.Tests) != len(want.Calls) || found.Failed > 0 || again != (found.Ran == 0) {
					t.Fatalf(
						"%d tests, %d ran, %d failed: %v",
						len(found.Tests),
						found.Ran,
						found.Failed,
						outcomes(found),
					)
				}
				for _, x := range found.Tests {
					_, test, _ := strings.Cut(x.ID, "::")
					got := []int{}
					for _, e := range x.Exercised {
						for n := range state.InRanges(e.Lines) {
							if line := e.From + n; e.Block == "odd" && (n > 0 || e.From == e.To) &&
								slices.Contains(want.Starts["odd.py"], line) &&
								!slices.Contains(got, line) {
								got = append(got, line)
							}
						}
					}
					slices.Sort(got)
					lines := slices.DeleteFunc(
						slices.Clone(want.Calls[test]["odd.py"]),
						func(line int) bool { // of a class that is read all counts but its methods
							return !slices.Contains(got, line) &&
								slices.ContainsFunc(
									x.Exercised,
									func(e query.Exercised) bool {
										return e.Lines == "" && e.From <= line && line <= e.To
									},
								)
						},
					)
					if d := gocmp.Diff(lines, got); d != "" {
						t.Errorf("%s: statements that were executed (-trace +observed):\n%s\n%+v", test, d, x.Exercised)
					}
				}
			}
			runText(
				t,
				t.Context(),
				session,
				strings.Replace(text, "# a comment", "# another", 1),
				nil,
			) // the same code in another version
			if found := runTests(t, session, xstate.TestOptions{Lines: true}); found.Ran != len(want.Calls) {
				t.Errorf("lines of another version were taken: %d tests ran", found.Ran)
			}
		})
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// judgedLines are the first lines of statements, by file.
type judgedLines struct {
	Level  map[string][]int            // that were executed when the tests were imported, outside of functions
	Calls  map[string]map[string][]int // by test: that were executed when it was called, in functions
	Starts map[string][]int            // that there are
}

func judgeLines(t *testing.T, python, workspace string, files []string) (want judgedLines) {
	t.Helper()
	script, err := filepath.Abs("../../testdata/lines/judge.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, append([]string{script, "test_lines.py"}, files...)...)
	cmd.Dir = workspace
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &want)
	}
	if err != nil || len(want.Calls) == 0 {
		t.Fatalf("judge: %v", err)
	}
	return want
}

// compare compares the statements that a check executed.
func (want *judgedLines) compare(t *testing.T, c *query.Check) {
	t.Helper()
	_, test, _ := strings.Cut(c.ID, "::")
	got := map[string][]int{}
	levels := map[string]bool{}
	for _, x := range c.Exercised {
		if x.File == "test_lines.py" {
			continue
		}
		if x.Lines == "" {
			t.Errorf("%s: lines of %s in %s were not observed", test, x.Function, x.File)
		}
		levels[x.File] = true
		if x.Function == "" {
			continue
		}
		for n := range state.InRanges(x.Lines) {
			if line := x.From + n; (n > 0 || x.From == x.To) && slices.Contains(want.Starts[x.File], line) &&
				!slices.Contains(got[x.File], line) {
				got[x.File] = append(got[x.File], line)
			}
		}
	}
	for file, lines := range want.Calls[test] {
		slices.Sort(got[file])
		if d := gocmp.Diff(lines, append([]int{}, got[file]...)); d != "" {
			t.Errorf("%s: statements of %s that were executed (-trace +observed):\n%s", test, file, d)
		}
		if len(lines) > 0 != levels[file] {
			t.Errorf("%s: the level of %s: %t", test, file, levels[file])
		}
	}
	for _, x := range c.Exercised {
		if x.Function != "" || x.File == "test_lines.py" {
			continue
		}
		lines := slices.Collect(state.InRanges(x.Lines))
		for _, line := range want.Level[x.File] {
			if !slices.Contains(lines, line-x.From) {
				t.Errorf("%s: line %d of %s was executed, and is not in %s", test, line, x.File, x.Lines)
			}
		}
	}
}

const coveredProgram = `def f(x):
    if x:
        return 1
    return 2


def g(x):
    return x
`

// TestCoveredLines: the lines that no check executed are told, they move with their function, and where lines were not
// observed that is told instead.
func TestCoveredLines(t *testing.T) {
	python := testers(t)[0]
	o := xstate.SessionOptions{Python: python, Workspace: t.TempDir(), Seed: 1}
	store := xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName))
	session := xstatetest.OpenSession(t, store, o)
	write := func(name, text string) { xstatetest.WriteFiles(t, o.Workspace, map[string][]byte{name: []byte(text)}) }
	write("lib.py", coveredProgram)
	write("test_a.py", "import lib\ndef test_f(): assert lib.f(1) == 1\n")
	if _, err := artifact.Declare(t.Context(), session.History(),
		artifact.Spec{Name: "lib", Kind: state.ArtifactCode, Members: []string{"lib.py"}},
		xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	covered := func(want string) {
		t.Helper()
		head, _, err := store.State().Head(t.Context(), session.Name())
		if err != nil {
			t.Fatal(err)
		}
		found, err := artifact.IncompleteCoverage(t.Context(), session.History(), head)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(found)
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != want {
			t.Errorf("covered is %s\nwant %s", text, want)
		}
	}
	tests := func(o xstate.TestOptions, ran int, reason string) {
		t.Helper()
		found := runTests(t, session, o)
		if found.Ran != ran || found.Tests[0].Reason.Code != reason {
			t.Errorf("ran %d tests for %s, want %d for %s", found.Ran, found.Tests[0].Reason.Code, ran, reason)
		}
	}
	tests(xstate.TestOptions{}, 1, state.ReasonNew)
	covered(
		`[{"file":"lib.py","checks":["test_a.py::test_f"],"lines":6,"covered":4,` +
			`"missed":["g"],"missed_lines":"","whole":["","f"]}]`,
	)
	tests(xstate.TestOptions{Lines: true}, 1, state.ReasonLines)
	covered(
		`[{"file":"lib.py","checks":["test_a.py::test_f"],"lines":6,"covered":3,` +
			`"missed":["g"],"missed_lines":"4","whole":[]}]`,
	)
	tests(xstate.TestOptions{Lines: true}, 0, state.ReasonReused)
	write(
		"lib.py",
		"import os\n\n\n# above\n"+strings.Replace(
			coveredProgram,
			"        return 1",
			"        # within\n        return (\n            1)",
			1,
		),
	)
	tests(xstate.TestOptions{}, 1, state.ReasonCode) // the level
	write(
		"lib.py",
		"# above\n"+strings.Replace(
			coveredProgram,
			"        return 1",
			"        # within\n        return (\n            1)",
			1,
		),
	)
	tests(xstate.TestOptions{}, 0, state.ReasonReused)
	covered(
		`[{"file":"lib.py","checks":["test_a.py::test_f"],"lines":7,"covered":4,` +
			`"missed":["g"],"missed_lines":"7","whole":[]}]`,
	)
	write("test_b.py", "import lib\ndef test_both(): assert [lib.f(0), lib.g(1)] == [2, 1]\n")
	tests(xstate.TestOptions{Lines: true}, 1, state.ReasonReused)
	covered(`[]`)
}
