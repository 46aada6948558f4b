package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/term"
)

// TestManPages: each verb has a page with its help, and what is text is no request to the formatter.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	var out, errOut bytes.Buffer
	if code := run([]string{"man", dir}, strings.NewReader(""), &out, &errOut); code != 0 {
		t.Fatalf("run(man) = %d, stderr %q", code, errOut.String())
	}
	known := regexp.MustCompile(`^\.(TH|SH|TP|PP|nf|fi|BR)( |$)`)
	pages := 0
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		data, err := os.ReadFile(filepath.Join(dir, pageName(c)+".1"))
		if err != nil {
			t.Error(err)
			return
		}
		pages++
		for line := range strings.Lines(string(data)) {
			if strings.ContainsAny(line[:1], ".'") && !known.MatchString(strings.TrimSpace(line)) {
				t.Errorf("%s: a request that is not known: %s", pageName(c), line)
			}
		}
		first, _, _ := strings.Cut(c.Long, "\n")
		if !strings.Contains(string(data), roff(first)) {
			t.Errorf("the page of %s lacks %q", c.CommandPath(), first)
		}
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				walk(sub)
			}
		}
	}
	walk((&app{printer: printer{ui: term.New(caller{}.env, 0, &bytes.Buffer{}, &bytes.Buffer{})}}).root())
	if pages < 30 {
		t.Errorf("%d pages, want one of each verb", pages)
	}
	if got, want := roff(`.a 'b' \c --d`), `\&.a \(aqb\(aq \ec \-\-d`; got != want {
		t.Errorf("roff = %q, want %q", got, want)
	}
}
