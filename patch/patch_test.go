package patch

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// fixture is a patch, the texts before it, and what they become or why they do not.
//
// The comment of the archive says what it shows. Lines in it that begin with a word and a colon are directives:
//
//	crlf: FILE…     these files have \r\n
//	unended: FILE…  the last line of these has no end
//	match: WORD     the loosest strictness
//	format: WORD    what it is read as, where that is not its folder
type fixture struct {
	name, patch   string
	format        Format
	before, after map[string]string
	refused       string // the code of the error
	says          string // part of its message
	match         string
}

func fixtures(t testing.TB) []fixture {
	t.Helper()
	var all []fixture
	err := filepath.WalkDir("testdata/patches", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f := fixture{name: filepath.ToSlash(name), before: map[string]string{}, after: map[string]string{}}
		f.format = Format(path.Base(path.Dir(f.name)))
		f.read(txtar.Parse(data))
		all = append(all, f)
		return nil
	})
	if err != nil || len(all) < 80 {
		t.Fatalf("%d fixtures: %v", len(all), err)
	}
	return all
}

func (f *fixture) read(a *txtar.Archive) {
	f.match = "exact"
	crlf, unended := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(string(a.Comment)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		into := map[string]map[string]bool{"crlf": crlf, "unended": unended}[word]
		for _, name := range strings.Fields(rest) {
			if into != nil {
				into[name] = true
			}
		}
		switch word {
		case "match":
			f.match = rest
		case "format":
			f.format = Format(rest)
		}
	}
	for _, file := range a.Files {
		text := string(file.Data)
		if unended[file.Name] {
			text = strings.TrimSuffix(text, "\n")
		}
		if crlf[file.Name] {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		folder, name, _ := strings.Cut(file.Name, "/")
		switch folder {
		case "patch":
			f.patch = text
		case "before":
			f.before[name] = text
		case "after":
			f.after[name] = text
		case "refused":
			f.refused, f.says, _ = strings.Cut(strings.TrimSpace(text), "\n")
		}
	}
}

// run reads and applies the patch.
func (f *fixture) run() (*Patch, *Result, error) {
	p, err := Read(f.patch, "")
	if err != nil {
		return nil, nil, err
	}
	r, err := p.Apply(f.before)
	return p, r, err
}

func codeOf(err error) string {
	var unfit *ApplyError
	var bad *ParseError
	switch {
	case errors.As(err, &unfit):
		return string(unfit.Code)
	case errors.As(err, &bad):
		return string(bad.Code)
	}
	return ""
}

// TestPatches checks each fixture. A refused patch changes nothing. The inverse undoes an applied patch. A printed
// patch reads as the same patch.
func TestPatches(t *testing.T) {
	for _, f := range fixtures(t) {
		t.Run(strings.TrimPrefix(strings.TrimSuffix(f.name, ".txt"), "testdata/patches/"), func(t *testing.T) {
			before := maps.Clone(f.before)
			p, r, err := f.run()
			if d := cmp.Diff(before, f.before); d != "" {
				t.Fatalf("the texts given were changed:\n%s", d)
			}
			if f.refused != "" {
				if codeOf(err) != f.refused || !strings.Contains(err.Error(), f.says) {
					t.Fatalf("error = %q: %v, want %q: …%s…", codeOf(err), err, f.refused, f.says)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", codeOf(err), err)
			}
			if p.Format != f.format {
				t.Errorf("format = %s, want %s", p.Format, f.format)
			}
			if d := cmp.Diff(f.after, r.Texts); d != "" {
				t.Errorf("texts (-want +got):\n%s", d)
			}
			if got := r.Loosest().String(); got != f.match {
				t.Errorf("match = %s, want %s", got, f.match)
			}
			checkUndone(t, r, f.before)
			checkPrinted(t, p)
		})
	}
}

func checkUndone(t *testing.T, r *Result, before map[string]string) {
	t.Helper()
	back, err := r.Done.Invert().Apply(r.Texts)
	if err != nil {
		t.Fatalf("the inverse: %v", err)
	}
	if d := cmp.Diff(before, back.Texts); d != "" {
		t.Errorf("undone (-before +got):\n%s", d)
	}
	again, err := r.Done.Apply(before)
	if err != nil {
		t.Fatalf("what was done, again: %v", err)
	}
	if d := cmp.Diff(r.Texts, again.Texts); d != "" {
		t.Errorf("what was done, again (-first +second):\n%s", d)
	}
}

// checkPrinted checks that a patch that is printed in its format and read again is the same.
func checkPrinted(t *testing.T, p *Patch) {
	t.Helper()
	text, err := p.Print(p.Format)
	if err != nil {
		t.Fatalf("Print(%s) = %v", p.Format, err)
	}
	q, err := Read(text, p.Format)
	if err != nil {
		t.Fatalf("what is printed cannot be read: %v\n%s", err, text)
	}
	if d := cmp.Diff(said(p), said(q)); d != "" {
		t.Errorf("printed and read (-first +second):\n%s\n%s", d, text)
	}
}

// TestCompare prints the patch between texts of every shape in each format that can express it, and reads it again from
// among prose. It must give the other text.
func TestCompare(t *testing.T) {
	many := strings.Repeat("x = 1\n", 30)
	texts := map[string][2]string{
		"one line":       {"a\nb\nc\n", "a\nB\nc\n"},
		"empty before":   {"", "a\n"},
		"no end":         {"a\nb", "a\nc"},
		"end comes":      {"a\nb", "a\nb\n"},
		"end goes":       {"a\nb\n", "a\nb"},
		"crlf":           {"a\r\nb\r\nc\r\n", "a\r\nB\r\nc\r\n"},
		"tabs":           {"if a:\n\tb\n\tc\n", "if a:\n\tb\n\td\n"},
		"unicode":        {"s = 'naïve'\nt = '→'\n", "s = 'naïf'\nt = '→'\n"},
		"repeated lines": {many + "y = 2\n" + many, many + "y = 3\n" + many},
		"all the same":   {many, many[:60] + "y = 1\n" + many[60:]},
		"two places":     {many + "a\n" + many + "b\n", many + "A\n" + many + "B\n"},
		"markers":        {"<<<<<<< SEARCH\na\n", "+++ b\n--- c\n"},
		"ticks":          {"s = '''\n```\n'''\n", "s = '''\n~~~\n'''\n"},
		"dots":           {"def f():\n    ...\n", "def f():\n    ...\n    return\n"},
		"top and bottom": {"a\nb\n", "0\na\nb\n9\n"},
		"all lines":      {"a\nb\n", "c\nd\ne\n"},
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		for _, f := range Formats() {
			if f == FormatBlock {
				continue // which block it is, is for Revise
			}
			t.Run(name+"/"+string(f), func(t *testing.T) {
				old, new := map[string]string{"p.py": texts[name][0]}, map[string]string{"p.py": texts[name][1]}
				text, err := Compare(f, []string{"p.py"}, old, new).Print(f)
				if codeOf(err) == string(CodeUnwritable) {
					t.Skip(err)
				}
				if err != nil {
					t.Fatal(err)
				}
				q, err := Read("This is why:\n\n"+text+"\nThat should do.\n", f)
				if err != nil {
					t.Fatalf("Read: %v\n%s", err, text)
				}
				r, err := q.Apply(old)
				if err != nil {
					t.Fatalf("Apply: %v\n%s", err, text)
				}
				want := new["p.py"]
				if f == FormatSearch || f == FormatV4A { // they have no words for a missing line end
					want, r.Texts["p.py"] = endLast(want), endLast(r.Texts["p.py"])
				}
				if d := cmp.Diff(want, r.Texts["p.py"]); d != "" {
					t.Errorf("(-want +got):\n%s\n%s", d, text)
				}
			})
		}
	}
}

// TestEveryFormat applies what can happen to any patch to patches in every format. It must do no harm.
func TestEveryFormat(t *testing.T) {
	const name = "my notes/p é.py"
	old := "def f(x):\n\treturn 2 * x\n\nprint(f(1), \"→\")\n"
	new := strings.Replace(old, "2 * x", "3 * x", 1)
	for _, f := range Formats() {
		if f == FormatBlock {
			continue // see TestReadBlock
		}
		was := map[string]string{name: old}
		text, err := Compare(f, []string{name}, was, map[string]string{name: new}).Print(f)
		if err != nil {
			t.Fatal(err)
		}
		for what, patch := range map[string]string{
			"plain": text, "prose": "I think:\n\n" + text + "\nThat is it.\n",
			"CRLF":  strings.ReplaceAll(text, "\n", "\r\n"),
			"fence": "```\n" + text + "```\n", "labelled fence": "Now:\n\n```diff\n" + text + "```\n\nDone.\n",
			"tildes":      "~~~\n" + text + "~~~\n",
			"blank lines": "\n\n" + text + "\n\n", "indented prose": "  - first\n  - second\n\n" + text,
		} {
			p, err := Read(patch, "")
			if err != nil || p.Format != f {
				t.Errorf("%s, %s: Read = %v, %v", f, what, p, err)
				continue
			}
			r, err := p.Apply(was)
			if err != nil {
				t.Errorf("%s, %s: Apply = %v", f, what, err)
				continue
			}
			if got := unix(r.Texts[name]); got != new {
				t.Errorf("%s, %s: made %q, want %q", f, what, got, new)
			}
			if _, err := p.Apply(map[string]string{"other.py": old}); codeOf(err) != string(CodeNoText) &&
				f != FormatCell {
				t.Errorf("%s, %s: without the text: %v", f, what, err)
			}
		}
		if _, err := Read("", f); codeOf(err) != string(CodePatch) {
			t.Errorf("%s: an empty patch: %v", f, err)
		}
		if testing.Short() {
			continue
		}
		long := strings.Repeat("# a line of a hundred bytes or so, of which there are very many, and none "+
			"says more than this one\n", 100_000)
		p := Compare(f, []string{name}, map[string]string{name: long},
			map[string]string{name: "x = 1\n" + long + "y = 2\n"})
		if text, err = p.Print(f); err != nil {
			t.Fatal(err)
		}
		if p, err = Read(text, f); err != nil {
			t.Fatalf("%s: a patch of %d MB: %v", f, len(text)>>20, err)
		}
		if r, err := p.Apply(map[string]string{name: long}); err != nil || r.Texts[name] != "x = 1\n"+long+"y = 2\n" {
			t.Errorf("%s: a patch of %d MB: %v", f, len(text)>>20, err)
		}
	}
}

// TestReadBlock reads rewritten code in every form in which agents send it.
func TestReadBlock(t *testing.T) {
	emitted := func(name, text string) Section { return Section{Act: ActEmit, Name: name, Text: text} }
	in := func(dialect string, s Section) Section {
		s.Dialect = dialect
		return s
	}
	for what, x := range map[string]struct {
		text string
		want []Section
	}{
		"plain":       {"x = 1\ny = 2\n", []Section{emitted("", "x = 1\ny = 2")}},
		"blank lines": {"\n\n    \nx = 1\n\n\n", []Section{emitted("", "x = 1")}},
		"a fence":     {"So:\n\n```python\nx = 1\n```\n\nDone.", []Section{in(syntax.Python, emitted("", "x = 1"))}},
		"no language": {"```\nx = 1\n```", []Section{emitted("", "x = 1")}},
		"tildes":      {"~~~py\nx = 1\n~~~\n", []Section{in(syntax.Python, emitted("", "x = 1"))}},
		"CRLF": {"Look:\r\n```python\r\nx = 1\r\ny = 2\r\n```\r\n", []Section{in(syntax.Python, emitted("",
			"x = 1\r\ny = 2"))}},
		"cut off": {"Look:\n```python\nx = 1\n", []Section{in(syntax.Python, emitted("", "x = 1"))}},
		"several": {"```python\nx = 1\n```\nand\n```python\ny = 2\n```\n",
			[]Section{in(syntax.Python, emitted("", "x = 1")), in(syntax.Python, emitted("", "y = 2"))}},
		"another language": {"```bash\npip install numpy\n```\n```python\nx = 1\n" +
			"```\n", []Section{in(syntax.Bash, emitted("", "pip install numpy")),
			in(syntax.Python, emitted("", "x = 1"))}},
		"a name in it": {"```python\n# %% load\nx = 1\n```\n", []Section{in(syntax.Python, emitted("load", "x = 1"))}},
		"a name on it": {"```python name=load\nx = 1\n```\n", []Section{in(syntax.Python, emitted("load", "x = 1"))}},
		"cells": {"# %% a\nx = 1\n\n# %% b\n" +
			"y = 2\n", []Section{emitted("a", "x = 1"), emitted("b", "y = 2")}},
		"in a list": {"1. Do\n\n   ```python\n   if x:\n       y = 1\n   ```\n",
			[]Section{in(syntax.Python, emitted("", "if x:\n    y = 1"))}},
		"a fence in a text": {"s = '''\n```\nx\n```\n'''\n", []Section{emitted("", "s = '''\n```\nx\n```\n'''")}},
		"magics": {"%matplotlib inline\n" +
			"plt.plot(x)\n", []Section{emitted("", "%matplotlib inline\nplt.plot(x)")}},
		"a wrong line": {"```python\nx = (\n```\n", []Section{in(syntax.Python, emitted("", "x = ("))}},
		"Unicode":      {"größe = \"→ 😀\"\n", []Section{emitted("", "größe = \"→ 😀\"")}},
		"a function":   {"def f():\n\treturn 1\n", []Section{emitted("", "def f():\n\treturn 1")}},
	} {
		p, err := Read(x.text, "")
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if d := cmp.Diff(x.want, p.Sections); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
		checkPrinted(t, p)
	}
	for _, text := range []string{"", " \n", "I would leave it.\n", "```fish\nls\n```\n"} {
		if _, err := Read(text, ""); codeOf(err) != string(CodePatch) {
			t.Errorf("Read(%q) = %v, want %s", text, err, CodePatch)
		}
	}
}
