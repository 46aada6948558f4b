package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/internal/serve"
)

// article returns the part of a block in a view of the program.
func article(page, block string) string {
	_, part, _ := strings.Cut(page, `<section id="b-`+block+`"`)
	part, _, _ = strings.Cut(part, "</section>")
	return part
}

// TestPageOfOldFailure: a block that fails as before says at which step it was executed, whichever run was the last.
func TestPageOfOldFailure(t *testing.T) {
	t.Parallel()
	s := newInServer(t, serve.Options{})
	program := "# %% data\nx = 1\n# %% fails\ny = 1 / 0\n# %% total\nprint(y)\n"
	s.write("f.py", program)
	s.do(nil, "run", "f.py") // step 4
	for _, x := range []string{"2", "3"} {
		s.write("f.py", strings.Replace(program, "x = 1", "x = "+x, 1))
		s.do(nil, "run", "f.py") // steps 6 and 8
	}
	b := newBrowser(t, s, false)
	link := regexp.MustCompile(`>(at step \d+)</a>`)
	for path, want := range map[string]string{"": "at step 4", "&step=6": "at step 4", "&step=4": "at step 4"} {
		page := b.shows("/ui/program?session=f.py" + path)
		if got := link.FindStringSubmatch(article(page, "fails")); len(got) != 2 || got[1] != want {
			t.Errorf("fails, %q: %q, want %q:\n%s", path, got, want, article(page, "fails"))
		}
		if got := link.FindString(article(page, "total")); got != "" {
			t.Errorf("total, %q: %s, and it is blocked", path, got)
		}
	}
	s.write("f.py", strings.Replace(program, "1 / 0", "2 / 0", 1))
	s.do(nil, "run", "f.py") // step 11
	page := b.shows("/ui/program?session=f.py")
	if got := link.FindStringSubmatch(article(page, "fails")); len(got) != 2 || got[1] != "at step 11" {
		t.Errorf("fails after another edit: %q, want at step 11", got)
	}
}
