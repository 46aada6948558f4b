package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pythons returns the interpreters to test with: see the root package's tests.
func pythons() []string {
	if list := os.Getenv("XSTATE_TEST_PYTHONS"); list != "" {
		return filepath.SplitList(list)
	}
	return []string{"python3"}
}

// TestArrays lets arrays be hashed by what was written to them, against hashing all there is.
func TestArrays(t *testing.T) {
	for _, python := range pythons() {
		if exec.Command(python, "-c", "import numpy").Run() != nil {
			t.Logf("%s has no numpy", python)
			continue
		}
		for _, seed := range []string{"1", "2"} {
			cmd := exec.Command(python, "testdata/arrays.py", seed)
			cmd.Env = append(os.Environ(), "PYTHONPATH=kernel", "PYTHONDONTWRITEBYTECODE=1")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%s, seed %s: %v\n%s", python, seed, err, out)
			}
			t.Logf("%s: %s", python, strings.TrimSpace(string(out)))
		}
	}
}
