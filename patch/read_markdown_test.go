package patch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/patch/syntax"
)

func TestMarkdown(t *testing.T) {
	text := strings.ReplaceAll(`# Title

'''python
x = 1

y = 2
'''

    indented = "is not code"

'''bash
ls
'''

~~~py name=load
import os
~~~

'''{python}
%time x
'''

'''{code-cell} ipython3
:tags: [hide]
:name: cell

z = 3
'''

'''{code-cell}
---
tags: [a]
---
def f():
    pass
'''

'''{code-cell} r
y <- 1
'''

1. in a list

   '''python3 {#own .line title="Own title"}
   if a:
       b()
   '''

> '''Python id='q'
> q = 1
>
> r = 2
> '''

'''{.python #pandoc}
p = (1
'''

'''{python load-data, echo=FALSE}
l = 1
'''

'''python
'''

'''
plain
'''

'''python
open = 1
`, "'''", "```")
	p := mustParse(t, "a.md", text)
	want := []Block{
		{Dialect: syntax.Python, Source: "x = 1\n\ny = 2", Line: 4},
		{Dialect: syntax.Bash, Source: "ls", Line: 12},
		{Title: "load", Dialect: syntax.Python, Source: "import os", Line: 16},
		{Dialect: syntax.IPython, Source: "%time x", Line: 20},
		{Title: "cell", Dialect: syntax.IPython, Source: "z = 3", Line: 27},
		{Title: "f", Dialect: syntax.IPython, Source: "def f():\n    pass", Line: 34},
		{ID: "own", Title: "Own title", Dialect: syntax.Python, Source: "if a:\n    b()", Line: 45},
		{ID: "q", Dialect: syntax.Python, Source: "q = 1\n\nr = 2", Line: 50},
		{ID: "pandoc", Dialect: syntax.Python, Source: "p = (1", Line: 56},
		{Title: "load-data", Dialect: syntax.IPython, Source: "l = 1", Line: 60},
		{Dialect: syntax.Python, Source: "open = 1", Line: 71},
	}
	if d := cmp.Diff(want, p.Blocks); d != "" {
		t.Errorf("blocks (-want +got):\n%s", d)
	}
}

func TestMarkdownOnWindows(t *testing.T) {
	p := mustParse(t, "a.markdown", "\ufeff# T\r\n\r\n```python\r\nx = 1\r\ny = 2\r\n```\r\n")
	if d := cmp.Diff([]shape{{4, "", "x = 1\r\ny = 2"}}, shapes(p)); d != "" {
		t.Errorf("blocks (-want +got):\n%s", d)
	}
}

// TestMarkersInFences: the name in a fence was a comment of the block, so that nothing found the block by it.
func TestMarkersInFences(t *testing.T) {
	const head = "# Title\n\n"
	for _, c := range []struct{ fence, title, source, now string }{
		{"```python\n# %% clean\nrows = 1\n```\n", "clean", "rows = 1", "```python\n# %% clean\nrows = 2\n```\n"},
		{"```python\n\n# %% clean\n\nrows = 1\n```\n", "clean", "rows = 1",
			"```python\n\n# %% clean\n\nrows = 2\n```\n"},
		{"> ```ts\n> // %% clean\n> let rows = 1\n> ```\n", "clean", "let rows = 1",
			"> ```ts\n> // %% clean\n> rows = 2\n> ```\n"},
		{"```bash\n# %% clean\nrows=1\n```\n", "clean", "rows=1", "```bash\n# %% clean\nrows = 2\n```\n"},
		{"```python name=a\n# %% clean\nrows = 1\n```\n", "a", "# %% clean\nrows = 1", ""},
		{"```python\n# %% a\nx = 1\n# %% clean\nrows = 1\n```\n", "", "# %% a\nx = 1\n# %% clean\nrows = 1", ""},
		{"```python\n# %%time\nrows = 1\n```\n", "", "# %%time\nrows = 1", ""},
		{"```python\n# %% [markdown]\n# rows\nx = 1\n```\n", "", "# %% [markdown]\n# rows\nx = 1", ""},
	} {
		p, err := Parse("p.md", []byte(head+c.fence))
		if err != nil || len(p.Blocks) != 1 || p.Blocks[0].Title != c.title || p.Blocks[0].Source != c.source {
			t.Errorf("%q: %+v, %v; want %q, %q", c.fence, p, err, c.title, c.source)
			continue
		}
		if got := string(p.Bytes()); got != head+c.fence {
			t.Errorf("%q comes back as %q", c.fence, got)
		}
		if c.now == "" {
			continue
		}
		for _, text := range []string{"```python\n# %% clean\nrows = 2\n```\n",
			`{"cell_id": "clean", "new_source": "rows = 2"}`} {
			if c.fence[0] != '`' || strings.HasPrefix(c.fence, "```bash") {
				text = `{"cell_id": "clean", "new_source": "rows = 2"}`
			}
			r, err := revised(t, "p.md", head+c.fence, text)
			if err != nil || string(r.Text) != head+c.now {
				t.Errorf("%q by %q: %q, %v; want %q", c.fence, text, textOf(r), err, head+c.now)
			}
		}
	}
}
