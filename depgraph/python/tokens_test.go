package python

import (
	"strings"
	"testing"
)

func tokens(t *testing.T, src string) string {
	t.Helper()
	f, err := Analyze([]byte(src), Plain)
	if err != nil {
		t.Fatalf("Analyze(%q) = %v", src, err)
	}
	var all []string
	for _, n := range f.Nodes {
		all = append(all, n.Tokens)
	}
	return strings.Join(all, "|")
}

func TestTokensEqual(t *testing.T) {
	for _, test := range []struct{ a, b string }{
		{"x = f(a, b)", "x=f( a,\n   b )  # c\n\n"},
		{"x = a + b", "x = a + \\\n  b"},
		{"x = 1\ny = 2", "x = 1; y = 2"},
		{"x", "x;"},
		{"if a:\n  b\nelse:\n  c", "if a: b\nelse:\n\n        # d\n        c"},
		{"def f():\n\treturn 1", "def f(): return 1"},
		{"try: a\nexcept* E: b", "try: a\nexcept *E: b"},
		{"a not in b", "a not  in b"},
		{"x = 1\r\n", "x = 1\n"},
		{"from . . import a", "from .. import a"},
	} {
		if a, b := tokens(t, test.a), tokens(t, test.b); a != b {
			t.Errorf("Tokens(%q) = %q, but Tokens(%q) = %q", test.a, a, test.b, b)
		}
	}
}

func TestTokensDiffer(t *testing.T) {
	for _, test := range []struct{ a, b string }{
		{"if a:\n  b\n  c", "if a:\n  b\nc"},
		{"if a:\n  if b:\n    c\n  else:\n    d", "if a:\n  if b:\n    c\nelse:\n  d"},
		{"a\nb", "a.b"},
		{"ab", "a\nb"},
		{"f'{x=}'", "f'{x = }'"},
		{"'a'", "\"a\""},
		{"'a' 'b'", "'ab'"},
		{"'a b'", "'a  b'"},
		{"x = (1)", "x = 1"},
		{"x = [1,]", "x = [1]"},
		{"a is not b", "a is (not b)"},
		{"a\n-b", "a - b"},
		{"'''a\nb'''", "'''a\n\nb'''"},
	} {
		if a, b := tokens(t, test.a), tokens(t, test.b); a == b {
			t.Errorf("Tokens(%q) = Tokens(%q) = %q, want different", test.a, test.b, a)
		}
	}
}
