package patch

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzRevise applies any patch to any program. Nothing panics. A refusal gives a reason. The edits make the blocks, the
// file reads as them, and the given program does not change.
func FuzzRevise(f *testing.F) {
	programs := map[string]string{
		"p.py": "import math\n\nrows = [1, 2]\nprint(rows)\n\ndef total(rows):\n    return sum(rows)\n",
		"c.py": "# %% load\nrows = [1, 2]\n# %%\ndef total(rows):\n    return sum(rows)\n# %% " +
			"report\nprint(total(rows))\n",
		"d.md": "# T\n\n```python\nx = 1\n```\n\nthen\n\n```python name=b\nx + 1\n```\n",
		"n.ipynb": `{"cells":[{"cell_type":"code","id":"a","metadata":{},"outputs":[],"source":["x = 1"]},` +
			`{"cell_type":"markdown","id":"m","metadata":{},"source":["T"]},` +
			`{"cell_type":"code","id":"b","metadata":{},"outputs":[],"source":["%time x\n","x"]}],` +
			`"metadata":{},"nbformat":4,"nbformat_minor":5}`,
	}
	patches := []string{
		"<<<<<<< SEARCH\nrows = [1, 2]\n=======\nrows = [1, 2, 3]\n>>>>>>> REPLACE\n",
		"*** Begin Patch\n*** Update File: p.py\n@@\n import math\n+import os\n*** End Patch\n",
		"*** Begin Patch\n*** Delete File: total\n*** End Patch\n",
		"*** Begin Patch\n*** Add File: new\n+y = 1\n*** End Patch\n",
		"```python\ndef total(rows):\n    return sum(rows) + 1\n```\n", "# %% load\nrows = []\n# %% other\nz = 1\n",
		`{"cell_id":"a","new_source":"x = 2"}`, `{"cell_id":"cell-0","new_source":"y = 2","edit_mode":"insert"}`,
		`{"cell_id":"m","new_source":"y = 2","cell_type":"code"}`,
		`[{"cell_id":"m","new_source":"N","cell_type":"raw","edit_mode":"insert"},` +
			`{"cell_index":0,"edit_mode":"delete"}]`,
		"--- a/d.md\n+++ b/d.md\n@@ -3,3 +3,3 @@\n ```python\n-x = 1\n+x = 2\n ```\n",
		`{"command":"insert","path":"","insert_line":1,"insert_text":"# %% new\nw = 1"}`,
		"@@ @@\n-x = 1\n+x = (\n", "@@ @@\n x = 1\n+# %% two\n+y = 2\n",
	}
	for name, text := range programs {
		for _, p := range patches {
			f.Add(name, text, p, "")
		}
	}
	f.Fuzz(func(t *testing.T, name, file, text, failed string) {
		program, err := Parse(name, []byte(file))
		if err != nil {
			return
		}
		p, err := Read(text, "")
		if err != nil {
			return
		}
		on := Subject{Name: name, File: program, Failed: []string{failed}}
		for i, id := range Names(program.Blocks) {
			b := program.Blocks[i]
			b.ID, b.Line = id, 0
			on.Blocks = append(on.Blocks, b)
		}
		before := append([]Block(nil), on.Blocks...)
		checkRevision(t, p, on)
		on.File = nil
		checkRevision(t, p, on)
		if d := cmp.Diff(before, on.Blocks); d != "" || string(program.Bytes()) != file {
			t.Fatalf("the program given was changed: %s", d)
		}
	})
}

func checkRevision(t *testing.T, p *Patch, on Subject) {
	t.Helper()
	v, err := Revise(p, on)
	if err != nil {
		var unfit *ApplyError
		var bad *ParseError
		if !errors.As(err, &unfit) && !errors.As(err, &bad) {
			t.Fatalf("Revise = %v, want a *ApplyError or a *ParseError", err)
		}
		return
	}
	made, err := Apply(on.Blocks, v.Edits)
	if err != nil {
		t.Fatalf("Apply = %v; edits %+v", err, v.Edits)
	}
	for i := range made {
		made[i].Line = 0
	}
	for i := range v.Blocks {
		v.Blocks[i].Line = 0
	}
	if d := cmp.Diff(v.Blocks, made); d != "" {
		t.Fatalf("the edits make (-blocks +made):\n%s", d)
	}
	if len(v.Placements) < len(p.Sections) {
		t.Fatalf("%d placements of %d sections", len(v.Placements), len(p.Sections))
	}
	if on.File == nil {
		return
	}
	again, err := Parse(on.Name, v.Text)
	if err != nil {
		t.Fatalf("the file cannot be read: %v\n%s", err, v.Text)
	}
	if edits := Match(v.Blocks, again.Blocks); len(edits) > 0 {
		t.Fatalf("the file reads otherwise: %+v\n%s", edits, v.Text)
	}
}

// TestReviseKeeps: blocks keep their ids for every form of a patch of the file.
func TestReviseKeeps(t *testing.T) {
	const file = "# %% a\nx = 1\n# %% b\ny = 2\n# %% c\nz = 3\n"
	for name, x := range map[string]struct{ patch, want string }{
		"all of one":         {search("y = 2\n", "def other():\n    pass\n"), "a b c"},
		"its name, too":      {search("# %% b\ny = 2\n", "# %% other\nwholly = other\n"), "a b c"},
		"one in between":     {search("# %% b\n", "# %% new\nn = 1\n# %% b\n"), "a new b c"},
		"two become one":     {search("# %% b\ny = 2\n# %% c\nz = 3\n", "# %% c\ny = 2\nz = 3\n"), "a b"},
		"one becomes two":    {search("y = 2\n", "y = 2\n# %% more\nw = 4\n"), "a b more c"},
		"others swap":        {search("# %% a\nx = 1\n# %% b\ny = 2\n", "# %% b\ny = 2\n# %% a\nx = 1\n"), "b a c"},
		"everything written": {`{"file_path": "p.py", "content": "# %% a\nx = 1\n# %% c\nz = 4\n"}`, "a c"},
	} {
		program, err := Parse("p.py", []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		on := Subject{Name: "p.py", File: program, Blocks: append([]Block(nil), program.Blocks...)}
		for i, id := range Names(program.Blocks) {
			on.Blocks[i].ID = id
		}
		p, err := Read(x.patch, "")
		if err != nil {
			t.Fatal(err)
		}
		v, err := Revise(p, on)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var ids []string
		for _, b := range v.Blocks {
			ids = append(ids, b.ID)
		}
		if got := strings.Join(ids, " "); got != x.want {
			t.Errorf("%s: blocks %s, want %s", name, got, x.want)
		}
	}
}

func search(old, new string) string {
	return "<<<<<<< SEARCH\n" + old + "=======\n" + new + ">>>>>>> REPLACE\n"
}

// TestIsFile: a path refers to the program's file only if it can.
func TestIsFile(t *testing.T) {
	on := Subject{Name: "app/p.py", Path: "/home/u/project/app/p.py"}
	for said, want := range map[string]bool{
		"app/p.py": true, "./app/p.py": true, "p.py": true, "project/app/p.py": true, "/home/u/project/app/p.py": true,
		`app\p.py`:                true,
		"/mnt/workspace/app/p.py": true, "tests/p.py": false, "app/tests/p.py": false, "/other/p.py": false,
		"xp.py":       false,
		"../app/p.py": false, "q.py": false, "": false,
	} {
		if got := on.isFile(said); got != want {
			t.Errorf("isFile(%q) = %v, want %v", said, got, want)
		}
	}
	if (&Subject{}).isFile("") || (&Subject{}).isFile(".") {
		t.Error("a program without a file has none")
	}
}

// TestReadKnowsCode: a block with a patch in a string is a block.
func TestReadKnowsCode(t *testing.T) {
	for _, inner := range []string{"*** Begin Patch\n*** End Patch", "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE",
		"diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b", "@@ @@\n-a\n+b"} {
		p, err := Read("text = \"\"\"\n"+inner+"\n\"\"\"\nprint(text)\n", "")
		if err != nil || p.Format != FormatBlock {
			t.Errorf("Read(code with %q) = %+v, %v, want a block", inner, p, err)
		}
	}
}

// TestReviseWhole: a script that is written again as a whole does not become one more block.
func TestReviseWhole(t *testing.T) {
	const script = "import math\n\nrows = [1, 2]\nprint(rows)\n\ndef total(rows):\n    return " +
		"sum(rows)\n\nprint(total(rows))\n"
	now := strings.Replace(script, "sum(rows)", "math.fsum(rows)", 1)
	v, err := revised(t, "p.py", script, "Here it is:\n\n```python\n"+now+"```\n")
	if err != nil {
		t.Fatal(err)
	}
	if string(v.Text) != now || len(v.Edits) != 1 || v.Edits[0].ID != "total" ||
		v.Placements[0].Decision.By != ByProgram {
		t.Errorf("Text = %q, Edits = %+v, Placements = %+v", v.Text, v.Edits, v.Placements)
	}
	cells := "# %% a\nimport math\n# %% b\nrows = [1, 2]\nprint(rows)\n# %% c\nprint(sum(rows))\n"
	_, err = revised(t, "p.py", cells, "```python\nimport math\nrows = [1, 2]\nprint(rows)\nprint(math.fsum(rows))\n"+
		"```\n")
	if codeOf(err) != string(CodeAmbiguous) {
		t.Errorf("cells written again without marks: %v, want %s", err, CodeAmbiguous)
	}
}

// TestReviseJSON: a diff of a notebook's file, as git shows it, is a patch of the notebook.
func TestReviseJSON(t *testing.T) {
	const file = "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"id\": \"a\",\n   \"metadata\": {},\n   " +
		"\"outputs\": [],\n   \"source\": [\n    \"x = 1\"\n   ]\n  }\n ],\n \"metadata\": {},\n \"nbformat\": 4,\n " +
		"\"nbformat_minor\": 5\n}\n"
	v, err := revised(t, "n.ipynb", file,
		"--- a/n.ipynb\n+++ b/n.ipynb\n@@ -7,5 +7,5 @@\n    \"outputs\": [],\n    \"source\": [\n-    \"x = 1\"\n"+
			"+    \"x "+
			"= 2\"\n    ]\n   }\n")
	if err != nil {
		t.Fatal(err)
	}
	if string(v.Text) != strings.Replace(file, "x = 1", "x = 2", 1) || len(v.Edits) != 1 || v.Edits[0].ID != "a" ||
		v.Edits[0].Op != OpPatch {
		t.Errorf("Text = %q, Edits = %+v", v.Text, v.Edits)
	}
}

func revised(t *testing.T, name, file, patch string) (*Revision, error) {
	t.Helper()
	program, err := Parse(name, []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	on := Subject{Name: name, File: program, Blocks: append([]Block(nil), program.Blocks...)}
	for i, id := range Names(program.Blocks) {
		on.Blocks[i].ID = id
	}
	p, err := Read(patch, "")
	if err != nil {
		t.Fatal(err)
	}
	return Revise(p, on)
}

// TestReviseWithoutFile: a patch may call a program that has no file by the name of its session.
func TestReviseWithoutFile(t *testing.T) {
	for name, fits := range map[string]bool{"shop": true, "shop.py": true, "other.py": false, "a/shop.py": false} {
		p, err := Read("*** Begin Patch\n*** Update File: "+name+"\n@@\n-x = 1\n+x = 2\n*** End Patch\n", "")
		if err != nil {
			t.Fatal(err)
		}
		r, err := Revise(p, Subject{Blocks: []Block{{ID: "a", Source: "x = 1"}}, Session: "shop"})
		if fits != (err == nil) {
			t.Errorf("%s: %v", name, err)
		} else if fits && r.Blocks[0].Source != "x = 2" {
			t.Errorf("%s: the block is %q", name, r.Blocks[0].Source)
		}
	}
}
