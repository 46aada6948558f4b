package python

import (
	"strings"
	"testing"
)

// Nesting comes from outside input and must not exhaust the stack. An error is fine; a crash is not.
func TestDeep(t *testing.T) {
	const n = 20000
	for _, src := range []string{
		strings.Repeat("(", n) + "x" + strings.Repeat(")", n),
		strings.Repeat("(", n) + "x" + strings.Repeat(")", n) + " = 1",
		strings.Repeat("-", n) + "x",
		"x" + strings.Repeat(" + x", n),
		"x" + strings.Repeat(".x", n) + "()",
		strings.Repeat("x = ", n) + "1",
		strings.Repeat("lambda: ", n) + "1",
		"match x:\n case " + strings.Repeat("[", n/10) + "x" + strings.Repeat("]", n/10) + ": pass",
		strings.Repeat("[", n),
		"%time " + strings.Repeat("[", n),
	} {
		_, err := Analyze([]byte(src), IPython)
		t.Logf("%.20s: %v", src, err)
	}
}
