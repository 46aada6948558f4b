package patch

import (
	"strings"
	"testing"
)

// TestWords: a word of prose became a block, because it is a valid name.
func TestWords(t *testing.T) {
	const file = "# %% a\nrows = 1\n\n# %% b\nprint(rows)\n"
	for text, want := range map[string]bool{
		"Done\n":                   false,
		"ok, done":                 false,
		"Note: done":               false,
		"not done\n":               false,
		"Done!":                    false,
		"```python\nDone\n```\n":   false,
		"rows\n":                   true, // the program binds it
		"rows: int\n":              true,
		"import os\n":              true,
		"pass\n":                   true,
		"done()\n":                 true,
		"Done = 1\n":               true,
		"# %% c\nDone\n":           true,
		"not rows, done\n":         true,
		"```python\nDone()\n```\n": true,
	} {
		_, err := revised(t, "p.py", file, text)
		if bad, ok := err.(*ParseError); (err == nil) != want || err != nil && (!ok || bad.Code != CodePatch) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
	p, err := Read("Done\n", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Revise(p, Subject{Name: "new.py"}); err == nil {
		t.Error("prose became a new file")
	}
	if r, err := submitted(t, "Done\n"); err != nil || len(r.Blocks) != 1 {
		t.Errorf("%+v, %v; want a name to be executed, as Python says what is wrong", r, err)
	}
}

// TestProseAround: prose beside code without a fence is told from code with an error.
func TestProseAround(t *testing.T) {
	for text, want := range map[string]bool{
		"Here is the fixed code:\nx = 1\nprint(x)":        true,
		"Sure, this does it.\n\nx = 1":                    true,
		"x = 1\n\nThis prints the value.":                 true,
		"Here is the code:\n\nx = 1\n\nThat is all of it": true,
		"x = 1\nprint(x":                                  false,
		"for i in rows\n    print(i)":                     false,
		"x = 1":                                           false,
		"Here is the code:\nx = (":                        false,
		"Only words stand here.\nAnd here as well too.":   false,
		"print the value of it\nx = 1":                    false,
	} {
		if got := ProseAround(text); got != want {
			t.Errorf("ProseAround(%q) = %v, want %v", text, got, want)
		}
	}
}

// TestCodeTags: code in tags was prose, or an error of syntax.
func TestCodeTags(t *testing.T) {
	for text, want := range map[string][]string{
		"So:\n<code>\nx = 1\nprint(x)\n</code>\n":                          {"x = 1\nprint(x)"},
		"So:\n<code>x = 1</code>\nand\n<code>\ny = 2\n</code>":             {"x = 1", "y = 2"},
		"So:\n<code>\nx = 1\n":                                             {"x = 1"},
		"So:\n<code language=\"python\">\n# %% a\nx = 1\n</code>\nThat's.": {"x = 1"},
		"const a = (\n  <code>\n    x\n  </code>\n);":                      nil,
		"text = '''\n<code>\nx\n</code>\n'''":                              {"text = '''\n<code>\nx\n</code>\n'''"},
		"So:\n```python\nx = '''\n<code>\n</code>\n'''\n```\n":             {"x = '''\n<code>\n</code>\n'''"},
	} {
		if want == nil { // TSX
			if got := fenced(text); got != text {
				t.Errorf("fenced(%q) = %q", text, got)
			}
			continue
		}
		p, reply, err := ReadSubmission(text, "")
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		q, err := Read(text, "")
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		for _, p := range []*Patch{p, q} {
			var got []string
			for _, s := range p.Sections {
				got = append(got, s.Text)
			}
			if strings.Join(got, "|") != strings.Join(want, "|") {
				t.Errorf("%q: %q (reply %v), want %q", text, got, reply, want)
			}
		}
	}
}
