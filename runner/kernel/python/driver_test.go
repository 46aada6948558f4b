package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestKernel runs the scripts of testdata, each of which judges a part of the kernel by a simpler way to do the same,
// in every interpreter to test with (see the root package's tests).
func TestKernel(t *testing.T) {
	for _, script := range []struct{ name, needs string }{{"groups.py", ""}, {"identities.py", ""},
		{"distinctions.py", ""}, {"attributes.py", ""}, {"sets.py", ""}, {"instructions.py", ""},
		{"arrays.py", "numpy"}, {"arrow.py", "pyarrow"}, {"foreign.py", "numpy"}, {"figures.py", "matplotlib"}} {
		for _, python := range pythons() {
			t.Run(script.name+"/"+filepath.Base(filepath.Dir(filepath.Dir(python))), func(t *testing.T) {
				if exec.Command(python, "-c", "import "+script.needs).Run() != nil && script.needs != "" {
					t.Skip("no " + script.needs)
				}
				cmd := exec.Command(python, filepath.Join("testdata", script.name), "1")
				cmd.Env = append(os.Environ(), "PYTHONPATH=.", "PYTHONDONTWRITEBYTECODE=1")
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("%v\n%s", err, out)
				}
				t.Log(strings.TrimSpace(string(out)))
			})
		}
	}
}
