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
