package javascript

import (
	"errors"
	"testing"
)

func TestBlank(t *testing.T) {
	for _, test := range []struct{ source, want string }{
		{"let x: T = 1 as any;", "let x    = 1       ;"},
		{"let x: T\n(f)()", "let x;  \n(f)()"},
		{"a = b as T\n[c].d", "a = b;    \n[c].d"},
		{"a = b as T;\n[c].d", "a = b     ;\n[c].d"},
		{"type A = B\n(c)()", ";         \n(c)()"},
		{"const f = (a: A):\n  B => a", "const f = (a     \n  ) => a"},
		{"const f = async <\n T>(a: A) => a", "const f = async (\n    a   ) => a"},
		{"class A<T> extends B<T> implements I { private x?: T = 1; m?(this: A, b?: T): void {} }",
			"class A    extends B                 {         x     = 1; m (         b    )       {} }"},
		{"class A { x = 1\n private ['y']() {} }", "class A { x = 1\n ;       ['y']() {} }"},
		{"class A { x: T\n *g() {} }", "class A { x;  \n *g() {} }"},
		{"class A { abstract m(): void; declare z: T; [k: string]: T; n() {} }",
			"class A { ;                 ; ;           ; ;             ; n() {} }"},
		{"import { type A, b, type C } from 'm'", "import {         b,        } from 'm'"},
		{"import type { A } from 'm'; x", ";                           x"},
		{"function f(a: string): void;\nfunction f<T>(a?: T): a is T { return a! }",
			";                           \nfunction f   (a    )         { return a; }"},
		{"f<T>(x)!.y!\nz", "f   (x) .y;\nz"},
		{"x = `a${b as T}`; new A<B>; y satisfies Z", "x = `a${b     }`; new A   ; y;           "},
		{"let é: 'é😀' = 1; x", "let é        = 1; x"},
		{"export interface A {}\nexport abstract class B {}", ";                    \nexport          class B {}"},
		{"const a = <T>b", "const a =    b"},
		{"try {} catch (e: unknown) {}", "try {} catch (e         ) {}"},
		{"let a: { <T>(x: T): T }, b!: number", "let a                  , b ;       "},
		{"f() satisfies a.b.C;", "f()                ;"},
		{"x = f() as a.b.C<D>[]", "x = f();             "},
		{"let x: T\n[a, b] = c", "let x;  \n[a, b] = c"},
		{"let x: { a: T\n  <A>(x: A): B\n  /** c */\n  (y): C\n  [k: string]: D }; f()",
			"let x        \n              \n          \n        \n                  ; f()"},
		{"interface A<in out T> {}", ";                       "},
		{"return_(x as T)\nnamespace N { type A = B }", "return_(x     )\n;                         "},
	} {
		got, err := Blank([]byte(test.source), TypeScript)
		if err != nil || string(got) != test.want {
			t.Errorf("Blank(%q) = %v\n%q, want\n%q", test.source, err, got, test.want)
		}
	}
}

func TestBlankRefuses(t *testing.T) {
	for source, want := range map[string]string{
		"enum E { A }":                             "enum",
		"const enum E { A }":                       "enum",
		"namespace N { export let a = 1 }":         "namespace",
		"class A { constructor(private x: T) {} }": "parameter property",
		"import a = require('a')":                  "import =",
		"import A = B.C":                           "import =",
		"export = a":                               "export =",
		"@d class A {}":                            "decorator",
		"class A { @d m() {} }":                    "decorator",
		"class A { accessor x = 1 }":               "accessor",
		"f = () => <T>{}":                          "<T>",
	} {
		_, err := Blank([]byte(source), TypeScript)
		var not *NotErasable
		if !errors.As(err, &not) || not.What != want {
			t.Errorf("Blank(%q) = %v, want %s", source, err, want)
		}
	}
	if _, err := Blank([]byte("x = <a/>"), TSX); err == nil {
		t.Error("Blank accepts JSX")
	}
}
