package languages

import (
	"testing"

	"github.com/xstate-engine/xstate/depgraph"
)

// TestEachLanguage: what a text defines, and that a comment is no change of its code, in each dialect.
func TestEachLanguage(t *testing.T) {
	for dialect, c := range map[depgraph.Dialect]struct{ text, comment string }{
		"":           {"def f(a):\n    return a\n", "# x"},
		"python":     {"def f(a):\n    return a\n", "# x"},
		"ipython":    {"def f(a):\n    return a\n", "# x"},
		"javascript": {"function f(a) {\n  return a\n}\n", "// x"},
		"esm":        {"export function f(a) {\n  return a\n}\n", "// x"},
		"typescript": {"function f(a: number): number {\n  return a\n}\n", "/* x */"},
		"tsx":        {"function f(a: number) {\n  return <b>{a}</b>\n}\n", "// x"},
		"bash":       {"f() {\n  echo $1\n}\n", "# x"},
	} {
		was, err := Analyze([]byte(c.text), dialect)
		if err != nil {
			t.Errorf("Analyze in %q = %v", dialect, err)
			continue
		}
		now, err := Analyze([]byte(c.comment+"\n"+c.text), dialect)
		if err != nil || now.Tokens() != was.Tokens() {
			t.Errorf("%q: with a comment the code is another (%v)", dialect, err)
		}
		if got := Comments(now, dialect); len(got) != 1 || got[0] != c.comment {
			t.Errorf("Comments in %q = %q, want %q", dialect, got, c.comment)
		}
		o, err := Outline([]byte(c.text), dialect)
		if err != nil || len(o.Definitions) != 1 || o.Definitions[0].Name != "f" {
			t.Errorf("Outline in %q = %+v, %v; want f", dialect, o, err)
		}
		s, err := Symbols([]byte(c.text), dialect)
		if err != nil || s["f"]+s["f()"] == "" {
			t.Errorf("Symbols in %q = %q, %v; want f", dialect, s, err)
		}
	}
	if _, err := Analyze(nil, "R"); err == nil {
		t.Error("Analyze in R succeeds")
	}
}
