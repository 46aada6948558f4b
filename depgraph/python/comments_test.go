package python

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestComments(t *testing.T) {
	for src, want := range map[string][]string{
		"x = 1":                                nil,
		"# a\nx = '# no' # b  \n#":             {"# a", "# b", "#"},
		"f(1, # one\n  2)\n'''\n# text\n'''":   {"# one"},
		"x = f'{1:#x}' # c\nif x: # d\n  pass": {"# c", "# d"},
		"try: pass\nexcept* E: pass # e":       {"# e"},
		"# é only":                             {"# é only"},
		"x = 1 ; \\\n\ny = 2 #z":               {"#z"},
	} {
		f, err := Analyze([]byte(src), Plain)
		if err != nil {
			t.Fatalf("%q: %v", src, err)
		}
		if d := cmp.Diff(want, Comments(f)); d != "" {
			t.Errorf("Comments of %q (-want +got):\n%s", src, d)
		}
	}
}
