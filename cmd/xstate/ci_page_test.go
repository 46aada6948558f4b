package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/clients"
)

// ciPageFile returns the text of a file on docs/ci.md.
func ciPageFile(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, blocks := range pageSections(string(page)) {
		for _, block := range blocks {
			if block.file == name {
				return block.text
			}
		}
	}
	t.Fatalf("the page has no file %s", name)
	return ""
}

// TestCIPageInputs: what the examples of GitHub and GitLab set is there to be set.
func TestCIPageInputs(t *testing.T) {
	for _, c := range []struct{ example, set, file string }{
		{".github/workflows/analysis.yml", `(?m)^ {10}(\S+):`, "../../clients/github-action/action.yml"},
		{".gitlab-ci.yml", `(?m)^ {4}(\S+):`, "../../clients/gitlab/xstate.yml"},
	} {
		text, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(c.set).FindAllStringSubmatch(ciPageFile(t, c.example), -1)
		if len(names) < 2 {
			t.Errorf("%s sets %d inputs, want 2 or more", c.example, len(names))
		}
		for _, name := range names {
			if !regexp.MustCompile(`(?m)^ +` + name[1] + `:`).Match(text) {
				t.Errorf("%s sets %s, which %s does not have", c.example, name[1], c.file)
			}
		}
	}
}

// TestCIPagePreCommit commits a program that works and one that fails, with the hook of the page. The hook installs the
// packages of a release that is made here.
func TestCIPagePreCommit(t *testing.T) {
	if testing.Short() {
		t.Skip("takes six seconds")
	}
	preCommit := filepath.Join(clients.Folder(t, "pre-commit"), "bin", "pre-commit")
	python, wheels, folder := clientPython(xstatetest.Pythons()[0]), t.TempDir(), t.TempDir()
	defer stopServers(t, folder)
	ran(t, python, pythonClient+"/wheels.py", "v"+clientVersion(t), releasedPrograms(t), wheels)
	ran(t, python, "-m", "venv", "--without-pip", filepath.Join(folder, ".venv"))
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(".pre-commit-config.yaml", ciPageFile(t, ".pre-commit-config.yaml"))
	write(".gitignore", ".venv\n.xstate\n")
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "XSTATE_PYTHON=", "XDG_CACHE_HOME="+t.TempDir(), "PIP_FIND_LINKS="+wheels,
			"PRE_COMMIT_HOME="+filepath.Join(wheels, "hooks"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a",
			"GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, args := range [][]string{{"git", "init", "--quiet"}, {preCommit, "install"}} {
		if out, err := run(args...); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	write("analysis.py", "import sys\nassert sys.prefix.endswith('.venv')\nx = 1\n")
	if _, err := run("git", "add", "."); err != nil {
		t.Fatal(err)
	}
	if out, err := run("git", "commit", "-m", "first"); err != nil || !strings.Contains(out, "Passed") {
		t.Errorf("the program was not committed: %v\n%s", err, out)
	}
	write("analysis.py", "x = 0\n1 / x\n")
	out, err := run("git", "commit", "-a", "-m", "second")
	if err == nil || !strings.Contains(out, `File "analysis.py", line 2`) {
		t.Errorf("a program that fails was committed: %v\n%s", err, out)
	}
}
