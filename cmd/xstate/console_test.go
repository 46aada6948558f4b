package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unsteady lists what differs from one run of a session to the next, or between machines.
var unsteady = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`), "DATE"},
	{regexp.MustCompile(`(<1|\d+(\.\d+)?) m?s\b`), "TIME"},
	{regexp.MustCompile(` \(TIME (saved|lost)\)`), ""}, // it is not told below half a millisecond
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "HASH"},
	{regexp.MustCompile(`by key [0-9a-f]+`), "by key KEY"},
	{regexp.MustCompile(`(conf:\S+ +)[0-9a-f]{12}`), "$1 DIGEST"},
	{regexp.MustCompile(`, \d+ kB`), ", SIZE"},
	{regexp.MustCompile(` +`), " "},
}

func steady(text string) string {
	for _, u := range unsteady {
		text = u.pattern.ReplaceAllString(text, u.with)
	}
	return strings.TrimSpace(text)
}

// madeWith finds the interpreter that the pages were made with, in docs/audit.md.
var madeWith = regexp.MustCompile(`cpython 3\.\d+`)

// TestConsoleSessions runs the commands of the console sessions in README.md and docs. Each command succeeds. It prints
// what the page shows if the interpreter is the one that the pages were made with: others observe other names.
func TestConsoleSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	for _, tool := range []string{"bash", "openssl", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	audit, err := os.ReadFile("../../docs/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	compare := strings.Contains(usedInterpreter(t), madeWith.FindString(string(audit)))
	for _, c := range []struct {
		page, mark string
		least      int      // commands
		makes      []string // files
	}{
		{page: "README.md", mark: "first", least: 4},
		{page: "README.md", mark: "session", least: 5, makes: []string{"out/summary.csv"}},
		{page: "docs/audit.md", mark: "audit", least: 10, makes: []string{"out/summary.csv", "low.intoto.json"}},
	} {
		t.Run(c.mark, func(t *testing.T) {
			text, err := os.ReadFile("../../" + c.page)
			if err != nil {
				t.Fatal(err)
			}
			_, shown, _ := strings.Cut(string(text), "<!-- "+c.mark+" -->\n```console\n")
			shown, _, found := strings.Cut(shown, "```\n<!-- end -->")
			commands := strings.Split("\n"+shown, "\n$ ")[1:]
			if !found || len(commands) < c.least {
				t.Fatalf("%s has %d commands at the mark %s, want %d", c.page, len(commands), c.mark, c.least)
			}
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS("../../testdata/demo")); err != nil {
				t.Fatal(err)
			}
			checkCommands(t, dir, c.page, commands, compare)
			for _, name := range c.makes {
				if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// usedInterpreter returns a text that names the interpreter that commands use here.
func usedInterpreter(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../testdata/demo")); err != nil {
		t.Fatal(err)
	}
	out, err := shell(dir, "xstate run first.py --quiet && xstate log --limit 1 --json")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// checkCommands runs the commands of a page in a folder and compares, if asked, each output with the one on the page.
func checkCommands(t *testing.T, dir, page string, commands []string, compare bool) {
	t.Helper()
	for _, c := range commands {
		command, want, _ := strings.Cut(strings.ReplaceAll(c, "\\\n", ""), "\n") // a command may go over two lines
		out, err := shell(dir, command)
		if err != nil && !strings.Contains(command, "| head") { // a command that prints into a closed pipe may fail
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		if !compare || strings.Contains(command, "| ") {
			continue // in a pipe the two streams come in any order
		}
		if d := cmp.Diff(steady(want), steady(out)); d != "" {
			t.Errorf("%s (-%s +got; make readme refreshes it):\n%s", command, page, d)
		}
	}
}

// shell runs a command in a folder and returns what it prints to both streams.
func shell(dir, command string) (string, error) {
	cmd := exec.Command("bash", "-o", "pipefail", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "XSTATE_AGENT=", "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
