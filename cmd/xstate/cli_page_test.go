package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/term"
)

// TestCLIPage: docs/cli.md has the help text of every verb. Flags that many verbs share stand there once.
func TestCLIPage(t *testing.T) {
	const page, mark = "../../docs/cli.md", "<!-- verbs -->\n"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, got, found := strings.Cut(string(data), mark)
	if !found {
		t.Fatalf("%s has no %q", page, mark)
	}
	want := verbsPage(t)
	if *update {
		if err := os.WriteFile(page, []byte(before+mark+want), 0o666); err != nil {
			t.Fatal(err)
		}
		got = want
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got; go test ./cmd/xstate -run TestCLIPage -update writes it):\n%s", page, d)
	}
}

var (
	globalFlags = regexp.MustCompile(`(?s)\nGlobal Flags:\n.*`)
	moreHelp    = regexp.MustCompile(`(?s)\nUse "xstate.*`)
	verbList    = regexp.MustCompile(`(?s)\nAvailable Commands:\n.*?\n\n`)
	helpFlag    = regexp.MustCompile(` +-h, --help .*\n`)
)

// verbsPage makes a section of each verb's help text.
func verbsPage(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	root := (&app{printer: printer{ui: term.New(caller{}.env, 0, &bytes.Buffer{}, &bytes.Buffer{})}}).root()
	fmt.Fprintf(&b, "\n### Flags of all verbs\n\n```text\n%s```\n", root.PersistentFlags().FlagUsages())
	var run *cobra.Command
	var add func(c *cobra.Command)
	add = func(c *cobra.Command) {
		switch {
		case c.Name() == "run":
			run = c
		case c.Name() == "help" || c.Hidden:
			return
		}
		text := helpText(t, c)
		fmt.Fprintf(&b, "\n### %s\n\n```text\n%s```\n", c.CommandPath(), text)
		for _, sub := range c.Commands() {
			add(sub)
		}
	}
	for _, c := range root.Commands() {
		add(c)
	}
	usages := run.Flags().FlagUsages()
	var origin strings.Builder
	for line := range strings.Lines(usages) {
		if isOriginLine(line) {
			origin.WriteString(line)
		}
	}
	head := fmt.Sprintf("\n### Flags of all verbs that make a step\n\n```text\n%s```\n", origin.String())
	return head + b.String()
}

// helpText is what --help prints of a verb, without the flags that the page has elsewhere.
func helpText(t *testing.T, c *cobra.Command) string {
	t.Helper()
	var out, errOut bytes.Buffer
	args := append(strings.Fields(c.CommandPath())[1:], "--help")
	if code := run(args, strings.NewReader(""), &out, &errOut); code != 0 {
		t.Fatalf("run(%q) = %d: %s", args, code, errOut.String())
	}
	text := globalFlags.ReplaceAllString(out.String(), "")
	text = moreHelp.ReplaceAllString(text, "")
	text = verbList.ReplaceAllString(text, "\n")
	text = helpFlag.ReplaceAllString(text, "")
	var b strings.Builder
	origin := false
	for line := range strings.Lines(text) {
		if isOriginLine(line) {
			if !origin {
				b.WriteString("      …and the flags of all verbs that make a step\n")
			}
			origin = true
			continue
		}
		b.WriteString(line)
	}
	return strings.TrimSuffix(strings.TrimRight(b.String(), "\n"), "\n\nFlags:") + "\n"
}

// isOriginLine reports whether a line of a help text is about a flag of the origin.
func isOriginLine(line string) bool {
	for i := range originFields {
		if strings.HasPrefix(strings.TrimSpace(line), "--"+originFields[i].name+" ") {
			return true
		}
	}
	return false
}
