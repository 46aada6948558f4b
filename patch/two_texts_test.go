package patch

import (
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// TestTwoTexts: an answer said "use this … instead of …" with the old text last, and the old text was applied.
func TestTwoTexts(t *testing.T) {
	const file = "# %% tail\nprint(\"done\")\n\n# %% f\ndef f():\n    return 1\n"
	const def = "def f():\n    return "
	for text, want := range map[string]bool{
		"Use\n```python\n# %% tail\nprint(1)\n```\ninstead of\n```python\n# %% tail\nprint(\"done\")\n```\n": false,
		"# %% tail\nprint(1)\n\n# %% tail\nprint(2)\n":                                                       false,
		"```python\n" + def + "2\n```\ninstead of\n```python\n" + def + "1\n```\n":                           false,
		"```python\n" + def + "2\n```\nand again\n```python\n" + def + "2\n```\n":                            true,
		"# %% tail\nprint(1)\n\n# %% f\n" + def + "2\n":                                                      true,
		"```python\n" + def + "2\n```\nand\n```python\ndef g():\n    return f()\n```\n":                      true,
		"if 1:\n    " + strings.ReplaceAll(def, "\n", "\n    ") + "2\nelse:\n    f = None\n":                 true,
	} {
		_, err := revised(t, "p.py", file, text)
		bad, ok := err.(*ApplyError)
		if (err == nil) != want || err != nil && (!ok || bad.Code != CodeAmbiguous) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
	two := "Use\n```python\n# %% tail\nprint(1)\n```\ninstead of\n```python\n# %% tail\nprint(0)\n```\n"
	if _, err := submitted(t, two); err == nil {
		t.Error("two texts for a block were executed")
	}
	two = strings.ReplaceAll(two, "# %% tail", "def f():\n    return 1")
	if _, err := submitted(t, two); err != nil {
		t.Errorf("%v; want the later definition to count, as in Python", err)
	}
}

// submitted returns the revision by a text that is to be executed in a new session.
func submitted(t *testing.T, text string) (*Revision, error) {
	t.Helper()
	p, reply, err := ReadSubmission(text, "")
	if err != nil {
		t.Fatal(err)
	}
	no := func(string) bool { return false }
	return Revise(p, Subject{Submitted: &Submitted{Reply: reply, Overtaken: no, Consumed: no}})
}

// TestSkipped: code in a language that the program lacks was dropped without a word.
func TestSkipped(t *testing.T) {
	const text = "Write:\n```bash\necho 7 > n.txt\n```\nand read:\n```python\nprint(open('n.txt').read())\n```\n" +
		"```js\nconsole.log(1)\n```\n"
	r, err := submitted(t, text)
	if err != nil || len(r.Blocks) != 1 || len(r.Skipped) != 2 {
		t.Fatalf("%+v, %v; want one block, and two fences skipped", r, err)
	}
	if got := r.SkippedText(); !strings.Contains(got, "bash and javascript") || !strings.Contains(got, "echo 7") {
		t.Errorf("SkippedText() = %q", got)
	}
	if r, err = revised(t, "p.py", "x = 1\n", text); err != nil || len(r.Skipped) != 2 {
		t.Errorf("%+v, %v; want two fences skipped", r, err)
	}
	if r, err = submitted(t, "```bash\necho 1\n```\n"); err != nil || r.SkippedText() != "" {
		t.Errorf("%+v, %v; want nothing skipped", r, err)
	}
}

// TestFailedFollows: a reply gave a new block and then, again, the one that had failed without it, and the failed one
// kept its place before it.
func TestFailedFollows(t *testing.T) {
	p, _, err := ReadSubmission("```bash\necho 7 > n.txt\n```\n```python\nprint(open('n.txt').read())\n```\n", "")
	if err != nil {
		t.Fatal(err)
	}
	no := func(string) bool { return false }
	for _, failed := range [][]string{{"b1"}, nil} {
		r, err := Revise(p, Subject{Failed: failed, Submitted: &Submitted{Reply: true, Overtaken: no, Consumed: no},
			Blocks: []Block{{ID: "b1", Dialect: syntax.Python, Source: "print(open('n.txt').read())"},
				{ID: "b2", Dialect: syntax.Bash, Source: "echo x"}}})
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		for _, b := range r.Blocks {
			order = append(order, b.ID)
		}
		want := "b1 b2 b3"
		if failed != nil {
			want = "b2 b3 b1"
		}
		if got := strings.Join(order, " "); got != want {
			t.Errorf("failed %v: order %q, want %q", failed, got, want)
		}
	}
}
