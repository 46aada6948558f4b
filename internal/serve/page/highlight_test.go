package page

import (
	"html/template"
	"regexp"
	"strings"
	"testing"
)

// TestWithFault marks each line of a source with tokens of several lines: the text stays, and elements are closed.
func TestWithFault(t *testing.T) {
	source := "s = '''one\ntwo''' + 1 # < no\n\nf('''a\nb\nc''')\n"
	text := regexp.MustCompile(`<[^>]*>`)
	plain := template.HTMLEscapeString(source)
	for line := -1; line < 9; line++ {
		got := string(withFault(highlighted(source, "python", map[string]string{"f": "/f"}), line))
		if d := text.ReplaceAllString(got, ""); d != plain {
			t.Errorf("line %d: the text is %q, want %q", line, d, plain)
		}
		for _, name := range []string{"span", "mark"} {
			if strings.Count(got, "<"+name) != strings.Count(got, "</"+name) {
				t.Errorf("line %d: %s is not closed: %q", line, name, got)
			}
		}
		_, marked, found := strings.Cut(got, "<mark")
		marked, _, _ = strings.Cut(marked, "</mark>")
		_, marked, _ = strings.Cut(marked, ">")
		lines := strings.Split(plain, "\n")
		if want := line >= 1 && line <= len(lines); found != want {
			t.Errorf("line %d: marked %v, want %v", line, found, want)
		} else if want && text.ReplaceAllString(marked, "") != lines[line-1] {
			t.Errorf("line %d: marked %q, want %q", line, marked, lines[line-1])
		}
	}
}
