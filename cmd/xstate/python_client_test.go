package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/internal/xstatetest"
)

// pythonClient is the folder of the Python client.
const pythonClient = "../../clients/python"

// clientPython returns the interpreter that a test without one of its own uses.
func clientPython(python string) string {
	if python == "" {
		return "python3"
	}
	return python
}

// TestPythonClient runs the tests of the Python client, which use the real server, on each interpreter.
func TestPythonClient(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	xstate, err := exec.LookPath("xstate") // this test, by testscript.Main
	if err != nil {
		t.Fatal(err)
	}
	source, err := filepath.Abs(filepath.Join(pythonClient, "src"))
	if err != nil {
		t.Fatal(err)
	}
	for _, python := range xstatetest.Pythons() {
		t.Run(strings.Trim(strings.ReplaceAll(python, "/", "-"), "-"), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), clientPython(python), "-W", "error", "-B", "-m", "unittest")
			cmd.Dir = filepath.Join(pythonClient, "tests")
			cmd.Env = append(os.Environ(), "PYTHONPATH="+source, "XSTATE="+xstate, "XSTATE_PYTHON="+python,
				"XDG_CACHE_HOME="+t.TempDir())
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "\nOK") {
				t.Errorf("the tests of the client failed: %v\n%s", err, out)
			}
		})
	}
}

// TestPythonClientInstalls installs the client with pip, as from a clone, into an environment of its own, and uses it.
func TestPythonClientInstalls(t *testing.T) {
	if os.Getenv("XSTATE_TEST_CLIENTS") == "" {
		t.Skip("pip asks the package index; XSTATE_TEST_CLIENTS is set where it may")
	}
	python := installedClient(t)
	cmd := exec.CommandContext(t.Context(), python, "-c",
		"import xstate_engine as x; print(x.__version__, x.Engine('.').session('a'), x.__file__)")
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	said := string(out)
	if err != nil || !strings.Contains(said, "<Session 'a' of") || !strings.Contains(said, "site-packages") {
		t.Errorf("the client does not work: %v\n%s", err, said)
	}
	typed := filepath.Dir(filepath.Dir(python)) + "/lib/python*/site-packages/xstate_engine/py.typed"
	if found, _ := filepath.Glob(typed); len(found) != 1 {
		t.Error("py.typed is not installed, so its types are not used")
	}
}

// installedClient makes a virtual environment with the client in it, and returns its interpreter.
func installedClient(t *testing.T) string {
	t.Helper()
	source, env := t.TempDir(), t.TempDir() // pip writes into the folder that it builds
	if err := os.CopyFS(source, os.DirFS(pythonClient)); err != nil {
		t.Fatal(err)
	}
	python := filepath.Join(env, "bin", "python")
	for _, args := range [][]string{
		{clientPython(xstatetest.Pythons()[0]), "-m", "venv", env},
		{python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", source},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	return python
}
