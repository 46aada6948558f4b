package python

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/depgraph"
)

// nodeText is a node as the tables below write it: a list of "field: names", fields without names left out.
func nodeText(n depgraph.Node) string {
	var lines []string
	add := func(field string, names []string) {
		if len(names) > 0 {
			lines = append(lines, field+": "+strings.Join(names, " "))
		}
	}
	add("defines", n.Defines)
	add("deletes", n.Deletes)
	add("uses", n.Uses)
	add("later", n.Later)
	add("rebinds", n.Rebinds)
	add("mutates", n.Mutates)
	add("mutates later", n.MutatesLater)
	var dynamic, effects []string
	for _, d := range n.Dynamic {
		dynamic = append(dynamic, d.What+map[bool]string{true: "(later)"}[d.Later])
	}
	for _, e := range n.Effects {
		effects = append(effects, string(e.Kind)+"="+e.What+"("+e.Arg+")"+map[bool]string{true: "(later)"}[e.Later])
	}
	add("dynamic", dynamic)
	add("effects", effects)
	if n.Await {
		lines = append(lines, "await")
	}
	return strings.Join(lines, "; ")
}

func TestNames(t *testing.T) {
	for _, test := range []struct{ name, src, want string }{
		{"bound before read", "x = 1\ny = x", "defines: x y"},
		{"read before bound", "y = x\nx = 1", "defines: x y; uses: x"},
		{"bound in one branch", "if c:\n  x = 1\ny = x", "defines: x y; uses: c x"},
		{"bound in all branches", "if c:\n  x = 1\nelif d:\n  x = 2\nelse:\n  x = 3\ny = x", "defines: x y; uses: c d"},
		{"branch that ends", "if c:\n  x = 1\nelse:\n  raise E\ny = x", "defines: x y; uses: E c"},
		{"bound in a loop", "for i in s:\n  x = i\ny = x", "defines: i x y; uses: s x"},
		{"bound in try and handler", "try:\n  x = 1\nexcept E:\n  x = 2\ny = x", "defines: x y; uses: E"},
		{"bound in try only", "try:\n  x = 1\nexcept E:\n  pass\ny = x", "defines: x y; uses: E x"},
		{"read in finally", "try:\n  x = 1\nfinally:\n  y = x", "defines: x y; uses: x"},
		{"behind try and finally", "try:\n  x = 1\nfinally:\n  pass\ny = x", "defines: x y"},
		{"with may swallow", "with m() as f:\n  x = 1\ny = x, f", "defines: f x y; uses: m x"},
		{"deleted in between", "x = 1\ndel x\ny = x", "defines: x y; deletes: x; uses: x"},
		{"bound by and", "a and (x := 1)\ny = x", "defines: x y; uses: a x"},
		{"augmented", "x += y", "defines: x; uses: x y; mutates: x"},
		{"annotated", "x: T = 1", "defines: x; uses: T; later: T"},
		{"annotation only", "x: T", "uses: T; later: T"},
		{"future annotation", "from __future__ import annotations\nx: T = 1", "defines: x"},
		{"mutations", "x.a = 1\ny[i] = 2\ndel z[0]\nw.b.append(v)\nf(u)", "uses: f i u v w x y z; mutates: w x y z"},
		{"method on a result", "f(x).g()", "uses: f x"},
		{"iterated", "for x, (y, *z) in w: pass", "defines: x y z; uses: w"},
		{"walrus in a comprehension", "[y := f(x) for x in s]", "defines: y; uses: f s"},
		{"walrus in a generator", "g = (y := x for x in s)", "defines: g y; uses: s; rebinds: y"},
		{"comprehension", "[a + b for a in s if c for d in a]", "uses: b c s"},
		{"generator", "any(a + b for a in s)", "uses: any b s; later: b"},
		{"lambda", "f = lambda a, b=c: a + d", "defines: f; uses: c; later: d"},
		{"exception name", "try: f()\nexcept (A, B) as e: g(e)", "defines: e; deletes: e; uses: A B f g"},
		{"exception group", "try: f()\nexcept* A as e: g(e)", "defines: e; deletes: e; uses: A f g"},
		{"except without parentheses", "try: f()\nexcept A, B: pass", "uses: A B f"},
		{"match", "match v:\n  case C(a, k=b) | D.e: pass\n  case [x, *y]: pass\n  case {1: z, **r} as w if t: pass\n" +
			"  case _: pass",
			"defines: a b r w x y z; uses: C D t v"},
		{"f-string", "f'{x!r:>{w}} {y = } {f\"{z}\"}'", "uses: w x y z"},
		{"await", "x = await f()", "defines: x; uses: f; await"},
		{"async comprehension", "[x async for x in f()]", "uses: f; await"},
		{"type alias", "type X[T: B] = list[T]", "defines: X; later: B list"},
		{"attribute of a type", "type(x).y = z", "uses: type x z"},
		{"items in parentheses", "with (a() as b, c): pass", "defines: b; uses: a c; mutates: c"},
		{"one item in parentheses", "with (a() as b): pass", "defines: b; uses: a"},
		{"shift of print", "print >> f, x", "uses: f print x"},
		{"global at top level", "global x\nx = 1", "defines: x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := Analyze([]byte(test.src), Plain)
			if err != nil {
				t.Fatal(err)
			}
			got := nodeText(f.Nodes[len(f.Nodes)-1])
			if got != test.want {
				t.Errorf("Analyze(%q) = %s, want %s", test.src, got, test.want)
			}
		})
	}
}

func TestDefinitions(t *testing.T) {
	for _, test := range []struct {
		name, src string
		kind      depgraph.Kind
		want      string
	}{
		{"function", "def f(a, b=c): return a + d + e()", depgraph.KindDef, "defines: f; uses: c; later: d e"},
		{"recursive", "def f(): f()", depgraph.KindDef, "defines: f; later: f"},
		{"annotated", "def f(a: A) -> B: pass", depgraph.KindDef, "defines: f; uses: A B; later: A B"},
		{"global", "def f():\n  global x, y\n  x = 1\n  del y", depgraph.KindDef, "defines: f; rebinds: x y"},
		{"global read", "def f():\n  global x\n  x += 1", depgraph.KindDef,
			"defines: f; later: x; rebinds: x; mutates later: x"},
		{"mutating", "def f(): x.append(1)", depgraph.KindDef, "defines: f; later: x; mutates later: x"},
		{"nested", "def f(a):\n  def g():\n    nonlocal a\n    a = b\n" +
			"  return g", depgraph.KindDef, "defines: f; later: b"},
		{"comprehension inside", "def f(): return [a for b in c if d]", depgraph.KindDef, "defines: f; later: a c d"},
		{"default that calls", "def f(a=g()): pass", depgraph.KindStatement, "defines: f; uses: g"},
		{"decorated", "@d\ndef f(): pass", depgraph.KindStatement, "defines: f; uses: d"},
		{"generic", "def f[T: B](a: T) -> C: return T", depgraph.KindDef, "defines: f; uses: C; later: B C"},
		{"class", "class A(B):\n  x = y\n  def m(self): return x, A", depgraph.KindClass,
			"defines: A; uses: B y; later: A x"},
		{"class reads what it binds later", "class A:\n  x = x\n  y = x", depgraph.KindClass, "defines: A; uses: x"},
		{"class in a function", "def f(x):\n  class A:\n    x = x", depgraph.KindDef, "defines: f; later: x"},
		{"class that calls", "class A:\n  x = f()", depgraph.KindStatement, "defines: A; uses: f"},
		{"class with properties", "class A:\n  @property\n  def x(self): pass\n  @x.setter\n  def x(self, v): pass",
			depgraph.KindClass, "defines: A; uses: property"},
		{"class with a comprehension", "class A:\n  s = 1\n  t = [s for i in s]", depgraph.KindStatement,
			"defines: A; uses: s"},
		{"private name", "class A:\n  def m(self): return __x, __y__", depgraph.KindClass,
			"defines: A; later: _A__x __y__"},
		{"super", "class A(B):\n  def m(self): super().m()", depgraph.KindClass, "defines: A; uses: B; later: super"},
		{"generic class", "class A[T](B[T]):\n  x: T", depgraph.KindClass, "defines: A; uses: B"},
		{"keyword that calls", "class A(metaclass=m()): pass", depgraph.KindStatement, "defines: A; uses: m"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := Analyze([]byte(test.src), Plain)
			if err != nil {
				t.Fatal(err)
			}
			if len(f.Nodes) != 1 {
				t.Fatalf("Analyze(%q) has %d nodes, want 1", test.src, len(f.Nodes))
			}
			if got := nodeText(f.Nodes[0]); got != test.want || f.Nodes[0].Kind != test.kind {
				t.Errorf("Analyze(%q) = %v %s, want %v %s", test.src, f.Nodes[0].Kind, got, test.kind, test.want)
			}
		})
	}
}

func TestNodes(t *testing.T) {
	src := "# c\nimport a, b.c\nx = 1; y = 2\nfrom . import z\nif x:\n  import d\nprint(y)\n\ndef f(): pass\n" +
		"class A: " +
		"pass\n@d\nasync def g(): pass\nx\n"
	f, err := Analyze([]byte(src), Plain)
	if err != nil {
		t.Fatal(err)
	}
	type node struct {
		Kind          depgraph.Kind
		Line, EndLine int
		Text          string
		Expr          bool
	}
	var got []node
	for _, n := range f.Nodes {
		got = append(got, node{n.Kind, n.Line, n.EndLine, src[n.Start:n.End], n.Expr})
	}
	want := []node{
		{depgraph.KindImport, 2, 2, "import a, b.c", false},
		{depgraph.KindStatement, 3, 3, "x = 1; y = 2", false},
		{depgraph.KindImport, 4, 4, "from . import z", false},
		{depgraph.KindStatement, 5, 7, "if x:\n  import d\nprint(y)", true},
		{depgraph.KindDef, 9, 9, "def f(): pass", false},
		{depgraph.KindClass, 10, 10, "class A: pass", false},
		{depgraph.KindStatement, 11, 12, "@d\nasync def g(): pass", false},
		{depgraph.KindStatement, 13, 13, "x", true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Analyze = got, want\n%s", diff)
	}
	if f, err := Analyze([]byte("# only a comment\n\n"), Plain); err != nil || len(f.Nodes) != 0 {
		t.Errorf("Analyze of a comment = %v, %v, want no nodes", f, err)
	}
}

func TestEffects(t *testing.T) {
	for _, test := range []struct{ src, want string }{
		{"open('a.csv')", "uses: open; effects: file=open(a.csv)"},
		{"Path('a').read_text()", "uses: Path; effects: file=read_text(a)"},
		{"pd.read_csv('a.csv')", "uses: pd; mutates: pd; effects: file=pd.read_csv(a.csv)"},
		{"os.environ['HOME']", "uses: os; effects: environ=os.environ(HOME)"},
		{"os.getenv('A')", "uses: os; mutates: os; effects: environ=os.getenv(A)"},
		{"np.random.seed(1)", "uses: np; mutates: np; effects: random=np.random.seed()"},
		{"def f(): return time.time()", "defines: f; later: time; mutates later: time; effects: " +
			"clock=time.time()(later)"},
		{"subprocess.run(c)", "uses: c subprocess; mutates: subprocess; effects: subprocess=subprocess.run()"},
		{"input('?')", "uses: input; effects: input=input(?)"},
		{"def f(open): open('a')", "defines: f"},
		{"eval(x)", "uses: eval x; dynamic: eval"},
		{"def f(): return globals()", "defines: f; later: globals; dynamic: globals(later)"},
		{"def f(): return locals()", "defines: f; later: locals"},
		{"locals()", "uses: locals; dynamic: locals"},
		{"vars(x)", "uses: vars x"},
		{"df.query('a > @b')", "uses: df; mutates: df; dynamic: query @"},
		{"df.query('a > 1')", "uses: df; mutates: df"},
		{"sys.modules['a']", "uses: sys; dynamic: sys.modules"},
		{"K.__subclasses__()", "uses: K; mutates: K; dynamic: __subclasses__"},
		{"größe = 1; 数 = 2", "defines: größe 数"},
		{"µ = 1", "defines: µ; dynamic: unnormalised name"},
		{"re.compile('a')", "uses: re; mutates: re"},
	} {
		f, err := Analyze([]byte(test.src), Plain)
		if err != nil {
			t.Fatal(err)
		}
		if got := nodeText(f.Nodes[0]); got != test.want {
			t.Errorf("Analyze(%q) = %s, want %s", test.src, got, test.want)
		}
	}
	for src, want := range map[string]string{
		"import numpy as q\nq.random.rand()":  "uses: q; mutates: q; effects: random=q.random.rand()",
		"from os import environ as e\ne['A']": "uses: e; effects: environ=e(A)",
		"from time import time\ntime()":       "uses: time; effects: clock=time()",
		"from datetime import datetime\ndatetime.now()": "uses: datetime; mutates: datetime; effects: " +
			"clock=datetime.now()",
		"import datetime as dt\ndt.datetime.now()": "uses: dt; mutates: dt; effects: clock=dt.datetime.now()",
		"from random import shuffle as s\ns(x)":    "uses: s x; effects: random=s()",
		"import m\nsetattr(m, n, 1)":               "uses: m n setattr; dynamic: setattr",
		"import m\nsetattr(m, 'n', 1)":             "uses: m setattr",
		"from m import open\nopen('a')":            "uses: open",
		"import __main__\n__main__.x":              "uses: __main__; dynamic: __main__",
	} {
		f, err := Analyze([]byte(src), Plain)
		if err != nil {
			t.Fatal(err)
		}
		if got := nodeText(f.Nodes[1]); got != want {
			t.Errorf("Analyze(%q) = %s, want %s", src, got, want)
		}
	}
}

func TestImports(t *testing.T) {
	f, err := Analyze(
		[]byte("import a.b, c as d\nfrom ..e.f import g as h, i\nfrom . import *\ndef k():\n  import l\n"),
		Plain,
	)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]depgraph.Import
	for _, n := range f.Nodes {
		got = append(got, n.Imports)
	}
	want := [][]depgraph.Import{
		{{Module: "a.b"}, {Module: "c"}},
		{{Module: "e.f", Level: 2, Names: []string{"g", "i"}}},
		{{Level: 1, Names: []string{"*"}}},
		{{Module: "l", Later: true}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Imports = got, want\n%s", diff)
	}
}
