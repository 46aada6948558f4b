package patch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// CellResult is what a code cell shows below its code.
type CellResult struct {
	Count   int   // the execution count; 0 means null
	Outputs []any // as nbformat 4 has them: of nil, int, string, bool, json.Number, []string, []any, map[string]any
}

// TakesResults returns an error unless the program is in a file that shows results: a notebook of nbformat 4.
func (p *Program) TakesResults() error {
	switch {
	case p.Kind != KindNotebook:
		return unwritable(p.Kind, "it has no place for outputs")
	case p.major != 4:
		return unwritable(p.Kind, "it is older than nbformat 4")
	}
	return nil
}

// WithResults returns a notebook's file with the results of its blocks; result returns that of a block, by index. Code
// cells without code show nothing. All else keeps its bytes. So do results that say the same already in other words: a
// text as one string or as lines, metadata of an output, one stream in two parts.
func (p *Program) WithResults(result func(block int) CellResult) ([]byte, error) {
	if err := p.TakesResults(); err != nil {
		return nil, err
	}
	skip := len(p.raw) - len(bytes.TrimPrefix(p.raw, []byte(syntax.BOM)))
	top, _ := value{at: skip, raw: json.RawMessage(p.raw[skip:])}.object()
	list, _ := top["cells"].array()
	w := resultWriter{raw: p.raw, style: styleOf(p.raw, skip+bytes.IndexByte(p.raw[skip:], '{'))}
	blocks := p.Cells // those that come after cell i
	for i, c := range list {
		var r CellResult
		if len(blocks) > 0 && blocks[0] == i {
			r = result(len(p.Cells) - len(blocks))
			blocks = blocks[1:]
		}
		if fields, _ := c.object(); fields["cell_type"].text() == "code" {
			w.cell(c, fields, r)
		}
	}
	return w.bytes(), nil
}

// resultWriter collects the changes of a notebook's file.
type resultWriter struct {
	raw     []byte
	style   jsonStyle
	changes []cellChange
}

// cellChange is a text in the place of a range of bytes.
type cellChange struct {
	from, to int
	text     string
}

func (w *resultWriter) cell(c value, fields map[string]value, r CellResult) {
	var count any
	if r.Count > 0 {
		count = r.Count
	}
	var had *int
	fields["execution_count"].into(&had)
	if fields["execution_count"].raw == nil || (had == nil) != (count == nil) || had != nil && *had != r.Count {
		w.put(c, fields, "execution_count", count)
	}
	outputs := r.Outputs
	if outputs == nil {
		outputs = []any{}
	}
	if old := fields["outputs"]; old.raw == nil || !w.shows(old, outputs) {
		w.put(c, fields, "outputs", outputs)
	}
}

// put replaces or adds a field of a cell.
func (w *resultWriter) put(c value, fields map[string]value, name string, v any) {
	var out strings.Builder
	style := w.style
	if old := fields[name]; old.raw != nil {
		style.margin = w.marginAt(old.at)
		style.write(&out, v)
		w.changes = append(w.changes, cellChange{old.at, old.at + len(old.raw), out.String()})
		return
	}
	style.margin = w.marginAt(fields["cell_type"].at)
	if style.end == "" {
		out.WriteString(style.comma)
	} else {
		out.WriteString("," + style.end + style.margin)
	}
	style.quote(&out, name)
	out.WriteString(style.colon)
	style.write(&out, v)
	last := c.at + len(bytes.TrimRight(c.raw[:len(c.raw)-1], " \t\r\n"))
	w.changes = append(w.changes, cellChange{last, last, out.String()})
}

// marginAt returns the indentation of the line of an offset.
func (w *resultWriter) marginAt(at int) string {
	line := w.raw[bytes.LastIndexByte(w.raw[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func (w *resultWriter) bytes() []byte {
	if len(w.changes) == 0 {
		return w.raw
	}
	slices.SortStableFunc(w.changes, func(a, b cellChange) int { return cmp.Compare(a.from, b.from) })
	size := len(w.raw)
	for _, c := range w.changes {
		size += len(c.text) - (c.to - c.from)
	}
	var out bytes.Buffer
	out.Grow(size)
	at := 0
	for _, c := range w.changes {
		out.Write(w.raw[at:c.from])
		out.WriteString(c.text)
		at = c.to
	}
	out.Write(w.raw[at:])
	return out.Bytes()
}

// shows reports whether a cell shows these outputs already.
func (w *resultWriter) shows(old value, outputs []any) bool {
	var out strings.Builder
	style := w.style
	style.margin = w.marginAt(old.at)
	style.write(&out, outputs)
	return out.String() == string(old.raw) || sameOutputs(old.raw, outputs) // the first is quick
}

// sameOutputs reports whether the outputs of a cell say what now says.
func sameOutputs(raw json.RawMessage, now []any) bool {
	if len(now) == 0 || len(raw) <= len("[]") {
		list, ok := value{raw: raw}.array()
		return ok && len(list) == len(now)
	}
	var was []any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&was) != nil {
		return false
	}
	return reflect.DeepEqual(plainOutputs(was), plainOutputs(now))
}

// plainOutputs returns outputs in one wording: streams in one part, texts as one string, no metadata.
func plainOutputs(list []any) []any {
	var out []any
	for _, o := range list {
		fields, ok := o.(map[string]any)
		if !ok {
			return list
		}
		plain := map[string]any{}
		for name, v := range fields {
			switch {
			case name == "metadata":
			case name == "data":
				plain[name] = plainBundle(v)
			case name == "text":
				plain[name] = joined(v)
			case name == "traceback":
				plain[name] = strings.Split(strings.TrimRight(linesOf(v), "\n"), "\n")
			default:
				plain[name] = plainNumber(v)
			}
		}
		if text, ok := plain["text"].(string); ok && plain["output_type"] == "stream" && len(out) > 0 {
			last := out[len(out)-1].(map[string]any)
			if before, ok := last["text"].(string); ok && last["name"] == plain["name"] {
				last["text"] = before + text
				continue
			}
		}
		out = append(out, plain)
	}
	return out
}

func plainBundle(v any) any {
	bundle, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for media, v := range bundle {
		text := joined(v)
		if s, ok := text.(string); ok && strings.HasPrefix(media, "image/") {
			text = strings.TrimRight(s, "\n")
		}
		out[media] = text
	}
	return out
}

// joined returns a list of strings as one string, and any other value as it is.
func joined(v any) any {
	switch v := v.(type) {
	case []string:
		return strings.Join(v, "")
	case []any:
		var out strings.Builder
		for _, x := range v {
			s, ok := x.(string)
			if !ok {
				return v
			}
			out.WriteString(s)
		}
		return out.String()
	}
	return v
}

// linesOf returns a traceback as one text; its items have no line ends.
func linesOf(v any) string {
	switch v := v.(type) {
	case []string:
		return strings.Join(v, "\n")
	case []any:
		var out []string
		for _, x := range v {
			s, _ := x.(string)
			out = append(out, s)
		}
		return strings.Join(out, "\n")
	}
	return ""
}

func plainNumber(v any) any {
	if n, ok := v.(int); ok {
		return json.Number(strconv.Itoa(n))
	}
	return v
}
