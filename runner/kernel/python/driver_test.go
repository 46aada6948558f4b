package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestKernel runs the scripts of testdata, each of which judges a part of the kernel by a simpler way to do the same,
// in every interpreter to test with (see the root package's tests), with the walk in C and with that in Python.
func TestKernel(t *testing.T) {
	walks := map[string]string{"python": "."}
	if Compiler() != "" {
		folder, err := installDriver(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(folder, driverRoot, nativeName)); err != nil {
			t.Fatalf("%s did not compile the walk: %v", Compiler(), err)
		}
		walks["C"] = folder
	}
	for _, script := range []struct{ name, needs string }{{"native.py", ""}, {"groups.py", ""}, {"identities.py", ""},
		{"bundle.py", ""}, {"distinctions.py", ""}, {"attributes.py", ""}, {"sets.py", ""}, {"instructions.py", ""},
		{"node_start.py", ""}, {"kept_names.py", ""},
		{"pure_readers.py", ""},
		{"look.py", "pandas"},
		{"arrays.py", "numpy"}, {"arrow.py", "pyarrow"}, {"foreign.py", "numpy"}, {"figures.py", "matplotlib"}} {
		for _, python := range pythons() {
			for walk, folder := range walks {
				if script.name == "native.py" && walk == "python" {
					continue
				}
				interpreter := filepath.Base(filepath.Dir(filepath.Dir(python)))
				t.Run(script.name+"/"+interpreter+"/"+walk, func(t *testing.T) {
					if exec.Command(python, "-c", "import "+script.needs).Run() != nil && script.needs != "" {
						t.Skip("no " + script.needs)
					}
					cmd := exec.Command(python, filepath.Join("testdata", script.name), "1")
					cmd.Env = append(os.Environ(), "PYTHONPATH="+folder, "PYTHONDONTWRITEBYTECODE=1")
					out, err := cmd.CombinedOutput()
					if err != nil {
						t.Errorf("%v\n%s", err, out)
					}
					t.Log(strings.TrimSpace(string(out)))
				})
			}
		}
	}
}
