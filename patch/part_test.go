package patch

import "testing"

func TestPart(t *testing.T) {
	blocks := []Block{
		{ID: "load", Source: "rows = read()\n"},
		{ID: "helpers", Source: "import math\n\n\ndef low(x):\n    return min(x)\n\n\n@cache\ndef high(x):\n    return max(x)\n\n\nclass Box:\n    pass\nn = 1"},
		{ID: "twice", Source: "def again(x):\n    return 1\n\n\ndef again(x):\n    return 2"},
		{ID: "also", Source: "def Box(): pass\nprint(Box)"},
	}
	for _, test := range []struct{ text, block, want string }{
		{"def low(x):\n    return sorted(x)[0]\n", "helpers",
			"import math\n\n\ndef low(x):\n    return sorted(x)[0]\n\n\n@cache\ndef high(x):\n    return max(x)\n\n\nclass Box:\n    pass\nn = 1"},
		{"def high(x): return 9\n\ndef low(x): return 0", "helpers",
			"import math\n\n\ndef low(x): return 0\n\n\ndef high(x): return 9\n\n\nclass Box:\n    pass\nn = 1"},
		{text: "def new(x):\n    return 1"},              // nobody's
		{text: "def low(x): pass\ndef new(x): pass"},     // in part
		{text: "def low(x): pass\nlow(3)"},               // more than definitions
		{text: "# why\ndef low(x): pass"},                // which a comment belongs to
		{text: "def low(x): pass\ndef low(x): return 2"}, // which of them
		{text: "def again(x): return 3"},                 // which of them
		{text: "class Box: pass"},                        // whose
		{text: "def low(x:"},                             // no Python
		{text: ""},
	} {
		id, now, ok := part(blocks, test.text)
		if id != test.block || now != test.want || ok != (test.block != "") {
			t.Errorf("part(%q) = %q, %q, %v; want %q, %q", test.text, id, now, ok, test.block, test.want)
		}
	}
}
