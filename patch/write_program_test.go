package patch

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
	"github.com/xstate-engine/xstate/patch/syntax"
)

const cellsFile = `#!/usr/bin/env python
# notes of the file

# %% load
rows = [1, 2]

# %% [markdown]
# Why this is scaled.

# %%
def scale(x):
    return 2 * x

# %% report
print(rows)
`

const scriptFile = "import os\n\n\ndef scale(x):\n    return 2 * x\n\n\nrows = [1]\n\nprint(rows)\n"

const markdownFile = "# Notes\n\nFirst.\n\n```python name=load\nrows = [1, 2]\n```\n\n> quoted\n>\n> ```python\n> " +
	"def scale(x):\n>     return 2 * x\n> ```\n\n```sh\nls\n```\n\n~~~python\nprint(rows)\n~~~\nThe end."

const notebookFile = `{
 "cells": [
  {"cell_type": "markdown", "id": "m1", "metadata": {}, "source": ["# Notes"]},
  {"cell_type": "code", "id": "load", "execution_count": 3, "metadata": {"tags": ["x"]}, ` +
	`"outputs": [{"output_type": "stream", "name": "stdout", "text": ["hi"]}], "source": ["rows = [1, 2]\n", "rows"]},
  {"cell_type": "code", "id": "empty", "execution_count": null, "metadata": {}, "outputs": [], "source": []},
  {"cell_type": "code", "id": "report", "execution_count": 4, "metadata": {}, "outputs": [], "source": "print(rows)"}
 ],
 "metadata": {"kernelspec": {"language": "python", "name": "p"}, "custom": 1.50},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

var rewriteFiles = map[string]string{"cells.py": cellsFile, "script.py": scriptFile, "notes.md": markdownFile,
	"book.ipynb": notebookFile,
	"windows.py": strings.ReplaceAll(cellsFile, "\n", "\r\n")}

func readFile(t *testing.T, name, data string) (*Program, []string) {
	t.Helper()
	p, err := Parse(name, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	ids := Names(p.Blocks)
	for i := range p.Blocks {
		p.Blocks[i].ID, p.Blocks[i].Line = ids[i], 0
	}
	return p, ids
}

// TestWithItself: a file that receives its own program does not change.
func TestWithItself(t *testing.T) {
	for name, data := range rewriteFiles {
		p, ids := readFile(t, name, data)
		got, err := p.With(ids, p.Blocks)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d := cmp.Diff(data, string(got)); d != "" {
			t.Errorf("%s with itself (-want +got):\n%s", name, d)
		}
	}
}

// TestWith: edited, added and deleted blocks change in the file, and nothing else.
func TestWith(t *testing.T) {
	for _, c := range []struct {
		name, file string
		edit       func([]Block) []Block
		old, new   []string // replaced in the file, in turn
	}{
		{"edit", "cells.py", patched(1, "def scale(x):\n    return 3 * x"), []string{"2 * x"}, []string{"3 * x"}},
		{"add", "cells.py", added(1, Block{ID: "new", Title: "more", Dialect: syntax.Python, Source: "x = 1"}),
			[]string{"rows = [1, 2]\n"}, []string{"rows = [1, 2]\n\n# %% more\nx = 1\n"}},
		{"first", "cells.py", added(0, Block{ID: "new", Dialect: syntax.Python, Source: "x = 1"}), []string{"file\n\n"},
			[]string{"file\n\n\n\n# %%\nx = 1\n"}},
		{"delete", "cells.py", deleted(1), []string{"# %%\ndef scale(x):\n    return 2 * x\n"}, []string{"\n"}},
		{"delete last", "cells.py", deleted(2), []string{"\n\n# %% report\nprint(rows)\n"}, []string{"\n"}},
		{"title", "cells.py", func(b []Block) []Block { b[0].Title = "read"; return b }, []string{"# %% load"},
			[]string{"# %% read"}},
		{"edit", "script.py", patched(1, "def scale(x):\n    return 3 * x"), []string{"2 * x"}, []string{"3 * x"}},
		{"delete", "script.py", deleted(2), []string{"\nrows = [1]\n\n"}, []string{""}},
		{"add", "script.py", added(3, Block{ID: "new", Dialect: syntax.Python, Source: "y = 2"}),
			[]string{"rows = [1]\n"}, []string{"rows = [1]\n\ny = 2\n"}},
		{"edit", "notes.md", patched(1, "def scale(x):\n    return 3 * x"), []string{"2 * x"}, []string{"3 * x"}},
		{"delete", "notes.md", deleted(0), []string{"```python name=load\nrows = [1, 2]\n```\n\n"}, []string{"\n"}},
		{"add", "notes.md", added(4, Block{ID: "new", Title: "two words", Dialect: syntax.Python, Source: "s = '```'"}),
			[]string{"~~~\nThe end."}, []string{"~~~\n\n````python name=\"two words\"\ns = '```'\n````\nThe end."}},
		{"edit", "book.ipynb", patched(0, "rows = [3]"),
			[]string{`"outputs": [{"output_type": "stream", "name": "stdout", "text": ["hi"]}]`, `"execution_count": 3`,
				`["rows = [1, 2]\n", "rows"]`},
			[]string{`"outputs": []`, `"execution_count": null`, "[\n    \"rows = [3]\"\n   ]"}},
		{"delete", "book.ipynb", deleted(1),
			[]string{",\n  {\"cell_type\": \"code\", \"id\": \"report\", \"execution_count\": 4, \"metadata\": {}, " +
				"\"outputs\": [], \"source\": \"print(rows)\"}"}, []string{""}},
	} {
		p, ids := readFile(t, c.file, rewriteFiles[c.file])
		want := rewriteFiles[c.file]
		for i := range c.old {
			if !strings.Contains(want, c.old[i]) {
				t.Fatalf("%s of %s: no %q in the file", c.name, c.file, c.old[i])
			}
			want = strings.Replace(want, c.old[i], c.new[i], 1)
		}
		got, err := p.With(ids, c.edit(append([]Block(nil), p.Blocks...)))
		if err != nil {
			t.Errorf("%s of %s: %v", c.name, c.file, err)
			continue
		}
		if d := cmp.Diff(want, string(got)); d != "" {
			t.Errorf("%s of %s (-want +got):\n%s", c.name, c.file, d)
		}
	}
}

func patched(i int, source string) func([]Block) []Block {
	return func(b []Block) []Block { b[i].Source = source; return b }
}

func added(i int, b Block) func([]Block) []Block {
	return func(list []Block) []Block { return append(list[:i:i], append([]Block{b}, list[i:]...)...) }
}

func deleted(i int) func([]Block) []Block {
	return func(list []Block) []Block { return append(list[:i:i], list[i+1:]...) }
}

// TestWithAny checks the law: for any change of the blocks, the file reads as them, keeps its prose, and can be changed
// back.
func TestWithAny(t *testing.T) {
	seed := sampling.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	fresh := 0
	for round := range 100 {
		for name, data := range rewriteFiles {
			p, ids := readFile(t, name, data)
			blocks := append([]Block(nil), p.Blocks...)
			for range 1 + r.IntN(3) {
				i := r.IntN(len(blocks))
				switch r.IntN(4) {
				case 0:
					blocks[i].Source += "\nz = 0"
				case 1:
					fresh++
					id := fmt.Sprintf("x%d", fresh)
					blocks = added(i, Block{ID: id, Dialect: p.Blocks[0].Dialect, Source: "new = " + id})(blocks)
				case 2:
					if len(blocks) > 1 {
						blocks = deleted(i)(blocks)
					}
				case 3:
					j := r.IntN(len(blocks))
					blocks[i], blocks[j] = blocks[j], blocks[i]
				}
			}
			got, err := p.With(ids, blocks)
			if err != nil {
				t.Fatalf("seed %d, round %d, %s: %v", seed, round, name, err)
			}
			for _, note := range []string{"notes of the file", "Why this is scaled", "# Notes", "The end", "> quoted",
				`"custom": 1.50`} {
				if strings.Contains(data, note) && !strings.Contains(string(got), note) {
					t.Fatalf("seed %d, round %d, %s: %q is lost in\n%s", seed, round, name, note, got)
				}
			}
			if strings.HasSuffix(name, ".ipynb") && !json.Valid(got) {
				t.Fatalf("seed %d, round %d: not JSON:\n%s", seed, round, got)
			}
			next, err := Parse(name, got)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := next.With(Identify(blocks, next.Blocks), p.Blocks); err != nil {
				t.Fatalf("seed %d, round %d, %s back: %v\nfrom\n%s\nto\n%s", seed, round, name, err, got, back)
			}
		}
	}
}

// TestNew: a program without a file, in each kind of file.
func TestNew(t *testing.T) {
	p, _ := readFile(t, "cells.py", cellsFile)
	for _, kind := range []Kind{KindCells, KindNotebook, KindMarkdown} {
		blocks := append([]Block(nil), p.Blocks...)
		if kind == KindNotebook {
			for i := range blocks {
				blocks[i].Dialect = syntax.IPython
			}
		}
		texts := []Text{
			{Source: "# Title\n\n%% no marker\n\n```python\nnot = 'a block'\n```"},
			{Before: 1, Kind: TextOutput, Source: "out\n# %% put\n```\nx"},
			{Before: 1, Kind: TextRaw, Source: "raw"},
			{Before: len(blocks), Source: "The end."},
		}
		data, err := New(kind, blocks, texts)
		if err != nil {
			t.Errorf("New(%s): %v\n%s", kind, err, data)
		}
		if kind == KindNotebook {
			continue
		}
		again, err := Parse("a"+map[Kind]string{KindCells: ".py", KindMarkdown: ".md"}[kind], data)
		if err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		for _, x := range again.Texts(nil, nil) {
			said.WriteString(x.Source + "\n")
		}
		for _, want := range []string{"# Title\n", "% no marker\n", "not = 'a block'\n", "raw\n", "The end.\n"} {
			if !strings.Contains(said.String(), want) {
				t.Errorf("New(%s) lacks the text %q:\n%s", kind, want, data)
			}
		}
	}
	marked := []Block{{ID: "a", Dialect: syntax.Python, Source: "x = 1\n# %% b\ny = 2"}}
	if _, err := New(KindCells, marked, nil); err == nil {
		t.Error("a block with a cell marker in it was written as one cell")
	}
}
