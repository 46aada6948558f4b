package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/internal/xstatetest/clients"
)

// TestKernel runs notebooks with the kernels of Jupyter that xstate installs: Jupyter's own tests of a kernel, and
// those in internal/serve/jupyter/testdata. Others run in Jupyter's own kernel, with the magics of the Python client.
func TestKernel(t *testing.T) {
	python := filepath.Join(clients.Folder(t, "jupyter"), "bin", "python")
	xstate, err := exec.LookPath("xstate") // this test, by testscript.Main
	if err != nil {
		t.Fatal(err)
	}
	tests, err := filepath.Abs("../../internal/serve/jupyter/testdata")
	if err != nil {
		t.Fatal(err)
	}
	client, err := filepath.Abs(filepath.Join(pythonClient, "src"))
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	environ := append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, "cache"), "XSTATE="+xstate,
		"XSTATE_TEST_PYTHON="+python, "XSTATE_PYTHON=", "JUPYTER_PLATFORM_DIRS=1")
	install := exec.CommandContext(t.Context(), xstate, "kernel", "install", "--python", python)
	install.Env, install.Dir = environ, home
	if out, err := install.CombinedOutput(); err != nil || strings.Count(string(out), "\n") < 3 {
		t.Fatalf("the kernels are not installed: %v\n%s", err, out)
	}
	for _, name := range []string{"test_protocol", "test_notebooks", "test_widgets", "test_magic"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), python, "-B", "-m", "unittest", name)
			cmd.Dir, cmd.Env = t.TempDir(), append(environ[:len(environ):len(environ)], "PYTHONPATH="+tests+":"+client)
			passes(t, cmd)
		})
	}
}
