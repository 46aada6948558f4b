package patch

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cellOf is what nbformat says of a cell: its type, id and text.
type cellOf struct {
	Type   string          `json:"cell_type"`
	ID     string          `json:"id"`
	Source json.RawMessage `json:"source"`
}

// cellsOf reads a notebook as encoding/json does, and checks what nbformat demands of a cell: one id each, and outputs
// and a count in code alone.
func cellsOf(t *testing.T, data []byte) (texts []string) {
	t.Helper()
	var book struct{ Cells []map[string]json.RawMessage }
	if err := json.Unmarshal(data, &book); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	ids := map[string]bool{}
	for _, fields := range book.Cells {
		all, _ := json.Marshal(fields)
		var c cellOf
		if err := json.Unmarshal(all, &c); err != nil {
			t.Fatal(err)
		}
		var lines []string
		if json.Unmarshal(c.Source, &lines) != nil {
			lines = make([]string, 1)
			if err := json.Unmarshal(c.Source, &lines[0]); err != nil {
				t.Fatal(err)
			}
		}
		_, outputs := fields["outputs"]
		_, counted := fields["execution_count"]
		_, attached := fields["attachments"]
		code := c.Type == "code"
		if code != outputs || code != counted || code && attached || fields["metadata"] == nil {
			t.Errorf("a %s cell has the fields %s", c.Type, all)
		}
		if c.ID != "" && ids[c.ID] {
			t.Errorf("two cells have the id %s", c.ID)
		}
		ids[c.ID] = true
		texts = append(texts, c.Type[:1]+" "+strings.Join(lines, ""))
	}
	return texts
}

// TestTextCells: calls that agents' notebook tools make, on a notebook with ids, and on one without.
func TestTextCells(t *testing.T) {
	const source = `{"cells":[{"cell_type":"markdown","id":"t","metadata":{"k":1.50},"source":["T\n","é"]},` +
		`{"cell_type":"code","execution_count":3,"id":"a","metadata":{},"outputs":[],"source":["x = 1"]},` +
		`{"attachments":{},"cell_type":"markdown","id":"u","metadata":{},"source":"U"},` +
		`{"cell_type":"code","execution_count":null,"id":"e","metadata":{},"outputs":[],"source":[]},` +
		`{"cell_type":"code","execution_count":null,"id":"b","metadata":{},"outputs":[],"source":["x"]}],` +
		`"metadata":{},"nbformat":4,"nbformat_minor":5}`
	for _, x := range []struct{ call, want, blocks string }{
		{`{"cell_id":"T","new_source":"N"}`, "m N|c x = 1|m U|c |c x", "a b"},
		{`{"cell_id":"U","new_source":"N\nM","cell_type":"raw"}`, "m T\né|c x = 1|r N\nM|c |c x", "a b"},
		{`{"cell_id":"U","new_source":""}`, "m T\né|c x = 1|m |c |c x", "a b"},
		{`{"cell_id":"U","edit_mode":"delete"}`, "m T\né|c x = 1|c |c x", "a b"},
		{`{"cell_id":"E","edit_mode":"delete"}`, "m T\né|c x = 1|m U|c x", "a b"},
		{`{"cell_id":"E","new_source":"y"}`, "m T\né|c x = 1|m U|c y|c x", "a E b"},
		{`{"cell_id":"U","new_source":"y","cell_type":"code"}`, "m T\né|c x = 1|c y|c |c x", "a U b"},
		{`{"cell_id":"A","new_source":"y","cell_type":"markdown"}`, "m T\né|m y|m U|c |c x", "b"},
		{`{"cell_id":"U","new_source":"y","edit_mode":"insert"}`, "m T\né|c x = 1|m U|c y|c |c x", "a + b"},
		{`{"cell_id":"E","new_source":"y","edit_mode":"insert"}`, "m T\né|c x = 1|m U|c |c y|c x", "a + b"},
		{`{"cell_id":"A","new_source":"y","cell_type":"raw","edit_mode":"insert"}`,
			"m T\né|c x = 1|r y|m U|c |c x", "a b"},
		{`{"new_source":"y","edit_mode":"insert","cell_type":"markdown"}`, "m y|m T\né|c x = 1|m U|c |c x", "a b"},
		{`{"new_source":"y","edit_mode":"insert"}`, "c y|m T\né|c x = 1|m U|c |c x", "+ a b"},
		{`{"name":"insert_cell","arguments":{"cell_index":1,"cell_source":"y"}}`,
			"m T\né|c y|c x = 1|m U|c |c x", "+ a b"},
		{`{"name":"insert_cell","arguments":{"cell_index":-1,"cell_type":"markdown","cell_source":"y"}}`,
			"m T\né|c x = 1|m U|c |c x|m y", "a b"},
		{`{"name":"insert_cell","arguments":{"cell_index":-1,"cell_source":"y"}}`,
			"m T\né|c x = 1|m U|c |c x|c y", "a b +"},
		{`[{"cell_id":"A","edit_mode":"delete"},{"cell_index":2,"new_source":"N"},{"cell_index":4,"new_source":"y"},` +
			`{"cell_index":0,"edit_mode":"delete"},{"cell_index":2,"new_source":"M","cell_type":"raw"}]`,
			"r M|c |c y", "b"},
		{`{"file_path":"n.ipynb","old_string":"é","new_string":"\"è\"\n"}`, "m T\n\"è\"\n|c x = 1|m U|c |c x", "a b"},
	} {
		for _, indent := range []string{" ", "\t", ""} {
			checkTextCells(t, indented(t, source, indent), indent, x.call, x.want, x.blocks)
		}
		old := source
		for _, id := range []string{"t", "a", "u", "e", "b"} {
			old = strings.ReplaceAll(old, fmt.Sprintf(`"id":"%s",`, id), "")
		}
		old = strings.ReplaceAll(old, `"nbformat_minor":5`, `"nbformat_minor":4`)
		checkTextCells(t, indented(t, old, " "), " ", x.call, x.want, "")
	}
}

// checkTextCells applies a call to a notebook. In the call, cells with ids are named in capitals; without ids they are
// named by their places. blocks are the ids afterwards; "+" is a new one.
func checkTextCells(t *testing.T, file, indent, call, want, blocks string) {
	t.Helper()
	for i, id := range []string{"t", "a", "u", "e", "b"} {
		name := id
		if blocks == "" {
			name = fmt.Sprintf("cell-%d", i)
		}
		call = strings.ReplaceAll(call, `"cell_id":"`+strings.ToUpper(id)+`"`, `"cell_id":"`+name+`"`)
	}
	r, err := revised(t, "n.ipynb", file, call)
	if err != nil {
		t.Errorf("%s: %v", call, err)
		return
	}
	if got := strings.Join(cellsOf(t, r.Text), "|"); got != want {
		t.Errorf("%s: cells %q, want %q\n%s", call, got, want, r.Text)
	}
	if text := string(r.Text); text != indented(t, text, indent) {
		t.Errorf("%s: the file lost its format:\n%s", call, text)
	}
	var ids []string
	for _, b := range r.Blocks {
		id := b.ID
		if len(id) > 1 {
			id = "+"
		}
		ids = append(ids, id)
	}
	if got := strings.Join(ids, " "); blocks != "" && got != strings.ToLower(blocks) {
		t.Errorf("%s: blocks %q, want %q", call, got, blocks)
	}
}

// TestTextEdits: what changed in text cells is listed, also for a patch of the notebook's JSON.
func TestTextEdits(t *testing.T) {
	const source = `{"cells":[{"cell_type":"markdown","id":"t","metadata":{},"source":["T"]},` +
		`{"cell_type":"code","execution_count":3,"id":"a","metadata":{},"outputs":[],"source":["x = 1"]},` +
		`{"cell_type":"markdown","id":"u","metadata":{},"source":["U"]}],` +
		`"metadata":{},"nbformat":4,"nbformat_minor":5}`
	for _, x := range []struct {
		now  string
		want []TextEdit
	}{
		{strings.Replace(source, `["T"]`, `["N"]`, 1), []TextEdit{{OpPatch, "t", "markdown", "T", "N"}}},
		{strings.Replace(source, `["x = 1"]`, `["x = 2"]`, 1), nil},
		{strings.Replace(source, `{"cell_type":"markdown","id":"t","metadata":{},"source":["T"]},`, "", 1),
			[]TextEdit{{OpDelete, "t", "markdown", "T", ""}}},
		{strings.Replace(source, `{"cell_type":"code"`,
			`{"cell_type":"raw","id":"n","metadata":{},"source":["N"]},{"cell_type":"code"`, 1),
			[]TextEdit{{OpAppend, "n", "raw", "", "N"}}},
	} {
		call, err := json.Marshal(map[string]string{"file_path": "n.ipynb", "content": x.now})
		if err != nil {
			t.Fatal(err)
		}
		r, err := revised(t, "n.ipynb", source, string(call))
		if err != nil {
			t.Errorf("%s: %v", x.now, err)
			continue
		}
		if d := cmp.Diff(x.want, r.Texts); d != "" {
			t.Errorf("%s: Texts (-want +got):\n%s", x.now, d)
		}
	}
}

// TestNoTextCells: a text for a program without text cells became a block.
func TestNoTextCells(t *testing.T) {
	for name, file := range map[string]string{"p.py": "x = 1\n", "d.md": "# T\n\n```python\nx = 1\n```\n"} {
		_, err := revised(t, name, file, `{"new_source":"T","cell_type":"markdown","edit_mode":"insert"}`)
		if codeOf(err) != string(CodeNoText) {
			t.Errorf("%s: %v, want %s", name, err, CodeNoText)
		}
	}
}
