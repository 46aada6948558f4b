package javascript

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/depgraph"
)

var update = flag.Bool("update", false, "write the golden files")

// nodeText writes a node as one line: its kind and every list that is not empty.
func nodeText(f *depgraph.Facts, n *depgraph.Node) string {
	var b strings.Builder
	b.WriteString([]string{"run", "import", "def", "class"}[n.Kind])
	if n.Expr {
		b.WriteString(" expr")
	}
	if n.Await {
		b.WriteString(" await")
	}
	fmt.Fprintf(&b, " %d-%d", n.Line, n.EndLine)
	for _, list := range []struct {
		name  string
		names []string
	}{{"certain", n.Certain}, {"defines", n.Defines}, {"deletes", n.Deletes}, {"uses", n.Uses}, {"later", n.Later},
		{"rebinds", n.Rebinds}, {"mutates", n.Mutates}, {"mutates-later", n.MutatesLater}} {
		if len(list.names) > 0 {
			fmt.Fprintf(&b, " %s=%s", list.name, strings.Join(list.names, ","))
		}
	}
	for _, imp := range n.Imports {
		fmt.Fprintf(&b, " import=%s%v", imp.Module, imp.Names)
	}
	for _, e := range n.Effects {
		fmt.Fprintf(&b, " effect=%s:%s(%s)%s/%d", e.Kind, e.What, e.Arg, e.Key, e.Mode)
		if e.Later {
			b.WriteString("/later")
		}
	}
	for _, d := range n.Dynamic {
		fmt.Fprintf(&b, " dynamic=%s", d.What)
		if d.Later {
			b.WriteString("/later")
		}
	}
	return b.String()
}

func factsText(t *testing.T, source string, dialect depgraph.Dialect) string {
	t.Helper()
	f, err := Analyze([]byte(source), dialect)
	if err != nil {
		return "error " + err.Error()
	}
	var lines []string
	for i := range f.Nodes {
		lines = append(lines, nodeText(f, &f.Nodes[i]))
	}
	return strings.Join(lines, "\n")
}

// TestAnalyze: the facts of each source are those of the golden file; -update writes it.
func TestAnalyze(t *testing.T) {
	var text strings.Builder
	for _, test := range []struct{ name, source string }{
		{"functions come first", "f(a)\nfunction f(x = b) { return x + c }\nf.d = 1"},
		{"var above its statement", "log(v)\nclass A {}\nvar v = 1"},
		{"var through a function", "g()\nfunction g() { return v }\nclass A {}\nvar v = 1"},
		{"var in a block", "if (c) { var v = 1 }\nfor (var i = 0; i < 2; i++);"},
		{"let above its statement", "a\nclass B {}\nlet a"},
		{"read before it is bound", "let a = a1, { b = a, ...c } = d; b; e = e || 1"},
		{"blocks have names of their own", "{ let a = b; { a } } for (const a of c) a; try {} catch ({ m }) { m }"},
		{"function in a block", "{ function f() { return a } } f"},
		{"closures", "const f = (a, { b }, ...c) => a + b + c + d + arguments; function* g() { yield h; i = 1 }"},
		{"named function expression", "x = function y() { return y + arguments.length }"},
		{"class", "class A extends B { static s = c; f = d; #p = e; [g]; m() { return A } static { h } }"},
		{"plain class", "class A extends B.C { f = d(); static g = 1; m() {} }"},
		{"changes", "a.b = 1; c[d]++; delete e.f; g.push(1); h().i(); delete j; Object.assign(k, l); m ??= n"},
		{"certain on all paths", "if (a) b = 1; else b = 2\nb\ntry { c = 1 } catch { c = 2 } finally { d = 1 }\nc; d"},
		{"not certain", "x: { if (a) break x; b = 1 }\nwhile (a) c = 1\na && (d = 1); a?.[e = 1]; [f = (g = 1)] = a"},
		{"modules", "const fs = require('fs'), { a: b } = require('./m')\nimport c, { d as e } from 'n'\nrequire(f)"},
		{"global object", "globalThis.a = 1; globalThis.b.c(); delete globalThis.d; globalThis[e]; f(globalThis)"},
		{"this", "this.a; function F() { this.b = 1 }\no.m = function () { return this[k] }; (() => this)()"},
		{"dynamic", "eval(a); new Function('b'); with (c) { d }; import(e)"},
		{"effects", "const { readFileSync: r } = require('node:fs'); r('a'); process.env.HOME; process.chdir('b')\n" +
			"Math.random(); new Date(); new Date(1); fetch('c'); function f(Date) { return Date.now() }"},
		{"shorthand", "x = { a, [b]: c, d() { e }, ...f, 'h': i }"},
		{"templates", "x = `a${b}${`${c}`}`; d`${e}`"},
		{"await", "const a = await b; for await (const c of d); async () => { await e }"},
		{"an expression at the end", "a\nfunction f() {}"},
		{"strict", "'use strict'\nthis.a = function () { this.b }; { function f() {} }"},
		{"names with escapes", `let \u0061b = 1; ab`},
		{"lines that must not end", "a\n=> b"},
		{"lines that must not end", "async\n() => a"},
		{"lines that must not end", "throw\na"},
		{"declared twice", "let a = 1\nlet a = 2"},
		{"not closed", "function f() {\n  if (a) {\n}\n"},
		{"not closed again", "x = (1,\n2"},
	} {
		fmt.Fprintf(&text, "// %s\n%s\n-> %s\n\n", test.name, test.source,
			strings.ReplaceAll(factsText(t, test.source, JavaScript), "\n", "\n   "))
	}
	const golden = "testdata/facts.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), text.String()); d != "" {
		t.Errorf("facts differ (-want +got); -update accepts them:\n%s", d)
	}
}
