package patch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/patch/syntax"
)

func TestCells(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []shape
	}{
		{"titles", "# %% Load data\nx = 1\n\n\n# %%\ny = 2\n\nz = 3\n# %% ------ plot ------\nplot()\n", []shape{
			{2, "Load data", "x = 1"}, {6, "", "y = 2\n\nz = 3"}, {10, "plot", "plot()"},
		}},
		{"text before the first", "#!/usr/bin/env python\n\"\"\"Doc.\"\"\"\nimport os\n\n#%%\nx = 1\n", []shape{
			{1, "", "#!/usr/bin/env python\n\"\"\"Doc.\"\"\"\nimport os"}, {6, "", "x = 1"},
		}},
		{"comments before the first", "# ---\n# jupyter: {}\n# ---\n\n# %%\nx = 1\n", []shape{{6, "", "x = 1"}}},
		{"text is not code",
			"# %% [markdown]\n# # Title\n# %% [md] more\n\"\"\"\ntext\n\"\"\"\n# %% [raw]\nraw\n# %% code\n" +
				"x = 1\n", []shape{
				{10, "code", "x = 1"},
			}},
		{"nbconvert", "#!/usr/bin/env python\n# coding: utf-8\n\n# # Title\n\n# In[1]:\n\n\nx = 1\n\n\n# In[ ]:\n\n\n" +
			"y = 2\n",
			[]shape{
				{9, "", "x = 1"}, {15, "", "y = 2"},
			}},
		{"spyder and old IPython", "#%%Imports\nx = 1\n# %%% Sub\ny = 2\n# <codecell>\nz = 3\n# <markdowncell>\n" +
			"q\n", []shape{
			{2, "Imports", "x = 1"}, {4, "Sub", "y = 2"}, {6, "", "z = 3"},
		}},
		{"cell magics in comments", "# %%\n# %%time\n# %%bash -x\nx = 1\n# %%!ls\n", []shape{
			{2, "", "# %%time\n# %%bash -x\nx = 1\n# %%!ls"},
		}},
		{"options", "# %% Load tags=[\"a\", \"b\"] collapsed=true\nx = 1\n# %% {\"k\": 1}\ny = 2\n" +
			"# %% Fit alpha=0.1\nz = " +
			"3\n# %% name=\"w\"\nw = 4\n", []shape{
			{2, "Load", "x = 1"}, {4, "", "y = 2"}, {6, "Fit alpha=0.1", "z = 3"}, {8, "w", "w = 4"},
		}},
		{"named after what they define",
			"# %%\nimport os\n\ndef load(): pass\n# %%\ndef f(): pass\ndef g(): pass\n# %% own\n" +
				"class C: pass\n", []shape{
				{2, "load", "import os\n\ndef load(): pass"}, {6, "", "def f(): pass\ndef g(): pass"},
				{9, "own", "class C: pass"},
			}},
		{"empty cells", "# %%\n\n# %%\nx = 1\n# %%\n", []shape{{4, "", "x = 1"}}},
		{"within a string", "# %%\ns = '''\n# %% no\n'''\n# %%\ny = f\"\"\"\n# %% no\n{x}\"\"\"\n", []shape{
			{2, "", "s = '''\n# %% no\n'''"}, {6, "", "y = f\"\"\"\n# %% no\n{x}\"\"\""},
		}},
		{"within a statement", "# %%\nfor i in x:\n    a()\n# %% still the loop\n    b()\n# %% next\nf(1,\n# %% no\n" +
			"2)\n",
			[]shape{
				{2, "", "for i in x:\n    a()\n# %% still the loop\n    b()"}, {7, "next", "f(1,\n# %% no\n2)"},
			}},
		{"indented", "# %%\nif x:\n    # %% no\n    y()\n", []shape{{2, "", "if x:\n    # %% no\n    y()"}}},
		{"windows", "\ufeff# %% one\r\nx = 1\r\n\r\n# %% two\r\n" +
			"y = 2", []shape{{2, "one", "x = 1"}, {5, "two", "y = 2"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := mustParse(t, "a.py", c.text)
			if d := cmp.Diff(c.want, shapes(p)); d != "" {
				t.Errorf("Parse(%q) (-want +got):\n%s", c.text, d)
			}
			if p.Kind != KindCells {
				t.Errorf("Kind = %s, want %s", p.Kind, KindCells)
			}
		})
	}
}

// A cell that does not parse is one cell. The cells around it do not change, whatever it leaves open.
func TestBrokenCells(t *testing.T) {
	for _, bad := range []string{
		"x = (1,", "s = '''open", "s = \"\"\"open\n\nmore", "def f(:\n" +
			"    pass", "else:", "x = 'open", "}", "  y = 1\n x = 2",
		"s = r'''\\",
		"if x:", "for i in x:\n", "class A:", "def f():", "@d", "try:\n" +
			"    x()", "x = \\", "lambda:", "print 'a'", "import",
		"from a import",
		"x =", "x +", "while", "f(a for", "with open(x) as", "match x:", "def", "class", "x: ", "x if y else", "not",
		"return", "del", "x.",
	} {
		text := "# %% one\na = '''\n# %% not a cell\n'''\n# %% bad\n" + bad +
			"\n# %% two\nb = '''doc'''\n# %% three\ndef f():\n    '''doc\n# %% not a cell\n    '''\n# %% four\nc = 1\n"
		p := mustParse(t, "a.py", text)
		var titles []string
		for _, b := range p.Blocks {
			titles = append(titles, b.Title)
		}
		if d := cmp.Diff([]string{"one", "bad", "two", "three", "four"}, titles); d != "" {
			t.Errorf("with %q: titles (-want +got):\n%s", bad, d)
		}
		if got := p.Blocks[1].Source; got != strings.TrimSpace(bad) && got != bad {
			t.Errorf("with %q: its cell is %q", bad, got)
		}
	}
}

func TestCellDialect(t *testing.T) {
	p := mustParse(t, "a.py",
		"# %%\n%matplotlib inline\nx = 1\n# %%\n!ls\n# %%\nx = (y\n%z)\n# %%\nx = = 1\n# %%\ns = '''\n%d\n'''\n"+
			"# %% [raw]\n")
	var got []string
	for _, b := range p.Blocks {
		got = append(got, b.Dialect)
	}
	want := []string{syntax.IPython, syntax.IPython, syntax.Python, syntax.Python, syntax.Python}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("dialects (-want +got):\n%s", d)
	}
}

func TestCellIDs(t *testing.T) {
	p := mustParse(t, "a.py", "# %% Load id=\"a\"\nx = 1\n# %% id=\"a\"\ny = 2\n# %% id='b'\nz = 3\n")
	var got []string
	for _, b := range p.Blocks {
		got = append(got, b.ID+"/"+b.Title)
	}
	if d := cmp.Diff([]string{"a/Load", "/", "b/"}, got); d != "" {
		t.Errorf("ids (-want +got):\n%s", d)
	}
}

// With a string left open in every cell, the search for their ends once restarted at each. 20,000 such cells must not
// take long.
func TestManyBrokenCells(t *testing.T) {
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "# %%%% c%d\nx = ) '''\n", i)
	}
	p := mustParse(t, "a.py", text.String()+"# %% last\ny = \"\"\"'''\n")
	if got := len(p.Blocks); got < 19_000 {
		t.Errorf("got %d blocks, want 20,001", got)
	}
}
