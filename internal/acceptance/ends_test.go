package acceptance

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
)

// TestEnds runs the scripts of testdata/ends and their edits, and judges each run by the interpreter alone, which runs
// the very file in a new folder: the standard output, the exit code and the files that are left must be equal. Each
// session is run in one interpreter that lives, and with a new one for each step.
func TestEnds(t *testing.T) {
	files, err := filepath.Glob("../../testdata/ends/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in testdata/ends: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		for _, command := range commandsOf(t, name) {
			for _, mode := range []string{"live", "restarted"} {
				t.Run(name+"/"+filepath.Base(filepath.Dir(filepath.Dir(command)))+"/"+mode, func(t *testing.T) {
					t.Parallel()
					runEnds(t, xstatetest.ReadSteps(t, file), command, mode == "restarted")
				})
			}
		}
	}
}

// commandsOf returns the interpreters that a session is run by.
func commandsOf(t *testing.T, session string) []string {
	t.Helper()
	language, _, _ := strings.Cut(session, "-")
	commands := []string{map[string]string{"sh": "bash", "js": "node", "py": "python3"}[language]}
	if pythons := xstatetest.Pythons(); language == "py" && pythons[0] != "" {
		commands = pythons
	}
	for _, c := range commands {
		if !has(c) {
			t.Logf("%s is not installed", c)
			return nil
		}
	}
	return commands
}

// ended is what a run of a script leaves.
type ended struct {
	stdout string
	code   int
	files  []string
}

func runEnds(t *testing.T, steps []xstatetest.ProgramStep, command string, restarted bool) {
	o := xstate.SessionOptions{Seed: 7, Workspace: t.TempDir()}
	if strings.Contains(command, "python") {
		o.Python = command
	}
	files := map[string][]byte{}
	name := ""
	for n := range steps[0].Files {
		if strings.HasPrefix(n, "prog.") {
			name = n
		}
	}
	xstatetest.WriteFiles(t, o.Workspace, steps[0].Files)
	o.File = filepath.Join(o.Workspace, name)
	store := xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName))
	session := xstatetest.OpenSession(t, store, o)
	for i, step := range steps {
		for n, data := range step.Files {
			files[n] = data
		}
		xstatetest.WriteFiles(t, o.Workspace, step.Files)
		if restarted && i > 0 {
			session.Close()
			session = xstatetest.OpenSession(t, store, o)
		}
		out := xstatetest.RunFile(t, t.Context(), session, o.Workspace, files, await.Long)
		have, want := endedBy(t, out, o.Workspace), endsAlone(t, command, name, files)
		if have.stdout != want.stdout || have.code != want.code || !slices.Equal(have.files, want.files) {
			t.Errorf("step %d leaves\n%+v\nand alone\n%+v", i, have, want)
		}
		if a, d, err := replay.CompareAlone(t.Context(), session.Subject(), out); d != nil || err != nil {
			t.Errorf("step %d is unlike %s: %v, error %v", i, a.Command, d, err)
		}
		again, _, err := session.Run(t.Context(), runner.RunOptions{}, xstate.Origin{})
		if err != nil || ranNodes(again) > 0 {
			t.Errorf("step %d: a second run executes something, error %v", i, err)
		}
	}
}

// endedBy is what a run of a session left.
func endedBy(t *testing.T, out *xstate.Outcome, dir string) (e ended) {
	t.Helper()
	for _, b := range out.Blocks {
		for _, o := range b.Outputs {
			if o.Kind == "stdout" {
				e.stdout += o.Text
			}
		}
		if b.Ending != nil {
			e.code = b.Ending.Code
		} else if b.Status == state.StatusFailed {
			e.code = 1
		}
	}
	e.files = filesIn(t, dir)
	return e
}

// endsAlone is what an interpreter leaves that runs the file by itself.
func endsAlone(t *testing.T, command, name string, files map[string][]byte) (e ended) {
	t.Helper()
	dir := t.TempDir()
	xstatetest.WriteFiles(t, dir, files)
	ctx, cancel := context.WithTimeout(t.Context(), await.Long)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, name)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PYTHONHASHSEED=0", "PYTHONDONTWRITEBYTECODE=1")
	var outs, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &outs, &errs
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatalf("%s %s: %v", command, name, err)
	}
	e.stdout, e.code = outs.String(), cmd.ProcessState.ExitCode()
	e.files = filesIn(t, dir)
	return e
}

// filesIn returns the files of a folder, without the store in it.
func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if name == xstate.StoreName || d != nil && d.Name() == "__pycache__" {
			return fs.SkipDir
		}
		names = append(names, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestCompareAlone: a run is compared with the interpreter alone where that may run the program again, and a difference
// is found.
func TestCompareAlone(t *testing.T) {
	for _, c := range []struct{ name, text, why string }{
		{"prog.sh", "trap 'echo bye' EXIT\necho hello\n", ""},
		{"prog.sh", "echo hello > out.txt\necho done\n", "block b1 writes files"},
		{"prog.sh", "echo hello\n\necho $RANDOM\n", "block b2 draws random numbers"},
		{"prog.sh", "echo hello\n\ndate +%s%N\n", "block b2 is volatile (clock)"},
		{"prog.sh", "# %% a\necho hello\n", "the program is no script"},
		{"prog.js", "setTimeout(() => console.log('t'))\nconsole.log('s')\n", ""},
		{"prog.js", "console.log('s')\nthrow new Error('e')\n", "block b1 fails"},
	} {
		o := xstate.SessionOptions{Workspace: t.TempDir()}
		files := map[string][]byte{c.name: []byte(c.text)}
		xstatetest.WriteFiles(t, o.Workspace, files)
		o.File = filepath.Join(o.Workspace, c.name)
		session := xstatetest.OpenSession(t, xstatetest.OpenStore(t, filepath.Join(o.Workspace, xstate.StoreName)), o)
		out := xstatetest.RunFile(t, t.Context(), session, o.Workspace, files, await.Long)
		a, d, err := replay.CompareAlone(t.Context(), session.Subject(), out)
		if err != nil || d != nil || a.Why != c.why || a.Compared != (c.why == "") {
			t.Errorf("%q: %+v, difference %v, error %v, want %q", c.text, a, d, err, c.why)
		}
		if c.why != "" {
			continue
		}
		out.Blocks[0].Outputs[0].Text += "more"
		if _, d, _ = replay.CompareAlone(t.Context(), session.Subject(), out); d == nil {
			t.Errorf("%q: no difference is found", c.text)
		}
	}
}
