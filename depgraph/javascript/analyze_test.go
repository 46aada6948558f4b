package javascript

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/depgraph"
)

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

func TestAnalyze(t *testing.T) {
	for _, test := range []struct{ name, source, want string }{
		{"functions come first", "f(a)\nfunction f(x = b) { return x + c }\nf.d = 1", `def 2-2 certain=f defines=f later=b,c
run expr 1-1 uses=a,f
run expr 3-3 uses=f mutates=f`},
		{"var above its statement", "log(v)\nclass A {}\nvar v = 1", `run 1-3 certain=A,v defines=A,v uses=log,v`},
		{"var through a function", "g()\nfunction g() { return v }\nclass A {}\nvar v = 1", `run 1-4 certain=A,g,v defines=A,g,v later=v`},
		{"var in a block", "if (c) { var v = 1 }\nfor (var i = 0; i < 2; i++);", `run 1-2 certain=i defines=i,v uses=c,v`},
		{"let above its statement", "a\nclass B {}\nlet a", `run 1-3 certain=B,a defines=B,a uses=a`},
		{"read before it is bound", "let a = a1, { b = a, ...c } = d; b; e = e || 1", `run expr 1-1 certain=a,b,c,e defines=a,b,c,e uses=a1,d,e`},
		{"blocks have names of their own", "{ let a = b; { a } } for (const a of c) a; try {} catch ({ m }) { m }", `run 1-1 uses=b,c`},
		{"function in a block", "{ function f() { return a } } f", `run expr 1-1 defines=f uses=f later=a`},
		{"closures", "const f = (a, { b }, ...c) => a + b + c + d + arguments; function* g() { yield h; i = 1 }", `def 1-1 certain=g defines=g later=h rebinds=i
run 1-1 certain=f defines=f later=arguments,d`},
		{"named function expression", "x = function y() { return y + arguments.length }", `run expr 1-1 certain=x defines=x`},
		{"class", "class A extends B { static s = c; f = d; #p = e; [g]; m() { return A } static { h } }", `run 1-1 certain=A defines=A uses=B,c,g,h later=d,e`},
		{"plain class", "class A extends B.C { f = d(); static g = 1; m() {} }", `class 1-1 certain=A defines=A uses=B later=d`},
		{"changes", "a.b = 1; c[d]++; delete e.f; g.push(1); h().i(); delete j; Object.assign(k, l); m ??= n", `run expr 1-1 defines=m deletes=j uses=Object,a,c,d,e,g,h,j,k,l,m,n mutates=a,c,e,g,k`},
		{"certain on all paths", "if (a) b = 1; else b = 2\nb\ntry { c = 1 } catch { c = 2 } finally { d = 1 }\nc; d", `run expr 1-4 certain=b,c,d defines=b,c,d uses=a`},
		{"not certain", "x: { if (a) break x; b = 1 }\nwhile (a) c = 1\na && (d = 1); a?.[e = 1]; [f = (g = 1)] = a", `run expr 1-3 certain=f defines=b,c,d,e,f,g uses=a`},
		{"modules", "const fs = require('fs'), { a: b } = require('./m')\nimport c, { d as e } from 'n'\nrequire(f)", `import 2-2 certain=c,e defines=c,e import=n[default d]
import 1-1 certain=b,fs defines=b,fs uses=require import=fs[] import=./m[]
run expr 3-3 uses=f,require dynamic=require`},
		{"global object", "globalThis.a = 1; globalThis.b.c(); delete globalThis.d; globalThis[e]; f(globalThis)", `run expr 1-1 certain=a defines=a deletes=d uses=b,e,f,globalThis mutates=b,globalThis dynamic=globalThis dynamic=globalThis`},
		{"this", "this.a; function F() { this.b = 1 }\no.m = function () { return this[k] }; (() => this)()", `def 1-1 certain=F defines=F rebinds=b
run expr 1-1 uses=a dynamic=this
run expr 2-2 uses=o later=k mutates=o dynamic=this/later`},
		{"dynamic", "eval(a); new Function('b'); with (c) { d }; import(e)", `run expr 1-1 uses=Function,a,c,d,e,eval dynamic=eval dynamic=Function dynamic=with dynamic=import`},
		{"effects", "const { readFileSync: r } = require('node:fs'); r('a'); process.env.HOME; process.chdir('b')\n" +
			"Math.random(); new Date(); new Date(1); fetch('c'); function f(Date) { return Date.now() }", `def 2-2 certain=f defines=f
import 1-1 certain=r defines=r uses=require import=node:fs[]
run expr 1-2 uses=Date,Math,fetch,process,r effect=file:r(a)file:a/1 effect=environ:process.env(HOME)env:HOME/1 effect=cwd:process.chdir(b)cwd:/0 effect=random:Math.random()rng:Math/0 effect=clock:Date()/0 effect=network:fetch(c)/0`},
		{"shorthand", "x = { a, [b]: c, d() { e }, ...f, 'h': i }", `run expr 1-1 certain=x defines=x uses=a,b,c,f,i later=e`},
		{"templates", "x = `a${b}${`${c}`}`; d`${e}`", `run expr 1-1 certain=x defines=x uses=b,c,d,e`},
		{"await", "const a = await b; for await (const c of d); async () => { await e }", `run expr await 1-1 certain=a defines=a uses=b,d later=e`},
		{"an expression at the end", "a\nfunction f() {}", `def 2-2 certain=f defines=f
run expr 1-1 uses=a`},
		{"strict", "'use strict'\nthis.a = function () { this.b }; { function f() {} }", `run 1-2 certain=a defines=a dynamic=this`},
		{"names with escapes", `let \u0061b = 1; ab`, `run expr 1-1 certain=ab defines=ab`},
		{"lines that must not end", "a\n=> b", `error line 2, column 1: no line may end before "=>" here`},
		{"lines that must not end", "async\n() => a", `error line 2, column 1: no line may end before "()" here`},
		{"lines that must not end", "throw\na", `error line 1, column 1: no line may end after throw`},
		{"declared twice", "let a = 1\nlet a = 2", `error line 2, column 5: identifier 'a' has already been declared`},
		{"not closed", "function f() {\n  if (a) {\n}\n", `error line 1, column 14: '{' was never closed`},
		{"not closed again", "x = (1,\n2", `error line 1, column 5: '(' was never closed`},
	} {
		if got := factsText(t, test.source, JavaScript); got != test.want {
			t.Errorf("%s: Analyze(%q) =\n%s\nwant\n%s", test.name, test.source, got, test.want)
		}
	}
}
