package diff

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkUnified(b *testing.B) {
	old := strings.Repeat("a\nb\nc\n", 20_000)
	var mixed strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&mixed, "line %d\n", i*7919%30_000)
	}
	for _, c := range []struct{ name, old, new string }{
		{"one", mixed.String(), strings.Replace(mixed.String(), "line 5\n", "line x\n", 1)},
		{"repeats", old, strings.Repeat("b\na\nc\nd\n", 15_000)},
		{"other", mixed.String(), strings.ReplaceAll(mixed.String(), "line", "row")},
	} {
		b.Run("lines=60000/"+c.name, func(b *testing.B) {
			for b.Loop() {
				Unified("a", "b", c.old, c.new, 3)
			}
		})
	}
}
