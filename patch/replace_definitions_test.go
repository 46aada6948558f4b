package patch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/patch/syntax"
)

func TestPart(t *testing.T) {
	blocks := []Block{
		{ID: "load", Source: "rows = read()\n"},
		{ID: "helpers"},
		{ID: "twice", Source: "def again(x):\n    return 1\n\n\ndef again(x):\n    return 2"},
		{ID: "also", Source: "print(1)"},
		{ID: "one", Source: "# about one\ndef one():\n    return 1"},
	}
	const helpers = "import math\n\n\ndef low(x):\n    return min(x)\n\n\n@cache\ndef high(x):\n    return " +
		"max(x)\n\n\nclass Box:\n    pass\nn = 1"
	put := func(old, new string) string { return strings.Replace(helpers, old, new, 1) }
	const low, high = "def low(x):\n    return min(x)", "@cache\ndef high(x):\n    return max(x)"
	for _, test := range []struct {
		text  string
		want  map[string]string
		spare bool // it is all that the blocks hold
	}{
		{text: "def low(x):\n    return sorted(x)[0]\n", want: map[string]string{"helpers": put(low,
			"def low(x):\n    return sorted(x)[0]")}},
		{text: "def high(x): return 9\n\ndef low(x): return 0",
			want: map[string]string{"helpers": strings.Replace(put(low, "def low(x): return 0"), high,
				"def high(x): return 9",
				1)}},
		{text: "# why\ndef low(x): pass\n    # so\n", want: map[string]string{"helpers": put(low,
			"# why\ndef low(x): pass\n    # so")}},
		{text: "import math\nimport os\ndef low(x): pass",
			want: map[string]string{"helpers": "import os\n" + put(low, "def low(x): pass")}},
		{text: "def new(x): pass\ndef low(x): pass\n", want: map[string]string{"helpers": put(low,
			"def new(x): pass\n\n\ndef low(x): pass")}},
		{text: "def low(x): pass\ndef new(x): pass", want: map[string]string{"helpers": put(low,
			"def low(x): pass\n\n\ndef new(x): pass")}},
		{text: "def low(x): pass\ndef one(): return 2", want: map[string]string{"helpers": put(low, "def low(x): pass"),
			"one": "# about one\ndef one(): return 2"}},
		{text: "# about one\ndef one(): return 2", want: map[string]string{"one": "# about one\ndef one(): return 2"},
			spare: true},
		{text: "def new(x):\n    return 1"},              // nobody's
		{text: "def low(x): pass\nlow(3)"},               // more than definitions
		{text: "def low(x): pass\ndef low(x): return 2"}, // which of them
		{text: "def again(x): return 3"},                 // which of them
		{text: "class Box: pass"},                        // whose
		{text: "def low(x:"},                             // no Python
		{text: ""},
	} {
		blocks[1].Source = helpers
		if test.text == "class Box: pass" {
			blocks[3].Source = "def Box(): pass\nprint(Box)"
		}
		shares, more, ok := newDecider().splitByDefinition(blocks, code{syntax.Of(syntax.Python), test.text})
		var got map[string]string
		for _, s := range shares {
			if got == nil {
				got = map[string]string{}
			}
			got[s.block] = s.now
		}
		if d := cmp.Diff(test.want, got); d != "" || ok != (test.want != nil) || more != (ok && !test.spare) {
			t.Errorf("parts(%q): more %v, ok %v, %s", test.text, more, ok, d)
		}
	}
}
