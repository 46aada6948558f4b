package patch

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// seeds are shortened texts of all tables here: whatever was difficult once.
var seeds = []string{
	"x = 1\n\ndef f():\n    pass\n# c\n", "# %% a\nx = 1\n# %% [markdown]\n# t\n# In[2]:\ny",
	"\ufeff#!x\r\n# %%\r\ns = '''\r\n# %%\r\n'''\r\n",
	"x = (\n\n# %%\ny = '''\n\n# %%\n'''", "@d\n@e\n\ndef f(\n\nclass B:\n  x = = 1\n\n# c\n@\ny",
	"a\r\rb\r\n\n\fdef f(): pass\v\n", "# %%\n%t\n!l\n",
	"if x:\n  y\n\nelse:\n  z\n)\n]\n", "\\\n", "x = 1 \\", "'''", "\"\"\"\\", "#", "# %%", "\f\n \t\n;", "x;;y\n\n;",
	"# %%\nelse:\n# %%\nb = 1\n", "#%%%%%", "match x:\n case 1: pass\n",
	"print 'a'\nexec 'b'\n", "def f[T](a): pass\ntype X = int\nasync def g(): await h\n", "\t x\n  y\n z\n",
	"日本 = 'é'\n\nclass Größe: pass\n", "class A:\n\n\n# %%\n\n  x\n",
}

// Any .py file must be read without a panic and come back byte for byte. Its blocks must be in order, hold its text at
// their lines, and neither start nor end with a blank line.
func FuzzPython(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse("a.py", data)
		if err != nil {
			if pe := (*ParseError)(nil); !errors.As(err, &pe) || pe.Hint == "" || pe.Code == "" {
				t.Fatalf("Parse(%q) = %v, want a *ParseError with a hint", data, err)
			}
			return
		}
		if got := p.Bytes(); !bytes.Equal(got, data) {
			t.Fatalf("Parse(%q).Bytes() = %q", data, got)
		}
		checkPlaces(t, p, data)
	})
}

func checkPlaces(t *testing.T, p *Program, data []byte) {
	t.Helper()
	lines := syntax.NewText(data, syntax.Of(syntax.Python))
	for _, b := range p.Blocks {
		if !bytes.HasPrefix(data[lines.Begin(b.Line-1):], []byte(b.Source)) {
			t.Fatalf("block %q does not start at line %d of %q", b.Source, b.Line, data)
		}
		if strings.TrimLeft(b.Source, "\r\n") != b.Source || strings.TrimRight(b.Source, "\r\n") != b.Source ||
			b.Source == "" {
			t.Fatalf("block %q of %q starts or ends with a blank line", b.Source, data)
		}
	}
	for i, g := range p.gaps {
		gap := syntax.NewText([]byte(g), syntax.Of(syntax.Python))
		if p.Kind == KindScript && gap.HoldsCode(0, gap.Lines()-1) &&
			strings.Trim(g, "; \t\f\r\n\ufeff") != "" {
			t.Fatalf("gap %d of %q holds %q, which is in no block", i, data, g)
		}
	}
}

func FuzzNotebook(f *testing.F) {
	f.Add([]byte(v4))
	f.Add([]byte(`{"nbformat":3,"worksheets":[{"cells":[{"cell_type":"code","input":["x"]}]}]}`))
	f.Add([]byte(`{"nbformat":4,"cells":[{"cell_type":"code","source":[1]}, {"a":[{}]}],"metadata":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) { reread(t, "a.ipynb", data) })
}

func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{
		"```python\nx\n```\n", "~~~ {code-cell}\n:a: b\n---\n---\nx\n", "> - ```py {#a name=b}\n>   x\n",
		"```{python a, b=c}\n```", "\ufeff```python\r\nx\r\n",
		"```python\n\tx\n\ty\n  ```", "- \t```python\n\t\tx\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { reread(t, "a.md", data) })
}

func reread(t *testing.T, name string, data []byte) {
	t.Helper()
	p, err := Parse(name, data)
	if err != nil {
		return
	}
	if got := p.Bytes(); !bytes.Equal(got, data) {
		t.Fatalf("Parse(%s, %q).Bytes() = %q", name, data, got)
	}
	for i, b := range p.Blocks {
		if strings.TrimSpace(b.Source) == "" || b.Line < 1 || i > 0 && b.Line < p.Blocks[i-1].Line {
			t.Fatalf("Parse(%s, %q): block %d is %+v", name, data, i, b)
		}
	}
}
