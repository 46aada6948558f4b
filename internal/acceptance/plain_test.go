package acceptance

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/state"
)

// unlike names the sessions that print something else than the interpreter, and why that is right; with a number, the
// step of a session.
var unlike = map[string]string{
	"line-number-by-module":   "lines are those of the block",
	"line-numbers-read":       "lines are those of the block",
	"logged-line-numbers":     "lines are those of the block",
	"hostile-methods":         "the value of a block's last expression is shown, as in notebooks",
	"exit-hooks":              "what hooks print when the interpreter ends belongs to no block",
	"async":                   "a block may await",
	"del-method 3":            "what finalizers print when the interpreter ends belongs to no block",
	"del-method 4":            "what finalizers print when the interpreter ends belongs to no block",
	"given-arguments 4":       "a session of the library has no name of a file for sys.argv",
	"mpl-figure-of-failure 2": "a block that failed leaves no figure",
	"forked-child":            "a forked child ends with its block",
	"notebook-cells":          "no script",
	"main-notebook":           "no script",
	"markdown":                "no script",
	"sets-after-restart":      "a set that was emptied has the table of a new one, see runner's doc.go",
}

// unlikePlain tells how what a run from scratch printed, up to the first block that fails, is unlike what the
// interpreter prints by itself; "" where it is alike, or cannot be compared: a block is marked, draws from a generator
// that the session seeds, or is written for IPython.
func unlikePlain(t *testing.T, python string, files map[string][]byte, out *xstate.Outcome) string {
	if notPlain.Match(files["prog.py"]) {
		return ""
	}
	var want strings.Builder
	failed, ended, raised := false, (*state.Ending)(nil), (*state.ExecError)(nil)
	for _, b := range out.Blocks {
		if len(b.AllMarks) > 0 || b.Status == state.StatusBlocked && !failed {
			return ""
		}
		if failed || b.Status == state.StatusNotReached {
			continue
		}
		failed, ended, raised = b.Status == state.StatusFailed, b.Ending, b.Err
		for _, o := range b.Outputs {
			if o.Kind == "stdout" {
				want.WriteString(o.Text)
			}
		}
	}
	dir, text, stderr, code, err := runPlain(t, python, files)
	if (err != nil) != failed {
		return fmt.Sprintf("a run from scratch fails: %v, the interpreter: %v\n%s", failed, err, stderr)
	}
	if ended != nil && code != ended.Code {
		return fmt.Sprintf("a run from scratch ends with %d, the interpreter with %d", ended.Code, code)
	}
	shown := address.ReplaceAllString(strings.ReplaceAll(stands(text), dir, "DIR"), "at")
	expected := address.ReplaceAllString(want.String(), "at")
	if shown != expected {
		return "the interpreter prints\n" + shown + "and a run from scratch\n" + expected
	}
	if !failed || ended != nil || raised == nil {
		return ""
	}
	theirs := errorOf(strings.Split(strings.ReplaceAll(stderr, dir, "DIR"), "\n"))
	if ours := errorOf(append(slices.Clone(raised.Traceback), "")); ours != theirs {
		return "the interpreter fails with\n" + theirs + "\nand a run from scratch with\n" + ours
	}
	return ""
}

// runPlain runs prog.py in a new folder, which it names and removes.
func runPlain(t *testing.T, python string, files map[string][]byte) (dir, stdout, stderr string, code int, err error) {
	t.Helper()
	dir, err = os.MkdirTemp("", "xstate-plain-") // and not the test's, which stays to the end
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	xstatetest.WriteFiles(t, dir, files)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, cmp.Or(python, "python3"), "prog.py")
	cmd.Dir = dir
	cmd.Args = append(cmd.Args, xstatetest.Invocation(dir, files).Arguments...)
	cmd.Stdin = bytes.NewReader(files[xstatetest.StdinFile])
	cmd.Env = append(os.Environ(), "PYTHONHASHSEED=0", "MPLBACKEND=agg")
	var outs, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &outs, &errs
	cmd.WaitDelay = time.Minute // a child that outlives it may keep its output open
	err = cmd.Run()
	return dir, outs.String(), errs.String(), cmd.ProcessState.ExitCode(), err
}

// errorOf returns what a traceback says whatever the file is called: the functions of the program, each with the line
// of its text, and the line that follows them, without frames of Python's frozen modules. What is printed later, such
// as a warning, is no part of it.
func errorOf(lines []string) string {
	var found []string
	last, inside := "", false
	for i, line := range lines {
		if m := frameOfProgram.FindStringSubmatch(line); m != nil {
			found, inside = append(found, m[1]), true
			if text, is := strings.CutPrefix(lines[i+1], "    "); is {
				found = append(found, "    "+strings.TrimSpace(text))
			}
		}
		if inside && line != "" && line[0] != ' ' {
			last, inside = line, false
		}
	}
	last, _, _ = strings.Cut(last, ". Did you mean: ") // that depends on what else is bound
	return strings.Join(append(found, last), "\n")
}

var frameOfProgram = regexp.MustCompile(`^  File "(?:<[^<> ]*>|(?:DIR/)?prog\.py)", line \d+, in (.+)$`)

var address = regexp.MustCompile(`at 0x[0-9a-f]+`)

var notPlain = regexp.MustCompile(`(?m)^(%|!|await )|` +
	`random\.(random|rand|randint|choice|choices|sample|shuffle|` +
	`normal|uniform|gauss|default_rng|getstate|getrandbits)\b`)
