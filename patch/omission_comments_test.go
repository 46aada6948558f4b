package patch

import (
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// omissionTexts are texts of which each means omitted lines, by language. They stand where the old text has a filter.
var omissionTexts = map[string][]string{
	syntax.Python: {"# ... existing code ...", "# (unchanged)", "# same as before", "# keep existing filter",
		"# ... filter ...",
		"# [snip]", "# filter omitted for brevity", "# filter as above", "...", "…", "# …", "# rest of the function",
		"# [... existing code ...]", "# Unchanged.", "# <unchanged code>", "# --- snip ---", "# no changes here",
		"# (Rest of your code here...)", "# code omitted", "# everything else stays the same", "#...", "[...]",
		"# remaining code", "# and so on", "# the filter stays as it is"},
	syntax.TypeScript: {"// ... existing code ...", "// rest of the function", "/* unchanged */", "// ...", "...",
		"// same", "/* ... */", "// … filter …", "// [snip]", "/* filter as before */", "<!-- ... -->",
		"{/* ... existing ... */}"},
	syntax.Bash: {"# ... existing code ...", "# (same as above)", "# snip", "...", ": # unchanged",
		"# rest of the script"},
}

// TestElision: an agent wrote a block again with lines in the place of unchanged code, and that code was lost.
func TestElision(t *testing.T) {
	codes := map[string][3]string{
		syntax.Python: {"rows = [3, -1]\n", "rows = [r for r in rows if r > 0]\n",
			"scaled = [r * 2 for r in rows]\nprint(scaled)"},
		syntax.TypeScript: {"let rows = [3, -1];\n", "rows = rows.filter(r => r > 0);\n",
			"console.log(rows.map(r => r * 2));"},
		syntax.Bash: {"rows='3 -1'\n", "rows=$(echo $rows | tr -d -)\n",
			"for r in $rows; do echo $((r * 2)); done"},
	}
	for dialect, texts := range omissionTexts {
		code := codes[dialect]
		head, rest := code[0], code[2]
		old := head + code[1] + rest
		for _, text := range texts {
			now := head + text + "\n" + strings.Replace(rest, "* 2", "* 4", 1)
			for door, s := range everyDoor(now, dialect) {
				on := Subject{Blocks: []Block{{ID: "a", Title: "a", Source: old, Dialect: dialect}}}
				if strings.HasPrefix(door, "exec") {
					no := func(string) bool { return false }
					on.Submitted = &Submitted{Overtaken: no, Consumed: no}
				}
				_, err := Revise(&Patch{Format: FormatBlock, Sections: []Section{s}}, on)
				if bad, ok := err.(*ParseError); !ok || bad.Code != CodePatch || !strings.Contains(bad.Message, text) {
					t.Errorf("%s by %s: %v, want it refused", now, door, err)
				}
			}
			on := Subject{Blocks: []Block{{ID: "a", Source: now, Dialect: dialect}}}
			again := &Patch{Sections: []Section{{Act: ActWrite, Name: "a", Text: now + "\n"}}}
			if _, err := Revise(again, on); err != nil {
				t.Errorf("%s: %v, want no error where the old text has the line", now, err)
			}
		}
	}
}

// everyDoor returns the ways in which a block is written again, by name.
func everyDoor(text, dialect string) map[string]Section {
	s := Section{Act: ActEmit, Text: text, Dialect: dialect}
	named, write := s, s
	named.Name, write.Name, write.Act = "a", "a", ActWrite
	return map[string]Section{"patch": named, "patch without name": s, "exec": named, "exec without name": s,
		"write": write}
}

// TestElisionOrCode: a line that only looks as if it left out code was refused.
func TestElisionOrCode(t *testing.T) {
	on := Subject{Blocks: []Block{{ID: "a", Source: "def f():\n    # ...\n    return 1\n\nx = f()"},
		{ID: "b", Source: "print(x)"}}}
	for text, want := range map[string]bool{
		"# ... existing code ...\nx = f() + 1":                                 false,
		"def f():\n    # … rest of the function is the same":                   false,
		"# rest of the code remains unchanged\nx = 2":                          false,
		"# (Rest of your code here...)\nx = 2":                                 false,
		"def f():\n    ...  # unchanged":                                       false,
		"def f():  # same as before\n    ...\nx = f() + 1":                     false,
		"def f():\n    pass # same as before\nx = 3":                           false,
		"def f():\n    ...\n\nx = f() + 1":                                     false,
		"# Other imports stay as before\nx = 2":                                false,
		"def f():\n    # ...\n    # ...\n\nx = f()":                            false, // the program has one of the two
		"x = 2\n# ...\ny = 3":                                                  true,  // the program has this one
		"x = 2\n# load the remaining files...\ny = 3":                          true,
		"x = 2\n# the same again, with the rest of the rows":                   true,
		"x = '''\n# ... existing code ...\n'''":                                true,
		"def f():\n    # the previous function\n    return 2":                  true,
		"class A:\n    pass  # nothing to add\n\nx = 2":                        true,
		"x = 2 # ... existing":                                                 true,
		"def g(): ...\n\nx = 2":                                                true,
		"class A: ...\n\nx = 2":                                                true,
		"class P(Protocol):\n    def f(self) -> int:\n        ...":             false, // f had a body
		"class P(Protocol):\n    def size(self) -> int:\n        ...":          true,
		"class P(Protocol):\n    \"\"\"All.\"\"\"\n    ...\n\nx = P":           true,
		"@overload\ndef g(a: int,\n      b: int,\n) -> int:\n    ...\nx = 1":   true,
		"async def g():\n    '''A\n    long one.'''\n    ...\n\nx = 1":         true,
		"y = x[...]\nz = x[..., 0]":                                            true,
		"x = [*f(),\n     2]":                                                  true,
		"y = {...}":                                                            true,
		"url = 'http://... unchanged'":                                         true,
		"def g():\n    # keep the rows as they were read\n    return 2\nx = 2": true,
	} {
		for _, s := range []Section{{Act: ActEmit, Name: "a", Text: text}, {Act: ActWrite, Name: "a", Text: text}} {
			_, err := Revise(&Patch{Format: FormatBlock, Sections: []Section{s}}, on)
			bad, ok := err.(*ParseError)
			if (err == nil) != want || err != nil && (!ok || bad.Code != CodePatch || bad.Line == 0) {
				t.Errorf("%q: %v, want %v", text, err, want)
			}
		}
	}
	if _, err := Revise(&Patch{Sections: []Section{{Act: ActEmit, Name: "a", Text: on.Blocks[0].Source + "\n" +
		strings.Repeat("# ...\n", 1<<18)}}}, on); err != nil {
		t.Error(err) // no code is missing
	}
}

// TestElisionInFiles: whole files and parts of texts left out code in the same way.
func TestElisionInFiles(t *testing.T) {
	for _, c := range []struct{ name, file, patch string }{
		{"p.py", "# %% a\nx = 1\ny = 2\n\n# %% b\nprint(x)\n",
			`{"path": "p.py", "content": "# %% a\nx = 1\n# (unchanged)\n"}`},
		{"p.py", "# %% a\nx = 1\ny = 2\nprint(x)\n",
			`{"old_string": "x = 1\ny = 2\nprint(x)", "new_string": "x = 1\n# ... existing code ...\nprint(y)"}`},
		{"p.py", "x = 1\ny = 2\nprint(x)\n",
			"<<<<<<< SEARCH\nx = 1\ny = 2\nprint(x)\n=======\nx = 1\n# same as before\nprint(x + 1)\n" +
				">>>>>>> REPLACE\n"},
		{"p.md", "# T\n\n```python\nx = 1\ny = 2\n```\n\nText.\n\n```python\nprint(x)\n```\n",
			`{"path": "p.md", "content": "# T\n\n<!-- rest unchanged -->\n\n` + "```python\\nprint(x)\\n```" + `\n"}`},
		{"p.md", "# T\n\n```python\nx = 1\ny = 2\n```\n", `{"path": "p.md", "content": "# T\n\n` +
			"```python\\n# ... existing code ...\\ny = 3\\n```" + `\n"}`},
		{"p.ipynb", notebookOf("x = 1\\ny = 2\\nprint(x)"), `{"path": "p.ipynb", "content": ` +
			encodeJSON(notebookOf(`x = 1\n# same as before\nprint(x + 1)`), "") + `}`},
	} {
		if _, err := revised(t, c.name, c.file, c.patch); err == nil || !strings.Contains(err.Error(), "incomplete") {
			t.Errorf("%s: %v, want it refused", c.patch, err)
		}
	}
	if _, err := revised(t, "p.md", "# T\n\n```python\nx = 1\n```\n\nText.\n",
		`{"path": "p.md", "content": "# As before\n\n`+"```python\\nx = 2\\n```"+`\n"}`); err != nil {
		t.Errorf("%v, want a heading to be no omission", err)
	}
}

// notebookOf returns a notebook with one cell.
func notebookOf(source string) string {
	return `{"cells": [{"cell_type": "code", "id": "a", "metadata": {}, "execution_count": null, "outputs": [], ` +
		`"source": "` + source + `"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`
}

// TestOutputInFences: an answer showed a program's output in a fence without a language, and the output became a block.
func TestOutputInFences(t *testing.T) {
	for text, want := range map[string]int{
		"```python\nx = 1\n```\nprints\n```\nmean 2.33 std 1\n```\n": 1,
		"```python\nx = 1\n```\nprints\n```\n[1, 2]\n```\n":          1,
		"```\nx = 1\n```\nprints\n```\nmean 2.33 std 1\n```\n":       1,
		"```python\nx = 1\n```\nand\n```\ny = 2\n```\n":              2,
		"```\nx = 1\n```\nand\n```\nprint(x)\n```\n":                 2,
		"```\n%time x\n```\nand\n```\nprint(x)\n```\n":               2,
		"```\nx = (\n```\n": 1,
	} {
		p, err := Read(text, "")
		if err != nil || len(p.Sections) != want {
			t.Errorf("%q: %+v, %v; want %d blocks", text, p, err, want)
		}
	}
}

// TestCallsInEnvelopes: an unknown call was taken for code, because JSON may be valid Python, and it was written into
// the program.
func TestCallsInEnvelopes(t *testing.T) {
	for _, c := range []struct {
		want Format
		text string
	}{
		{FormatStrings, `{"functionCall":{"name":"replace",` +
			`"args":{"file_path":"p.py","old_string":"a","new_string":"b"}}}`},
		{FormatStrings, `{"functionCall":{"name":"write_file","args":{"file_path":"p.py","content":"x = 1\n"}}}`},
		{"", `{"choices":[{"message":{"tool_calls":[{"function":{"name":"x","arguments":"{\"command\":\"create\",` +
			`\"path\":\"p.py\",\"file_text\":\"x\"}"}}]}}]}`},
		{FormatEditor, `{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"tool_use","name":"e",` +
			`"input":{"command":"str_replace","path":"p.py","old_str":"a","new_str":"b"}}]}`},
		{"", `{"name":"run_shell_command","args":{"command":"ls"}}`},
		{"", "[]"},
		{"", "```json\n{\"name\": \"ls\"}\n```\n"},
	} {
		text, want := c.text, c.want
		p, err := Read(text, "")
		switch bad, ok := err.(*ParseError); {
		case want == "" && (!ok || bad.Code != CodePatch):
			t.Errorf("%s: %+v, %v; want it refused", text, p, err)
		case want != "" && (err != nil || p.Format != want):
			t.Errorf("%s: %+v, %v; want %s", text, p, err, want)
		}
	}
}

// TestFencesInCode: fenced code held fences in a string and was cut at the first of them.
func TestFencesInCode(t *testing.T) {
	code := "x = 1\ntext = \"\"\"\n```json\n{}\n```\n\"\"\"\nprint(text)"
	p, err := Read("Use this:\n\n```python\n"+code+"\n```\n\nThat is all.\n", "")
	if err != nil || len(p.Sections) != 1 || p.Sections[0].Text != code {
		t.Errorf("%+v, %v; want all of the code", p, err)
	}
	p, err = Read("```python\nx = 1\n```\n\n```python\ny = 2\n```\n", "")
	if err != nil || len(p.Sections) != 2 {
		t.Errorf("%+v, %v; want two blocks", p, err)
	}
}

// TestIndented: lines of a suite, given alone, became a block that no interpreter accepts.
func TestIndented(t *testing.T) {
	on := Subject{Blocks: []Block{{ID: "a", Source: "x = 1"}}}
	_, err := Revise(&Patch{Format: FormatBlock, Sections: []Section{{Act: ActEmit, Text: "\n    return 1\n"}}}, on)
	if m, ok := err.(*ApplyError); !ok || m.Code != CodeNoText {
		t.Errorf("%v, want it refused", err)
	}
}
