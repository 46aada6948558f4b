package parents

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUp(t *testing.T) {
	for path, want := range map[string][]string{
		"/":       {"/"},
		"//":      {"/"},
		"/a/b/":   {"/a/b", "/a", "/"},
		"/a/../b": {"/b", "/"},
		"":        {"."},
		".":       {"."},
		"a/b":     {"a/b", "a", "."},
		"..":      {"..", "."},
	} {
		if d := cmp.Diff(want, slices.Collect(Up(path))); d != "" {
			t.Errorf("Up(%q) (-want +got):\n%s", path, d)
		}
	}
	for at := range Up("/a/b") {
		if at == "/a" {
			break // a caller may stop
		}
	}
}
