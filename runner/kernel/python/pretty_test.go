package python

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pythons returns the interpreters to test with.
func pythons() []string {
	if list := os.Getenv("XSTATE_TEST_PYTHONS"); list != "" {
		return filepath.SplitList(list)
	}
	return []string{"python3"}
}

// TestPretty compares the texts of values in notebooks with a golden, and with those of IPython where an interpreter
// has it. One difference is known and not tested: a key that is broken into lines changes where IPython breaks its
// value.
func TestPretty(t *testing.T) {
	folder, err := installDriver(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "pretty.golden")
	for i, python := range pythons() {
		command := exec.Command(python, filepath.Join("testdata", "pretty.py"), folder)
		command.Stderr = os.Stderr
		out, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		var found [][2]*string
		if err := json.Unmarshal(out, &found); err != nil || len(found) < 60 {
			t.Fatalf("%d values, %v", len(found), err)
		}
		var own, judged strings.Builder
		for _, f := range found {
			own.WriteString(shortened(*f[0]) + "\n")
			if f[1] != nil {
				judged.WriteString(shortened(*f[1]) + "\n")
			}
		}
		if *update && i == 0 {
			if err := os.WriteFile(golden, []byte(own.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), own.String()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", python, diff)
		}
		if diff := cmp.Diff(judged.String(), own.String()); judged.Len() > 0 && diff != "" {
			t.Errorf("%s: -IPython +got:\n%s", python, diff)
		}
	}
}

// shortened replaces the middle of a long text by its length.
func shortened(text string) string {
	if lines := strings.Split(text, "\n"); len(lines) > 100 {
		middle := strings.Repeat("-", len(lines)/100)
		return strings.Join(append(append(lines[:2:2], middle), lines[len(lines)-2:]...), "\n")
	}
	return text
}
