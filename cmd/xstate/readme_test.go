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

// unsteady is what differs from one run of a session to the next, or between machines.
var unsteady = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`), "DATE"},
	{regexp.MustCompile(`(<1|\d+(\.\d+)?) m?s\b`), "TIME"},
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

var interpreterName = regexp.MustCompile(`cpython 3\.\d+`)

// TestAuditorsWalk runs the commands of "An auditor's walk" in README.md. Each succeeds, and prints what is shown there, where the
// interpreter is the one that it was made with: others observe other names.
func TestAuditorsWalk(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	for _, tool := range []string{"bash", "openssl", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, walk, _ := strings.Cut(string(readme), "<!-- audit -->\n```console\n")
	walk, _, found := strings.Cut(walk, "```\n<!-- end -->")
	commands := strings.Split("\n"+walk, "\n$ ")[1:]
	if !found || len(commands) < 10 {
		t.Fatalf("README.md has %d commands in its walk", len(commands))
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../testdata/demo")); err != nil {
		t.Fatal(err)
	}
	made := interpreterName.FindString(walk)
	for _, c := range commands {
		command, want, _ := strings.Cut(c, "\n")
		cmd := exec.Command("bash", "-o", "pipefail", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "XSTATE_AGENT=", "NO_COLOR=1")
		out, err := cmd.CombinedOutput()
		if err != nil && !strings.Contains(command, "| head") { // who prints into a closed pipe may fail
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		if used := interpreterName.FindString(string(out)); used != "" && used != made {
			made = "" // another: that each succeeds is all there is to compare
		}
		if made == "" || strings.Contains(command, "| ") {
			continue // of a pipe, the two streams come in any order
		}
		if d := cmp.Diff(steady(want), steady(string(out))); d != "" {
			t.Errorf("%s (-README.md +got; make readme refreshes it):\n%s", command, d)
		}
	}
	for _, name := range []string{"low.intoto.json", filepath.Join("out", "summary.csv")} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
