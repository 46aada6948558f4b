package patch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shape is a block as the tests describe it.
type shape struct {
	Line   int
	Title  string
	Source string
}

func shapes(p *Program) []shape {
	var out []shape
	for _, b := range p.Blocks {
		out = append(out, shape{b.Line, b.Title, b.Source})
	}
	return out
}

func mustParse(t *testing.T, name, text string) *Program {
	t.Helper()
	p, err := Parse(name, []byte(text))
	if err != nil {
		t.Fatalf("Parse(%s, %q) = %v", name, text, err)
	}
	if got := string(p.Bytes()); got != text {
		t.Fatalf("Parse(%s, %q).Bytes() = %q", name, text, got)
	}
	return p
}

func TestScript(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []shape
	}{
		{"groups by blank lines", "import os\nimport re\n\nx = 1\ny = 2\n\n\nz = 3\n", []shape{
			{1, "", "import os\nimport re"}, {4, "", "x = 1\ny = 2"}, {8, "", "z = 3"},
		}},
		{"definitions stand alone", "x = 1\ndef f():\n    return 1\ny = 2\nclass A: pass\n@d\n\n@e(1)\n" +
			"async def g(): pass\n",
			[]shape{
				{1, "", "x = 1"}, {2, "f", "def f():\n    return 1"}, {4, "", "y = 2"}, {5, "A", "class A: pass"},
				{6, "g", "@d\n\n@e(1)\nasync def g(): pass"},
			}},
		{"blank lines within", "def f():\n    a = 1\n\n    return a\n\nx = [\n\n1]\ns = '''\n\n'''\n", []shape{
			{1, "f", "def f():\n    a = 1\n\n    return a"}, {6, "", "x = [\n\n1]\ns = '''\n\n'''"},
		}},
		{"comments go with what follows",
			"#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n\n# about x\nx = 1\n\n# alone\n\n# about f\n" +
				"def f(): pass\n# " +
				"about y\ny = 1\n", []shape{
				{1, "", "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n\n# about x\nx = 1"},
				{7, "f", "# alone\n\n# about f\ndef f(): pass"}, {11, "", "# about y\ny = 1"},
			}},
		{"remarks right below stay",
			"x = 1\n# remark on x\n\ny = 2\ndef f():\n    pass\n    # remark in f\n# about z\n\nz = 3\n# end\n\n" +
				"# really\n",
			[]shape{
				{1, "", "x = 1\n# remark on x"}, {4, "", "y = 2"}, {5, "f", "def f():\n    pass\n    # remark in f"},
				{8, "", "# about z\n\nz = 3\n# end\n\n# really"},
			}},
		{"statements on one line", "x = 1; y = 2; \nif x: y\nelse: z\n",
			[]shape{{1, "", "x = 1; y = 2; \nif x: y\nelse: z"}}},
		{"main guard", "def f(): pass\n\n\nif __name__ == \"__main__\":\n    f()\n", []shape{
			{1, "f", "def f(): pass"}, {4, "", "if __name__ == \"__main__\":\n    f()"},
		}},
		{"no line end", "x = 1\n\ny = 2", []shape{{1, "", "x = 1"}, {3, "", "y = 2"}}},
		{"windows", "\ufeffx = 1\r\ny = 2\r\n\r\ndef f():\r\n\treturn 1\r\n", []shape{
			{1, "", "x = 1\r\ny = 2"}, {4, "f", "def f():\r\n\treturn 1"},
		}},
		{"old mac", "x = 1\r\rdef f():\r  pass\r", []shape{{1, "", "x = 1"}, {3, "f", "def f():\r  pass"}}},
		{"form feed", "x = 1\n\f\ndef f(): pass\n\f\ny = 1  \n", []shape{
			{1, "", "x = 1"}, {3, "f", "def f(): pass"}, {5, "", "y = 1  "},
		}},
		{"new syntax", "type X = int\n\ndef f[T](a: T) -> T: return a\n\ny = f'{x!r:{w}} {'a'}'\n", []shape{
			{1, "", "type X = int"}, {3, "f", "def f[T](a: T) -> T: return a"}, {5, "", "y = f'{x!r:{w}} {'a'}'"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := mustParse(t, "a.py", c.text)
			if d := cmp.Diff(c.want, shapes(p)); d != "" {
				t.Errorf("Parse(%q) (-want +got):\n%s", c.text, d)
			}
			if p.Kind != KindScript {
				t.Errorf("Kind = %s, want %s", p.Kind, KindScript)
			}
		})
	}
}

// A script that does not parse is cut as if it did, as far as possible.
func TestBrokenScript(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []shape
	}{
		{"open parenthesis", "import os\n\nx = foo(1,\n\ndef g():\n    pass\n\ny = 2\n", []shape{
			{1, "", "import os"}, {3, "", "x = foo(1,"}, {5, "g", "def g():\n    pass"}, {8, "", "y = 2"},
		}},
		{"one statement of a group", "x = 1\ny = = 2\nz = 3\n\ndef g(): pass\n", []shape{
			{1, "", "x = 1\ny = = 2\nz = 3"}, {5, "g", "def g(): pass"},
		}},
		{"a method", "# about B\n@d\nclass B:\n    def f(self:\n        pass\n\n    def g(self): pass\nz = 1\n\n" +
			"w = 2\n",
			[]shape{
				{1, "B", "# about B\n@d\nclass B:\n    def f(self:\n        pass\n\n    def g(self): pass"},
				{8, "", "z = 1"},
				{10, "", "w = 2"},
			}},
		{"open string", "x = 1\n\ns = '''abc\n\ndef g():\n    pass\n\ny = 2\n", []shape{
			{1, "", "x = 1"}, {3, "", "s = '''abc\n\ndef g():\n    pass\n\ny = 2"},
		}},
		{"a string behind the error", "x = = 1\n\ns = '''\n\ndef no(): pass\n\n'''\n\ndef f(): pass\n", []shape{
			{1, "", "x = = 1"}, {3, "", "s = '''\n\ndef no(): pass\n\n'''"}, {9, "f", "def f(): pass"},
		}},
		{"several errors",
			"def f(:\n    pass\n\ndef g(): pass\n\nclass C(:\n    x = 1\n\n    y = 2\n\n# about h\n" +
				"async def h(): pass\nx = " +
				")\n\ny = 1\n", []shape{
				{1, "f", "def f(:\n    pass"}, {4, "g", "def g(): pass"}, {6, "C", "class C(:\n    x = 1\n\n    y = 2"},
				{11, "h", "# about h\nasync def h(): pass"}, {13, "", "x = )"}, {15, "", "y = 1"},
			}},
		{"not Python at all", "hello there, world\n\nthis is (not\n\nx = 1\n", []shape{
			{1, "", "hello there, world"}, {3, "", "this is (not"}, {5, "", "x = 1"},
		}},
		{"clauses are no starts", "try:\n    x = = 1\n\nexcept E:\n    pass\n\nelse:\n    pass\n\ny = 1\n", []shape{
			{1, "", "try:\n    x = = 1\n\nexcept E:\n    pass\n\nelse:\n    pass"}, {10, "", "y = 1"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, shapes(mustParse(t, "a.py", c.text))); d != "" {
				t.Errorf("Parse(%q) (-want +got):\n%s", c.text, d)
			}
		})
	}
}

// The parser's time is quadratic in the number of lines with only a backslash. A file of such lines must still be read.
func TestHollowScript(t *testing.T) {
	text := "x = 1\n\ny = 2 " + strings.Repeat("\\\n", 100_000) + "\n\ndef f(): pass\n"
	p := mustParse(t, "a.py", text)
	if n := len(p.Blocks); n != 3 || p.Blocks[2].Title != "f" {
		t.Errorf("got %d blocks, want x, y and f", n)
	}
}
