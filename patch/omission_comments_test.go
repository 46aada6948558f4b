package patch

import (
	"strings"
	"testing"
)

// TestElision: an agent wrote a block again with comments in the place of unchanged code, and that code was lost.
func TestElision(t *testing.T) {
	on := Subject{Blocks: []Block{{ID: "a", Source: "def f():\n    # ...\n    return 1\n\nx = f()"},
		{ID: "b", Source: "print(x)"}}}
	for text, want := range map[string]bool{
		"# ... existing code ...\nx = f() + 1":                false,
		"def f():\n    # … rest of the function is the same":  false,
		"# rest of the code remains unchanged\nx = 2":         false,
		"# (Rest of your code here...)\nx = 2":                false,
		"def f():\n    ...  # unchanged":                      false,
		"def f():\n    pass # same as before\nx = 3":          false,
		"# Other imports stay as before\nx = 2":               false,
		"x = 2\n# ...\ny = 3":                                 true, // the program has this one
		"x = 2\n# load the remaining files...\ny = 3":         true,
		"x = 2\n# the same again, with the rest of the rows":  true,
		"x = '''\n# ... existing code ...\n'''":               true,
		"def f():\n    # the previous function\n    return 2": true,
		"class A:\n    pass  # nothing to add\n\nx = 2":       true,
		"x = 2 # ... existing":                                true,
	} {
		for _, s := range []Section{{Act: ActEmit, Name: "a", Text: text}, {Act: ActWrite, Name: "a", Text: text}} {
			_, err := Revise(&Patch{Format: FormatBlock, Sections: []Section{s}}, on)
			bad, ok := err.(*ParseError)
			if (err == nil) != want || err != nil && (!ok || bad.Code != CodePatch || bad.Line == 0) {
				t.Errorf("%q: %v, want %v", text, err, want)
			}
		}
	}
	if _, err := Revise(&Patch{Sections: []Section{{Act: ActEmit, Name: "a", Text: strings.Repeat("# ...\n", 1<<18) +
		"x = 1"}}}, on); err != nil {
		t.Error(err)
	}
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
