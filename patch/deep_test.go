package patch

import (
	"strings"
	"testing"
)

// TestDeep: no file makes a parser recurse until the stack is full, which would end the process.
func TestDeep(t *testing.T) {
	many := func(text string, bytes int) string { return strings.Repeat(text, bytes/len(text)) }
	for name, text := range map[string]string{
		"a.sh": many("( ", 8e6), "b.sh": many("if ", 12e6), "c.sh": "echo " + many("$(", 8e6),
		"a.py": "x = " + many("[", 1e5), "b.py": "x = " + many("-", 1e5), "a.js": many("[", 1e5),
		"a.ts":    many("!", 1e5),
		"a.ipynb": `{"cells":` + many("[", 8e6),
	} {
		if p, err := Parse(name, []byte(text)); err == nil && len(p.Blocks) == 0 {
			t.Errorf("Parse(%s) has neither blocks nor an error", name)
		}
	}
}
