package patch

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestNotebookWritten: a notebook written as a whole became one cell that held its JSON. A replaced text cell became a
// second cell, of code, with the same id.
func TestNotebookWritten(t *testing.T) {
	file := `{"cells":[{"cell_type":"markdown","id":"t","metadata":{},"source":"T"},{"cell_type":"code","id":"a",` +
		`"metadata":{},"outputs":[],"source":["x = 1"]}],"metadata":{},"nbformat":4,"nbformat_minor":5}`
	program, err := Parse("n.ipynb", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	on := Subject{Name: "n.ipynb", File: program, Blocks: program.Blocks}
	changed := strings.Replace(file, "x = 1", "x = 2", 1)
	v, err := Revise(&Patch{Format: FormatEditor, Sections: []Section{{Act: ActWrite, Name: "n.ipynb", Text: changed}}},
		on)
	if err != nil || len(v.Blocks) != 1 || v.Blocks[0].ID != "a" || v.Blocks[0].Source != "x = 2" ||
		string(v.Text) != changed {
		t.Errorf("%+v, %v; want x = 2 in cell a", v, err)
	}
	if v, err := Revise(&Patch{Format: FormatEditor, Sections: []Section{{Act: ActWrite, Name: "n.ipynb",
		Text: `{"cells": 3}`}}}, on); err == nil {
		t.Errorf("no notebook: %+v, want it refused", v)
	}
	for _, name := range []string{"cell-7", "no"} {
		_, err := Revise(&Patch{Format: FormatCell, Sections: []Section{{Act: ActWrite, Name: name, Text: "y = 1"}}},
			on)
		if m, ok := err.(*ApplyError); !ok || m.Code != CodeNoText {
			t.Errorf("cell %s: %v, want it refused", name, err)
		}
	}
}

// TestNotebookStyle: an edited cell had lines in indent 1, whatever the file has.
func TestNotebookStyle(t *testing.T) {
	const source = `{"cells":[{"cell_type":"markdown","id":"t","metadata":{},"source":["# T"]},` +
		`{"cell_type":"code","execution_count":null,"id":"a","metadata":{"tags":["x"]},"outputs":[],` +
		`"source":["x = 1\n","x"]}],"metadata":{},"nbformat":4,"nbformat_minor":5}`
	const inserted = `[{"cell_id": "a", "new_source": "x = 2\nx"}, {"cell_id": "a", "edit_mode": "insert", ` +
		`"new_source": "y = 'é'"}]`
	for _, indent := range []string{" ", "  ", "    ", "\t", ""} {
		file, want := indented(t, source, indent), indented(t, strings.Replace(source, "x = 1", "x = 2", 1), indent)
		r, err := revised(t, "n.ipynb", file, `{"cell_id": "a", "new_source": "x = 2\nx"}`)
		if err != nil || string(r.Text) != want {
			t.Errorf("indent %q: %v\n%s\nwant\n%s", indent, err, textOf(r), want)
		}
		for _, text := range []string{inserted, "# %% b\ny = 1\n"} {
			r, err = revised(t, "n.ipynb", file, text)
			if err != nil || string(r.Text) != indented(t, string(r.Text), indent) {
				t.Errorf("indent %q, a new cell: %v\n%s", indent, err, textOf(r))
			}
		}
		crlf := strings.ReplaceAll(file, "\n", "\r\n")
		r, err = revised(t, "n.ipynb", crlf, inserted)
		if err != nil || strings.Count(string(r.Text), "\n") != strings.Count(string(r.Text), "\r\n") {
			t.Errorf("indent %q, Windows line ends: %v\n%q", indent, err, textOf(r))
		}
	}
	one := strings.Replace(source, `["x = 1\n","x"]`, `"x = 1\nx"`, 1)
	r, err := revised(t, "n.ipynb", one, `{"cell_id": "a", "new_source": "x = 2\nx"}`)
	if err != nil || string(r.Text) != strings.Replace(one, "x = 1", "x = 2", 1) {
		t.Errorf("a source that is one text: %v, %s", err, textOf(r))
	}
}

// indented returns JSON with another indentation; "" is on one line.
func indented(t *testing.T, text, indent string) string {
	t.Helper()
	var out bytes.Buffer
	err := json.Indent(&out, []byte(text), "", indent)
	if indent == "" {
		out.Reset()
		err = json.Compact(&out, []byte(text))
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}
