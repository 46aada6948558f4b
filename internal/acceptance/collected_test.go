package acceptance

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
)

// TestCollected: while nothing has changed on which it rests which tests there are, no interpreter is started to find
// them. Whatever changes that is noticed, also where no test rests on it: after each step the tests are those of a
// folder made anew.
func TestCollected(t *testing.T) {
	for _, python := range choosePython(t, testers(t)) {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(python))), func(t *testing.T) {
			t.Parallel()
			testCollected(t, python)
		})
	}
}

func testCollected(t *testing.T, python string) {
	python, packages, starts := countingPython(t, python)
	o := xstate.SessionOptions{Python: python, Workspace: t.TempDir(), Seed: 1}
	session := xstatetest.OpenSession(t, xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName)), o)
	files := map[string][]byte{
		"lib.py":      []byte("def f(x): return True\n"),
		"cases.txt":   []byte("x y"),
		"sub/lib2.py": []byte(""),
	}
	xstatetest.WriteFiles(t, o.Workspace, files)
	for i, step := range []struct {
		file, text string // to write; to remove where the text is ""
		package_   bool   // it belongs to what is installed
		count      int    // of tests, lest the judges agree on none
	}{
		{file: "test_a.py", text: "import lib\nimport pytest\n" +
			"@pytest.mark.parametrize('case', open('cases.txt').read().split())\n" +
			"def test_case(case): assert lib.f(case)\n", count: 2},
		{file: "sub/test_none.py", text: "import os\nif os.path.exists('flag'):\n" +
			"    def test_flag(): pass\n", count: 2},
		{file: "test_b.py", text: "def test_b(): pass\n", count: 3},
		{file: "cases.txt", text: "x y z", count: 4},
		{file: "flag", text: "is there", count: 5},
		{file: "flag", count: 4},
		{file: "conftest.py", text: "def pytest_generate_tests(metafunc):\n" +
			"    if 'made' in metafunc.fixturenames: metafunc.parametrize('made', open('made.txt').read().split())\n",
			count: 4},
		{file: "made.txt", text: "1", count: 4},
		{file: "test_made.py", text: "def test_made(made): pass\n", count: 5},
		{file: "made.txt", text: "1 2", count: 6},
		{file: "conftest.py", text: "import os\n" +
			"def pytest_collection_modifyitems(items): items[:] = [i for i in items if not os.path.isdir('left') or " +
			"i.name not in os.listdir('left')]\ndef pytest_generate_tests(metafunc):\n" +
			"    if 'made' in metafunc.fixturenames: metafunc.parametrize('made', [1])\n", count: 5},
		{file: "left/test_b", text: "x", count: 4},
		{file: "test_made.py", count: 3},
		{file: "conftest.py", count: 4},
		{file: "pytest.ini", text: "[pytest]\npython_functions = test_c* test_f*\n", count: 3},
		{file: "pytest.ini", text: "[pytest]\ntestpaths = sub\npython_files = *.py\n", count: 0},
		{file: "sub/lib2.py", text: "def test_now(): pass\n", count: 1},
		{file: "pytest.ini", count: 4},
		{file: "plug.py", text: "def pytest_collection_modifyitems(items): del items[1:]\n", package_: true, count: 4},
		{file: "plug-1.0.dist-info/METADATA", text: "Metadata-Version: 2.1\nName: plug\n" +
			"Version: 1.0\n", package_: true, count: 4},
		{file: "plug-1.0.dist-info/entry_points.txt", text: "[pytest11]\nplug = plug\n", package_: true, count: 1},
		{file: "plug-1.0.dist-info", package_: true, count: 4},
		{file: "lib.py", text: "# moved\ndef f(x): return 1\n", count: 4},
		{file: "sub/conftest.py", text: "collect_ignore = ['test_more.py']\n", count: 4},
		{file: "sub/test_more.py", text: "def test_more(): pass\n", count: 4},
		{file: "sub/conftest.py", count: 5},
		{file: "json.py", text: "raise ImportError\n", count: 5},
	} {
		folder := o.Workspace
		if step.package_ {
			folder = packages
		} else if step.text != "" {
			files[step.file] = []byte(step.text)
		} else {
			delete(files, step.file)
		}
		if step.text != "" {
			xstatetest.WriteFiles(t, folder, map[string][]byte{step.file: []byte(step.text)})
		} else if err := os.RemoveAll(filepath.Join(folder, step.file)); err != nil {
			t.Fatal(err)
		}
		have := runTests(t, session, xstate.TestOptions{})
		if d := gocmp.Diff(outcomes(allTests(t, maps.Clone(files), python)), outcomes(have)); d != "" ||
			len(have.Tests) != step.count {
			t.Errorf(
				"step %d, %s: %d tests, want %d (-all +selected):\n%s",
				i,
				step.file,
				len(have.Tests),
				step.count,
				d,
			)
		}
		before := starts()
		again := runTests(t, session, xstate.TestOptions{})
		if n := starts() - before; n != 0 || again.Ran != 0 || !slices.Equal(ids(have), ids(again)) {
			t.Errorf(
				"step %d, %s, again: %d interpreters started, %d tests ran of %v, want %v",
				i,
				step.file,
				n,
				again.Ran,
				ids(again),
				ids(have),
			)
		}
	}
	before := starts()
	if found := runTests(t, session, xstate.TestOptions{Plan: true}); starts() != before || found.Ran != 0 {
		t.Errorf("to plan started %d interpreters", starts()-before)
	}
	// another collection
	for _, o := range []xstate.TestOptions{{Paths: []string{"sub"}}, {Choose: []string{"-k", "test_b"}}} {
		if runTests(t, session, o); starts() == before {
			t.Errorf("Test(%+v) started no interpreter", o)
		}
		before = starts()
	}
}

func ids(r *xstate.TestReport) (ids []string) {
	for _, x := range r.Tests {
		ids = append(ids, x.ID)
	}
	return ids
}

// countingPython returns an interpreter of a new environment with the packages of another, the folder of its own
// packages, and a function that tells how many times it was started to run tests.
func countingPython(t *testing.T, python string) (path, packages string, starts func() int) {
	t.Helper()
	folder := t.TempDir()
	out, err := exec.Command(python, "-c", `import os, pytest, sys, sysconfig, venv
venv.create(sys.argv[1])
packages = sysconfig.get_path("purelib", vars={"base": sys.argv[1], "platbase": sys.argv[1]})
with open(os.path.join(packages, "other.pth"), "w") as f: f.write(os.path.dirname(os.path.dirname(pytest.__file__)))
print(packages)`, filepath.Join(folder, "venv")).Output()
	if err != nil {
		t.Fatal(err)
	}
	count := filepath.Join(folder, "starts")
	path = filepath.Join(folder, "python")
	script := "#!/bin/sh\ncase \"$*\" in *suite.main*) echo start >>'" + count + "';; esac\nexec '" + filepath.Join(
		folder,
		"venv",
		"bin",
		"python",
	) + "' \"$@\"\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path, strings.TrimSpace(string(out)), func() int {
		text, err := os.ReadFile(count)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.Count(string(text), "\n")
	}
}
