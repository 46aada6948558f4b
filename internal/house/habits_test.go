package house

import (
	"go/scanner"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// habits are ways of putting things that a stranger reads twice. most is how many of them 1,000 lines of comments may
// have: about what is usual in Go projects. It may fall and not rise.
var habits = []struct {
	name string
	find *regexp.Regexp
	most float64
}{
	{"a fragment that begins with of", regexp.MustCompile(`^(of|Of) `), 4},
	{"nobody, somebody, whoever", regexp.MustCompile(`(?i)\b(nobody|somebody|whoever)\b`), 0.3},
	{"stands", regexp.MustCompile(`\bstands?\b`), 0.3},
	{"told, tells", regexp.MustCompile(`\b(told|tells?)\b`), 2},
	{"of its own", regexp.MustCompile(`\bof (its|their) own\b`), 0.3},
	{"goes on", regexp.MustCompile(`\b(go|goes) on\b`), 0.5},
	{"is no", regexp.MustCompile(`\b(is|are) no [a-z]`), 1},
	{"a sentence that begins with What", regexp.MustCompile(`(^|[.:] )What\b`), 0.5},
	{"where there is", regexp.MustCompile(`\bwhere (there|it|they)\b`), 0.5},
}

// TestHabits counts habits in the comments of the Go files. With -v it prints the counts.
func TestHabits(t *testing.T) {
	comments := commentLines(t)
	for _, h := range habits {
		var found []string
		for _, c := range comments {
			if h.find.MatchString(c.text) {
				found = append(found, c.at+": "+c.text)
			}
		}
		rate := 1000 * float64(len(found)) / float64(len(comments))
		t.Logf("%-36s %4d  %4.1f of 1,000", h.name, len(found), rate)
		if rate > h.most {
			t.Errorf("%s: %.1f in 1,000 lines of comments, want at most %.1f:\n%s",
				h.name, rate, h.most, strings.Join(found, "\n"))
		}
	}
}

// commentLine is a line of a comment, without its slashes.
type commentLine struct{ at, text string }

// commentLines returns those of all Go files that are neither tests nor generated.
func commentLines(t *testing.T) (lines []commentLine) {
	t.Helper()
	eachSource(t, os.DirFS(root), func(name string, text []byte) error {
		if !generated.Match(text) {
			lines = append(lines, commentsIn(name, text)...)
		}
		return nil
	})
	if len(lines) == 0 {
		t.Fatal("there are no comments")
	}
	return lines
}

func commentsIn(name string, source []byte) (lines []commentLine) {
	files := token.NewFileSet()
	file := files.AddFile(name, -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok == token.COMMENT {
			text = strings.TrimSpace(strings.TrimLeft(text, "/* "))
			lines = append(lines, commentLine{files.Position(pos).String(), text})
		}
	}
}

func TestHabitsAreFound(t *testing.T) {
	source := "package p // of a kind\n\n" +
		"// X stands where there is none, told to nobody of its own. What goes on is no matter.\nvar X = \"of \"\n"
	var found []string
	for _, h := range habits {
		if slices.ContainsFunc(commentsIn("p.go", []byte(source)), func(c commentLine) bool {
			return h.find.MatchString(c.text)
		}) {
			found = append(found, h.name)
		}
	}
	if len(found) != len(habits) {
		t.Errorf("found %q in a text that has them all", found)
	}
}
