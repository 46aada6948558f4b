package parents

import "testing"

func TestBelow(t *testing.T) {
	for _, c := range []struct {
		folder, path, below string
		holds               bool
	}{
		{"/", "/", ".", true},
		{"/", "/a", "a", true},
		{"/a", "/a", ".", true},
		{"/a", "/a/b/c", "b/c", true},
		{"/a", "/ab", "", false},
		{"/a", "/", "", false},
		{"/a/b", "/a", "", false},
		{"/a", "/a/..b", "..b", true},
		{"", "/a", "", false},
	} {
		if got := Below(c.folder, c.path); got != c.below {
			t.Errorf("Below(%q, %q) = %q, want %q", c.folder, c.path, got, c.below)
		}
		if got := Holds(c.folder, c.path); got != c.holds {
			t.Errorf("Holds(%q, %q) = %t, want %t", c.folder, c.path, got, c.holds)
		}
		if got := AnyHolds([]string{"/elsewhere", c.folder}, c.path); got != c.holds {
			t.Errorf("AnyHolds(%q, %q) = %t, want %t", c.folder, c.path, got, c.holds)
		}
	}
}
