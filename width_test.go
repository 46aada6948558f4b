package xstate_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// maxColumns is the width of a line of Go and of prose. A tab counts as four columns.
const maxColumns = 120

// TestWidth reads every Go file and every Markdown file of the repository. No line is wider.
func TestWidth(t *testing.T) {
	wide := linesTooWide(t, os.DirFS("."))
	for _, folder := range slices.Sorted(maps.Keys(wide)) {
		t.Errorf("%s: lines are wider than %d columns:\n%s", folder, maxColumns, strings.Join(wide[folder], "\n"))
	}
}

func TestWideLinesAreFound(t *testing.T) {
	long := strings.Repeat("a ", maxColumns)
	url := "https://example.org/" + strings.Repeat("a", maxColumns)
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"a.go":            "package a\n\n// " + long + "\nvar s = `\n" + long + "`\n",
		"tabs.go":         "package a\n\n\t\t// " + strings.Repeat("a ", (maxColumns-8)/2) + "\n",
		"exact.go":        "package a // " + strings.Repeat("ä", maxColumns-13),
		"link.go":         "package a\n\n// " + url + "\n",
		"b/b.md":          long + "\n\n    " + long + "\n- [it](" + url + ")\n[a]: " + url + "\n| " + long + "|\n",
		"b/fence.md":      "```\n" + long + "\n```\n" + long + "\n~~~~ text\n```\n" + long + "\n~~~~\n",
		"b/b.txt":         long,
		"testdata/a.go":   long,
		"b/testdata/a.md": long,
		"build/a.go":      long,
		".git/a.go":       long,
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	want := map[string][]string{
		".": {"a.go:3", "a.go:5", "tabs.go:3"},
		"b": {"b/b.md:1", "b/b.md:3", "b/fence.md:4"},
	}
	if d := cmp.Diff(want, linesTooWide(t, files)); d != "" {
		t.Errorf("lines found (-want +got):\n%s", d)
	}
}

// linesTooWide returns "file:line" of the lines wider than maxColumns, by folder. It leaves out lines of Markdown in
// code fences and in tables, and lines whose width is that of one word, such as a link.
func linesTooWide(t *testing.T, root fs.FS) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		base, ext := path.Base(name), path.Ext(name)
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case d.IsDir() && (strings.ContainsAny(base[:1], "._") ||
			slices.Contains([]string{"testdata", "build", "bin"}, base)):
			return fs.SkipDir
		case d.IsDir() || ext != ".go" && ext != ".md":
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		fence := ""
		for i, line := range bytes.Split(text, []byte("\n")) {
			s := string(line)
			if ext == ".md" {
				mark := fenceMark(s)
				switch {
				case fence == "" && mark != "":
					fence = mark
					continue
				case fence != "":
					if strings.HasPrefix(mark, fence) {
						fence = ""
					}
					continue
				case strings.HasPrefix(strings.TrimSpace(s), "|"):
					continue
				}
			}
			if columns(s) > maxColumns && !oneWord(s) {
				found[path.Dir(name)] = append(found[path.Dir(name)], fmt.Sprintf("%s:%d", name, i+1))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func columns(line string) int { return utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")) }

// oneWord reports whether a line is little more than an address, which cannot be broken.
func oneWord(line string) bool {
	return slices.ContainsFunc(strings.Fields(line), func(w string) bool {
		return strings.Contains(w, "://") && utf8.RuneCountInString(w) > maxColumns/2
	})
}

// fenceMark returns the backquotes or tildes that open or close a code fence; "" on other lines.
func fenceMark(line string) string {
	s := strings.TrimLeft(line, " ")
	for _, sign := range []string{"`", "~"} {
		if n := len(s) - len(strings.TrimLeft(s, sign)); n >= 3 {
			return s[:n]
		}
	}
	return ""
}
