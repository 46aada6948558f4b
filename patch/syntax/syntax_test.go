package syntax_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/patch/syntax"
	_ "github.com/xstate-engine/xstate/patch/syntax/bash"
	_ "github.com/xstate-engine/xstate/patch/syntax/javascript"
	_ "github.com/xstate-engine/xstate/patch/syntax/python"
)

// TestLanguages: in each language, a text has the statements and names that a reader sees, also beside an error.
func TestLanguages(t *testing.T) {
	for _, c := range []struct {
		dialect, code          string
		statements             []string
		defines, assigns, free []string
	}{
		{dialect: syntax.Python, code: "import os\n\ndef f(x): return x + y\n\nz = f(os)\n",
			statements: []string{"import os", "def f(x): return x + y", "z = f(os)"},
			defines:    []string{"f"}, assigns: []string{"z"}, free: []string{"y"}},
		{dialect: syntax.Python, code: "a = 1\n\nb = (\n\nc = 3\n",
			statements: []string{"a = 1", "b = (", "c = 3"},
			assigns:    []string{"a", "b"}},
		{dialect: syntax.TypeScript, code: "let a: number = b\nfunction g() {}\n",
			statements: []string{"let a: number = b", "function g() {}"},
			defines:    []string{"g"}, assigns: []string{"a"}, free: []string{"b"}},
		{dialect: syntax.Bash, code: "f() { echo \"$x\"; }\ny=1\n",
			statements: []string{"f() { echo \"$x\"; }", "y=1"},
			defines:    []string{"f()"}, assigns: []string{"y"}, free: []string{"x"}},
	} {
		in := syntax.Of(c.dialect)
		text := syntax.NewText([]byte(c.code), in)
		list, broken := in.Statements(text.Code)
		if broken {
			list = syntax.Recover(text, list)
		}
		var got []string
		for _, s := range list {
			got = append(got, c.code[s.Start:s.End])
		}
		if d := cmp.Diff(c.statements, got); d != "" {
			t.Errorf("statements of %q (-want +got):\n%s", c.code, d)
		}
		b := in.Bindings(c.code)
		for _, names := range []struct {
			what string
			want []string
			got  map[string]bool
		}{{"defines", c.defines, b.Defines}, {"assigns", c.assigns, b.Assigns}} {
			if got := slices.Sorted(maps.Keys(names.got)); !slices.Equal(names.want, got) {
				t.Errorf("%q %s %q, want %q", c.code, names.what, got, names.want)
			}
		}
		for _, name := range c.free {
			if !b.Free[name] {
				t.Errorf("%q does not use %s", c.code, name)
			}
		}
	}
}
