package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/internal/xstatetest/clients"
)

// codeFolder is a folder with sources and the checkers of .ci/clients.
type codeFolder struct {
	t       *testing.T
	path    string
	environ []string
}

func newCodeFolder(t *testing.T) *codeFolder {
	bin := filepath.Join(clients.Folder(t, "checkers"), "bin")
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &codeFolder{t, folder, append(os.Environ(), "PATH="+bin+":/usr/bin:/bin", "XDG_CACHE_HOME="+t.TempDir())}
	f.write("a.py", "# %% load\nimport os\n\n# %% use\nx: int = \"a\"\n")
	f.write("s.sh", "#!/bin/bash\necho $1\n")
	return f
}

func (f *codeFolder) write(name, text string) {
	f.t.Helper()
	mode := os.FileMode(0o666)
	if strings.HasPrefix(text, "#!") {
		mode = 0o777
	}
	path := filepath.Join(f.path, name)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), mode))
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *codeFolder) command(args []string) *exec.Cmd {
	f.t.Helper()
	xstate, err := exec.LookPath("xstate") // this test, by testscript.Main
	if err != nil {
		f.t.Fatal(err)
	}
	args = append([]string{"check-code", "--no-server", "--json"}, args...)
	cmd := exec.CommandContext(f.t.Context(), xstate, args...)
	cmd.Dir, cmd.Env = f.path, f.environ
	return cmd
}

// check runs check-code and returns its document; exit is the exit code that it must have.
func (f *codeFolder) check(exit int, args ...string) (d api.CheckCode) {
	f.t.Helper()
	cmd := f.command(args)
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != exit {
		f.t.Fatalf("check-code %q = %d, want %d: %v\n%s", args, code, exit, err, out)
	}
	if err := json.Unmarshal(out, &d); err != nil {
		f.t.Fatalf("%v: %s", err, out)
	}
	return d
}

// findings are rules and places, with a mark of those that are new.
func findings(d api.CheckCode) (all []string) {
	for _, f := range d.Findings {
		text := strings.Join([]string{f.Checker, f.Rule, f.File, f.Block}, " ")
		if f.New {
			text += " new"
		}
		all = append(all, text)
	}
	return all
}

// TestCheckCode edits what checkers read: their sources, a module, the configuration. Only checks that read it may run.
func TestCheckCode(t *testing.T) {
	t.Parallel()
	f := newCodeFolder(t)
	expect := func(d api.CheckCode, ran, reused int, want ...string) {
		t.Helper()
		if d.Ran != ran || d.Reused != reused || d.Failed != 0 {
			t.Errorf("ran %d, reused %d, failed %d, want %d, %d, 0: %+v",
				d.Ran, d.Reused, d.Failed, ran, reused, d.Checks)
		}
		if diff := cmp.Diff(want, findings(d)); diff != "" {
			t.Errorf("findings (-want +got):\n%s", diff)
		}
	}
	ruff, mypy, shellcheck := "ruff F401 a.py load", "mypy assignment a.py use", "shellcheck SC2086 s.sh [1]"
	expect(f.check(1, "a.py", "s.sh"), 3, 0, ruff, mypy, shellcheck)
	expect(f.check(1, "a.py", "s.sh"), 0, 3, ruff, mypy, shellcheck)

	f.write("s.sh", "#!/bin/bash\necho \"$1\"\n")
	expect(f.check(1, "a.py", "s.sh"), 1, 2, ruff, mypy)

	f.write("a.py", "# %% load\nimport os\n\nimport m\n\n# %% use\nx: int = \"a\"\ny: int = m.v\n")
	f.write("m.py", "v = 1\n")
	expect(f.check(1, "a.py", "s.sh"), 2, 1, ruff, mypy)
	f.write("m.py", "v = \"text\"\n") // mypy reads it; ruff asks when it changed
	expect(f.check(1, "a.py", "s.sh"), 2, 1, ruff, mypy, mypy+" new")

	f.write("ruff.toml", "[lint]\nignore = [\"F401\"]\n") // there was none; mypy lists the folder
	expect(f.check(1, "a.py", "s.sh"), 2, 1, mypy, mypy)
	f.write("ruff.toml", "nonsense = 1\n")
	if d := f.check(1, "a.py", "s.sh"); d.Failed != 1 || !strings.Contains(d.Checks[0].Error, "ruff.toml") {
		t.Errorf("of a configuration that ruff cannot read: %+v", d.Checks)
	}
	if err := os.Remove(filepath.Join(f.path, "ruff.toml")); err != nil {
		t.Fatal(err)
	}
	expect(f.check(1, "--with", "ruff", "a.py"), 0, 1, ruff) // as before: the result is known
	if err := os.Mkdir(filepath.Join(f.path, "below"), 0o777); err != nil {
		t.Fatal(err)
	}
	f.path += "/below"
	expect(f.check(1, "--with", "ruff", "../a.py"), 0, 1, ruff) // the same file from another folder
	f.path = filepath.Dir(f.path)
	if d := f.check(0, "--with", "shellcheck", "s.sh"); d.New != 0 || len(d.Findings) != 0 {
		t.Errorf("of a right script: %+v", d)
	}
}

// TestCheckCodeOfAnotherVersion: a checker that is upgraded checks again.
func TestCheckCodeOfAnotherVersion(t *testing.T) {
	t.Parallel()
	f := newCodeFolder(t)
	fake := func(found string) { f.write(".venv/bin/ruff", "#!/bin/sh\necho '["+found+"]'\n") }
	fake("")
	if d := f.check(0, "--with", "ruff", "a.py"); d.Ran != 1 || len(d.Findings) != 0 {
		t.Errorf("of the first version: %+v", d)
	}
	fake(`{"code":"X1","message":"no","filename":"a.py","location":{"row":5,"column":1}}`)
	if d := f.check(1, "--with", "ruff", "a.py"); d.Ran != 1 || d.New != 1 || d.Findings[0].BlockLine != 1 {
		t.Errorf("of the second version: %+v", d)
	}
}

// TestCheckCodeMeanwhile edits a file while a checker runs, which has read it.
func TestCheckCodeMeanwhile(t *testing.T) {
	t.Parallel()
	f := newCodeFolder(t)
	f.write(".venv/bin/ruff", `#!/bin/sh
text=$(cat a.py)
touch has-read
until [ -e edited ]; do sleep 0.01; done
echo "[{\"code\":\"$text\",\"message\":\"no\",\"filename\":\"a.py\",\"location\":{\"row\":1,\"column\":1}}]"
exit 1
`)
	f.write("a.py", "x = 1\n")
	edited := make(chan error, 1)
	go func() {
		edited <- errors.Join(
			await.Poll(t.Context(), func() bool {
				_, err := os.Stat(filepath.Join(f.path, "has-read"))
				return err == nil
			}),
			os.WriteFile(filepath.Join(f.path, "a.py"), []byte("x = 2\n"), 0o666),
			os.WriteFile(filepath.Join(f.path, "edited"), nil, 0o666),
		)
	}()
	for range 2 {
		if d := f.check(1, "--with", "ruff", "a.py"); d.Findings[0].Rule != "x = 2" {
			t.Errorf("the checker read %q, want the later text", d.Findings[0].Rule)
		}
	}
	if err := <-edited; err != nil {
		t.Error(err)
	}
}

// TestCheckCodeSurroundings: what a check depends on, and Bash is not observed to read.
func TestCheckCodeSurroundings(t *testing.T) {
	t.Parallel()
	f := newCodeFolder(t)
	f.write("s.sh", "#!/bin/bash\necho $1\n")
	if d := f.check(0, "--with", "shellcheck", "s.sh"); d.Ran != 1 || len(d.Findings) != 1 {
		t.Errorf("of a script with a note: %+v", d)
	}
	f.environ = append(f.environ, "SHELLCHECK_OPTS=--exclude=SC2086") // it was not set
	if d := f.check(0, "--with", "shellcheck", "s.sh"); d.Ran != 1 || len(d.Findings) != 0 {
		t.Errorf("with options: %+v", d)
	}
	f.write(".venv/bin/ruff", "#!/bin/sh\necho '[]'\n")
	for _, level := range []string{"off", "workspace", "off"} { // each may read what the others may not
		if d := f.check(0, "--with", "ruff", "a.py", "--sandbox", level); d.Ran+d.Reused != 1 || d.Failed != 0 {
			t.Errorf("within the bounds %s: %+v", level, d)
		} else if level == "workspace" && d.Ran != 1 {
			t.Errorf("a result from without bounds was reused within: %+v", d)
		}
	}
}

// TestCheckCodeOfACrash: a checker that is killed, or prints what is no report, has a failure, which is not kept.
func TestCheckCodeOfACrash(t *testing.T) {
	t.Parallel()
	f := newCodeFolder(t)
	for _, end := range []string{"exit 1", "kill -9 $$"} {
		f.write(".venv/bin/mypy", "#!/bin/sh\necho Traceback\n"+end+"\n")
		for range 2 {
			if d := f.check(1, "--with", "mypy", "a.py", "s.sh"); d.Failed != 1 || d.Checks[0].Error == "" {
				t.Errorf("of a checker that does %s: %+v", end, d)
			} else if d.Ran != 1 {
				t.Errorf("a checker that failed was not called again: %+v", d)
			} else if diff := cmp.Diff([]string{"s.sh"}, d.Unchecked); diff != "" {
				t.Error(diff)
			}
		}
	}
}

func TestCheckCodeErrors(t *testing.T) {
	t.Parallel()
	f := newCodeFolder(t)
	f.write("x.md", "text\n")
	for code, args := range map[string][]string{
		"usage": {"--with", "lint", "a.py"}, "no-file": {"none.py"}, "no-checker": {"x.md"},
	} {
		cmd := f.command(args)
		out, _ := cmd.Output()
		if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), `"code":"`+code+`"`) {
			t.Errorf("check-code %q = %d, %s, want 2, %s", args, cmd.ProcessState.ExitCode(), out, code)
		}
	}
}
