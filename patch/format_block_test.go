package patch

import (
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// TestTextAboveMarkers: a comment above the first marker made one block of a text, and the names in it were lost.
func TestTextAboveMarkers(t *testing.T) {
	for _, c := range []struct{ text, dialect, want string }{
		{"# Step 1: load\n# %% a\nx = 1\n\n# %% b\ny = x", syntax.Python, "a b"},
		{"# p.py\n\n# %% a\nx = 1", syntax.Python, "a"},
		{"#!/usr/bin/env python3\n# %% a\nx = 1\n# %% b\ny = x", syntax.Python, "a b"},
		{"\"\"\"All of it.\"\"\"\n# %% a\nx = 1", syntax.Python, " a"},
		{"import os\n\n# %% a\nx = os.name", syntax.Python, " a"},
		{"// p.ts\n// %% a\nconst x = 1;\n// %% b\nconsole.log(x);", syntax.TypeScript, "a b"},
		{"/* All\n   of it. */\n// %% a\nconst x = 1;", syntax.TypeScript, "a"},
		{"#!/bin/bash\n# Step 1\n# %% a\nx=1\n# %% b\necho $x", syntax.Bash, "a b"},
		{"# %% [markdown]\n# Text.\n# %% a\nx = 1", syntax.Python, "a"},
		{"# no marker\nx = '''\n# %% a\n'''", syntax.Python, ""},
		{"x = 1\n# %%time is a magic\ny = 2", syntax.Python, ""},
	} {
		var names []string
		p, _, err := ReadSubmission(c.text, c.dialect)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Sections {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("names of %q = %q, want %q", c.text, got, c.want)
		}
	}
	const text = "# Step 1: load\n# %% a\nx = 1\n\n# %% [markdown]\n# Text.\n\n# %% b\ny = x\n"
	p, err := Read(text, "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Revise(p, Subject{Name: "p.py"})
	if err != nil || string(r.Text) != text || len(r.Blocks) != 2 {
		t.Errorf("%+v, %v; want the text as the new file", r, err)
	}
}

// TestMarkedBash: code of Bash below a marker is code, and the same text without one may be anything.
func TestMarkedBash(t *testing.T) {
	code := "N=$(count \"$SRC\")\nprintf 'ROWS=%d\\n' \"$N\""
	p, err := Read("# %% report\n"+code, "")
	if err != nil {
		t.Fatal(err)
	}
	on := Subject{Blocks: []Block{
		{ID: "count", Title: "count", Source: "count() { wc -l < \"$1\"; }", Dialect: syntax.Bash}}}
	r, err := Revise(p, on)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Blocks); n != 2 || r.Blocks[1].Source != code || r.Blocks[1].Dialect != syntax.Bash {
		t.Errorf("the blocks are %+v", r.Blocks)
	}
	if _, err := Read(code, ""); err == nil {
		t.Error("without a marker the text is taken for code")
	}
}
