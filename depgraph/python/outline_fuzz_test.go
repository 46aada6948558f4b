package python

import (
	"strings"
	"testing"
)

// FuzzOutline: every text that Analyze accepts has an outline. Its lines are in the text, and layout does not change
// it.
func FuzzOutline(f *testing.F) {
	f.Add(
		"class A(B):\n    x: int = 1\n    @property\n    def f(self, a=1, *b: int, **c) -> 'A': return lambda: a\n" +
			"assert A\n",
	)
	f.Add("if x:\n    def f(): pass\nasync def g[T](x: T): await x\nfor i in y: assert i\n")
	f.Fuzz(func(t *testing.T, text string) {
		_, bad := Analyze([]byte(text), Plain)
		o, err := Outline([]byte(text), Plain)
		if (bad == nil) != (err == nil) {
			t.Fatalf("Analyze(%q) = %v, OutlineOf = %v", text, bad, err)
		}
		if err != nil {
			return
		}
		lines := strings.Count(text, "\n") + 1
		for _, d := range o.Definitions {
			if d.Name == "" || d.Signature == "" || d.Line > d.End || d.End > lines {
				t.Errorf("Outline(%q) has %+v", text, d)
			}
		}
		again, err := Outline([]byte(text+"\n# a comment\n\n"), Plain)
		if err != nil {
			return // the text ends in a continuation, or in a string
		}
		for i, d := range again.Definitions {
			if i >= len(o.Definitions) || d.Signature != o.Definitions[i].Signature {
				t.Errorf("Outline(%q) has another definition %+v with a comment behind it", text, d)
			}
		}
	})
}
