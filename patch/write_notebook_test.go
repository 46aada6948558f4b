package patch

import (
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
	for _, name := range []string{"t", "cell-0", "no"} {
		_, err := Revise(&Patch{Format: FormatCell, Sections: []Section{{Act: ActWrite, Name: name, Text: "y = 1"}}},
			on)
		if m, ok := err.(*ApplyError); !ok || m.Code != CodeNoText {
			t.Errorf("cell %s: %v, want it refused", name, err)
		}
	}
}
