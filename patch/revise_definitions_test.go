package patch

import (
	"strings"
	"testing"
)

// TestFunctionsAlone: an agent wrote one function of a block that has several. The block became that function, and the
// rest was lost.
func TestFunctionsAlone(t *testing.T) {
	const load = "def load():\n    return [1]\n\nrows = load()"
	const helpers = "def mean(xs):\n    return sum(xs) / len(xs)\n\nLIMIT = 3\n\ndef high(xs):\n    m = mean(xs)\n" +
		"    return [x for x in xs if x > LIMIT * m]"
	on := Subject{Blocks: []Block{{ID: "load", Source: load}, {ID: "helpers", Source: helpers},
		{ID: "use", Source: "print(mean(rows), high(rows))"}}}
	now := "def high(xs):\n    m = mean(xs)\n    return [x for x in xs if x >= LIMIT * m]"
	for text, want := range map[string]string{
		now: strings.Replace(helpers, "x > LIMIT", "x >= LIMIT", 1),
		"import math\n" + now + "\n\ndef load(): return []": "import math\n" +
			strings.Replace(helpers, "x > LIMIT", "x >= LIMIT", 1),
		now + "\n\nprint(high([1]))": "", // what of it is the block?
	} {
		v, err := Revise(&Patch{Format: FormatBlock, Sections: []Section{{Act: ActEmit, Text: text}}}, on)
		if want == "" {
			if m, ok := err.(*ApplyError); !ok || m.Code != CodeAmbiguous || !strings.Contains(m.Message, "mean") {
				t.Errorf("%q: %v, want it refused for mean", text, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		got := v.Blocks[1].Source
		if strings.HasPrefix(text, "import") {
			got = "import math\n" + got
			if s := v.Blocks[0].Source; s != "import math\ndef load(): return []\n\nrows = load()" {
				t.Errorf("%q: load is %q", text, s)
			}
		}
		if got != want || len(v.Blocks) != 3 {
			t.Errorf("%q: helpers is %q, want %q", text, got, want)
		}
	}
}

// TestLineEndsOfWrittenAgain: a block written again with \n in a file with \r\n consisted of new lines only, and its
// file then had both line ends.
func TestLineEndsOfWrittenAgain(t *testing.T) {
	for _, end := range []string{"\r\n", "\n"} {
		file := strings.ReplaceAll("# %% a\nx = 1\ny = 2\n\n# %% b\ndef f():\n    return 1\n\nz = f()\n", "\n", end)
		program, err := Parse("p.py", []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		on := Subject{Name: "p.py", File: program, Blocks: program.Blocks}
		for i, id := range Names(on.Blocks) {
			on.Blocks[i].ID = id
		}
		for _, s := range []Section{
			{Act: ActEmit, Name: "a", Text: "x = 1\ny = 3"},
			{Act: ActEmit, Text: "import os\ndef f():\r\n    return 2"},
			{Act: ActEmit, Text: "import os\nprint(os)"},
			{Act: ActInsert, After: "a", Text: "n = 1\nm = 2"}, {Act: ActWrite, Name: "p.py", Text: "# %%\nx = 2\n"},
			{Act: ActCreate, Name: "c", Text: "q = 1\nr = 2"},
		} {
			v, err := Revise(&Patch{Format: FormatBlock, Sections: []Section{s}}, on)
			if err != nil {
				t.Errorf("%+v: %v", s, err)
				continue
			}
			text := string(v.Text)
			if strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", end) != text {
				t.Errorf("%+v: %q, want all lines to end with %q", s, text, end)
			}
		}
	}
}
