package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/clients"
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
			passes(t, cmd)
		})
	}
}

// passes runs tests of Python's unittest, which must pass.
func passes(t *testing.T, unittest *exec.Cmd) {
	t.Helper()
	out, err := unittest.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "\nOK") {
		t.Errorf("the tests failed: %v\n%s", err, out)
	}
}

// TestAdapters runs the tests of four adapters of the Python client with their frameworks; make adapters runs all.
func TestAdapters(t *testing.T) {
	xstate, err := exec.LookPath("xstate")
	if err != nil {
		t.Fatal(err)
	}
	source, err := filepath.Abs(filepath.Join(pythonClient, "src"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dask", "openai_agents", "pydantic_ai", "smolagents"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			python := filepath.Join(clients.Folder(t, name), "bin", "python")
			cmd := exec.CommandContext(t.Context(), python, "-B", "-m", "unittest", "test_"+name)
			cmd.Dir = filepath.Join(pythonClient, "adapters_tests")
			cmd.Env = append(os.Environ(), "PYTHONPATH="+source, "XSTATE="+xstate, "XDG_CACHE_HOME="+t.TempDir())
			passes(t, cmd)
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

// ran runs a command, and ends the test if it fails.
func ran(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
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
	ran(t, clientPython(xstatetest.Pythons()[0]), "-m", "venv", env)
	ran(t, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", source)
	return python
}

// releasedPrograms makes the folder of programs that a release packs, for this platform. The program calls this test.
func releasedPrograms(t *testing.T) string {
	t.Helper()
	programs := t.TempDir()
	platform := filepath.Join(programs, runtime.GOOS+"_"+runtime.GOARCH)
	if err := os.Mkdir(platform, 0o755); err != nil {
		t.Fatal(err)
	}
	xstate, err := exec.LookPath("xstate")
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nexec " + xstate + " \"$@\"\n" // small, unlike this test
	if err := os.WriteFile(filepath.Join(platform, "xstate"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return programs
}

// packedTwice runs a command twice, which must make two equal packages each time, and returns their paths.
func packedTwice(t *testing.T, packages string, command ...string) []string {
	t.Helper()
	var made [2]map[string]string // path of a package → its content
	for i := range made {
		ran(t, command...)
		made[i] = map[string]string{}
		paths, _ := filepath.Glob(packages)
		for _, path := range paths {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			made[i][path] = string(content)
		}
	}
	if len(made[0]) != 2 || !maps.Equal(made[0], made[1]) {
		t.Errorf("two builds made %d and %d packages, which are not equal", len(made[0]), len(made[1]))
	}
	return slices.Collect(maps.Keys(made[0]))
}

// TestWheels makes the packages of a release for this platform, twice, and installs them without an index. An engine of
// the installed client finds the installed program, whatever is on PATH.
func TestWheels(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	programs, python := releasedPrograms(t), clientPython(xstatetest.Pythons()[0])
	out, env := t.TempDir(), t.TempDir()
	packedTwice(t, out+"/*.whl", python, pythonClient+"/wheels.py", "v"+clientVersion(t), programs, out)
	ran(t, python, "-m", "venv", env)
	ran(t, env+"/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index",
		"--find-links", out, "xstate-engine")
	cmd := exec.CommandContext(t.Context(), env+"/bin/python", "-c",
		"import xstate_engine as x\ne = x.Engine('.')\n"+
			"print(e.session('a').exec('6 * 7').result, e._settings.program())")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PATH=/usr/bin:/bin", "XSTATE=", "XDG_CACHE_HOME="+t.TempDir(),
		"XSTATE_PYTHON="+env+"/bin/python")
	if said, err := cmd.CombinedOutput(); err != nil || string(said) != "42 "+env+"/bin/xstate\n" {
		t.Errorf("the installed client says %q, %v", said, err)
	}
	if _, err := os.Stat(env + "/share/jupyter/labextensions/xstate-engine/package.json"); err != nil {
		t.Error(err)
	}
}

// clientVersion is the version of the Python client.
func clientVersion(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(pythonClient + "/src/xstate_engine/_version.py")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Trim(strings.TrimPrefix(string(text), "VERSION = "), "\"\n")
}
