package languages

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/depgraph/python"
)

// TestSymbols: in Python, a name changes with the statements that bind it.
func TestSymbols(t *testing.T) {
	src := "import os\nx = 1\ny = x\nfor i in y:\n    x = 2\nclass A:\n    z = 1\nprint(x)\n"
	got, err := Symbols([]byte(src), python.Plain)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"A", "i", "os", "x", "y"}, slices.Sorted(maps.Keys(got))); d != "" {
		t.Errorf("names (-want +got):\n%s", d)
	}
	for _, c := range []struct {
		src     string
		changed []string
	}{
		{"import os\nx = 1\ny = (x)\nfor i in y:\n    x = 2\nclass A:\n    z = 1\nprint(x)\n", []string{"y"}},
		{"import os\nx=1;y = x # so\nfor i in y: x = 2\nclass A:\n\n  z = 1\nprint(x, 1)", nil},
		{"import os\nx = 1\ny = x\nfor i in y:\n    x = 3\nclass A:\n    z = 2\nprint(x)\n", []string{"A", "i", "x"}},
	} {
		now, err := Symbols([]byte(c.src), python.Plain)
		if err != nil {
			t.Fatal(err)
		}
		var changed []string
		for _, name := range slices.Sorted(maps.Keys(got)) {
			if now[name] != got[name] {
				changed = append(changed, name)
			}
		}
		if d := cmp.Diff(c.changed, changed); d != "" {
			t.Errorf("Symbols of %q: changed (-want +got):\n%s", c.src, d)
		}
	}
}
