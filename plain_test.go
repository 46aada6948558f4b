package xstate_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/state"
)

// unlike names the sessions that print something else than the interpreter, and why that is right.
var unlike = map[string]string{
	"line-numbers-read":   "lines are those of the block",
	"logged-line-numbers": "lines are those of the block",
	"hostile-methods":     "the value of a block's last expression is shown, as in notebooks",
	"exit-hooks":          "what hooks print when the interpreter ends belongs to no block",
	"async":               "a block may await",
	"notebook-cells":      "no script",
	"markdown":            "no script",
	"sets-after-restart":  "a set that was emptied has the table of a new one, see runner's doc.go",
}

// TestPlain judges runs from scratch, by which all others are judged, by the interpreter alone: what "python prog.py" prints
// for the first and the last version of every session, up to the first block that fails.
func TestPlain(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	python := pythons()[0]
	minor := pythonMinor(t, python)
	for i, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			if why, ok := unlike[name]; ok {
				t.Skip(why)
			}
			if testing.Short() && i%20 != 0 {
				t.Skip("not in short mode")
			}
			t.Parallel()
			steps := readSteps(t, file)
			if minor < steps[0].since {
				t.Skipf("for 3.%d and later", steps[0].since)
			}
			now := map[string][]byte{}
			for n, s := range steps {
				s.addTo(now)
				if n > 0 && n < len(steps)-1 {
					continue
				}
				out := fromScratch(t, t.Context(), now, xstate.SessionOptions{Python: python, Seed: 7}, steps[0].timeout)
				if what := unlikePlain(t, python, now, out); what != "" {
					t.Errorf("step %d: %s", n, what)
				}
			}
		})
	}
}

// unlikePlain tells how what a run from scratch printed, up to the first block that fails, is unlike what the interpreter
// prints by itself; "" where it is alike, or cannot be compared: a block is marked, draws from a generator that the session
// seeds, or is written for IPython.
func unlikePlain(t *testing.T, python string, files map[string][]byte, out *xstate.Outcome) string {
	if notPlain.Match(files["prog.py"]) {
		return ""
	}
	var want strings.Builder
	failed, exited := false, false
	for _, b := range out.Blocks {
		if len(b.Taint) > 0 || b.Status == state.StatusBlocked && !failed {
			return ""
		}
		if failed {
			continue
		}
		failed = b.Status == state.StatusFailed
		exited = failed && b.Err != nil && b.Err.Type == "SystemExit" // with any status
		for _, o := range b.Outputs {
			if o.Kind == "stdout" {
				want.WriteString(o.Text)
			}
		}
	}
	dir, err := os.MkdirTemp("", "xstate-plain-") // and not the test's, which stays to the end
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	writeFiles(t, dir, files)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, cmp.Or(python, "python3"), "prog.py")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONHASHSEED=0", "MPLBACKEND=agg")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if (err != nil) != failed && !exited {
		return fmt.Sprintf("a run from scratch fails: %v, the interpreter: %v\n%s", failed, err, stderr.String())
	}
	shown, expected := address.ReplaceAllString(strings.ReplaceAll(string(text), dir, "DIR"), "at"), address.ReplaceAllString(want.String(), "at")
	if shown != expected {
		return "the interpreter prints\n" + shown + "and a run from scratch\n" + expected
	}
	return ""
}

var address = regexp.MustCompile(`at 0x[0-9a-f]+`)

var notPlain = regexp.MustCompile(`(?m)^(%|!|await )|random\.(random|rand|randint|choice|sample|shuffle|normal|uniform|gauss|choices|default_rng|getstate|getrandbits)\b`)
