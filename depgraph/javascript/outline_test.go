package javascript

import (
	"fmt"
	"strings"
	"testing"
)

func TestOutline(t *testing.T) {
	source := "export const area = (r) => 3 * r\n\nclass Box extends Base {\n  #w = 1\n  constructor(w, h = 2) { " +
		"super() }\n" +
		"  async volume({ deep }) {}\n}\nlet n = 1\nif (n) { function late() {} }\nassert.equal(n, 1)\n" +
		"function f() { assert(1) }\n"
	o, err := Outline([]byte(source), ESM)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, d := range o.Definitions {
		lines = append(lines, fmt.Sprintf("%s|%s|%v|%d-%d", d.Name, d.Signature, d.Class, d.Line, d.End))
	}
	lines = append(lines, fmt.Sprint(o.Asserts))
	want := `f|function f()|false|11-11
area|area = (r) =>|false|1-1
Box|class Box extends Base: constructor(w, h = 2)|true|3-7
n|n|false|0-0
Box.#w|Box.#w|false|0-0
Box.constructor|constructor(w, h = 2)|false|5-5
Box.volume|async volume({deep})|false|6-6
late|function late()|false|9-9
[10]`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("Outline =\n%s\nwant\n%s", got, want)
	}
}

func TestStatements(t *testing.T) {
	for _, test := range []struct{ source, want string }{
		{"import a from 'a'\n// c\nconst f = () => {\n}\nlet x = 1, y; var z;\n\nexport default class K {}\n",
			"1-1 [a]| 3-4 f[f]| 5-5 [x y]| 5-5 [z]| 7-7 K[K]"},
		{"if (a) {\n  var v = 1\n}\n`\n// %%\n`\n", "1-3 [v]| 4-6 []"},
		{"let a = 1\nlet = = 2\nfunction g() {}\n", "1-1 [a]| 2-2 []broken| 3-3 g[g]"},
		{"interface T {}\ntype U = T\nenum E { A }\n", "1-1 T[]| 2-2 U[]| 3-3 E[E]"},
	} {
		dialect := JavaScript
		if strings.Contains(test.source, "enum") {
			dialect = TypeScript
		}
		list, broken := Statements([]byte(test.source), dialect)
		var parts []string
		for _, s := range list {
			text := fmt.Sprintf("%d-%d %s%v", s.Line, s.EndLine, s.Name, s.Defines)
			if s.Broken {
				text += "broken"
			}
			parts = append(parts, text)
		}
		if got := strings.Join(parts, "| "); got != test.want || broken != strings.Contains(test.want, "broken") {
			t.Errorf("Statements(%q) = %s, %v\nwant %s", test.source, got, broken, test.want)
		}
	}
}
