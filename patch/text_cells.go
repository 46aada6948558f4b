package patch

import (
	"bytes"
	"fmt"
	"slices"
)

// withText returns the JSON of a cell, text, with another source and type. It keeps the id and the metadata.
func withText(text string, fields map[string]value, kind, source string, style jsonStyle) string {
	was := fields["cell_type"].text()
	if fields["source"].raw == nil || kind != was && (kind == "code" || was == "code") {
		return style.cell(kind, fields["id"].text(), decoded(fields["metadata"]), source)
	}
	put := map[string]string{"source": style.in(3).source(fields["source"], source), "cell_type": style.text(kind)}
	if kind == "code" {
		put["outputs"], put["execution_count"] = "[]", "null"
	}
	return withFields(text, fields, put)
}

// TextEdit is a change of a text cell of a notebook.
type TextEdit struct {
	Op       Op
	Cell     string // its id, else cell-N by its place: of OpAppend in the new file, else in the old one
	Type     string // markdown, raw or code
	Was, Now string // its text
}

// textEdits returns the changes of text cells from one version of a notebook to the next.
func textEdits(old, new *Program) (edits []TextEdit) {
	if old == nil || old.Kind != KindNotebook || old.major != 4 || bytes.Equal(old.raw, new.raw) {
		return nil
	}
	was, now := old.textBlocks(), new.textBlocks()
	names, known := Names(was), map[string]Block{}
	for i := range was {
		was[i].ID = names[i]
		known[was[i].ID] = was[i]
	}
	for _, e := range Match(was, now) {
		if e.Op == OpDelete && e.Block.Source == "" && slices.Contains(new.cellIDs(), known[e.ID].Title) {
			continue // a blank cell became a block
		}
		before, after := known[e.ID], e.Block
		t := TextEdit{Op: e.Op, Cell: before.Title, Type: e.Block.Dialect, Was: before.Source, Now: after.Source}
		switch e.Op {
		case OpAppend:
			t.Cell, t.Was = after.Title, ""
		case OpDelete:
			t.Now = ""
		case OpMove:
			t.Type, t.Now = before.Dialect, before.Source
		}
		edits = append(edits, t)
	}
	return edits
}

// newTextID returns an id for a new text cell, unless the notebook has no ids.
func (p *Program) newTextID(used []string) string {
	if !hasIDs(p.top()) {
		return ""
	}
	for n := 1; ; n++ {
		if id := fmt.Sprintf("text-%d", n); !slices.Contains(used, id) {
			return id
		}
	}
}

// noTextCells is the error for an edit of a text cell in a file without any.
func noTextCells(name, kind string) error {
	return &ApplyError{Code: CodeNoText, Name: name,
		Message: fmt.Sprintf("a %s cell is for notebooks of nbformat 4, and the program is none", kind),
		Hint:    "edit the text in the program's file, as a diff or SEARCH/REPLACE"}
}
