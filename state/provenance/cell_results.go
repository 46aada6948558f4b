package provenance

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
	"github.com/xstate-engine/xstate/state/query"
)

// WithResults returns a notebook's file with what its blocks put out last. See patch.Program.WithResults for what it
// leaves as it is.
func WithResults(p *patch.Program, blocks []query.BlockView) ([]byte, error) {
	counts := executionCounts(blocks)
	return p.WithResults(func(i int) patch.CellResult { return cellResult(&blocks[i], counts[i]) })
}

// executionCounts are those of a run of all cells from the top, so that they do not depend on how often a block ran. A
// block that did not run has 0.
func executionCounts(blocks []query.BlockView) []int {
	list := make([]int, len(blocks))
	n := 0
	for i, b := range blocks {
		if b.RanAt > 0 && b.Status != state.StatusBlocked.String() && b.Status != state.StatusNew.String() {
			n++
			list[i] = n
		}
	}
	return list
}

func cellResult(b *query.BlockView, count int) patch.CellResult {
	if count == 0 {
		return patch.CellResult{}
	}
	return patch.CellResult{Count: count, Outputs: cellOutputs(b, count)}
}

// cellOutputs are outputs of nbformat 4. Successive texts of one stream are one output, as Jupyter shows them.
func cellOutputs(b *query.BlockView, count int) []any {
	var list []any
	outputs := output.Visible(b.Outputs)
	for i := 0; i < len(outputs); i++ {
		o := outputs[i]
		if o.Kind != "stdout" && o.Kind != "stderr" {
			list = append(list, richOutput(o, count))
			continue
		}
		var text strings.Builder
		for text.WriteString(o.Text + o.Note()); i+1 < len(outputs) && outputs[i+1].Kind == o.Kind; i++ {
			text.WriteString(outputs[i+1].Text + outputs[i+1].Note())
		}
		list = append(list, map[string]any{"name": o.Kind, "output_type": "stream", "text": lines(text.String())})
	}
	if e := b.Error; e != nil {
		list = append(list, map[string]any{"output_type": "error", "ename": e.Type, "evalue": e.Message,
			"traceback": tracebackLines(e)})
	}
	return list
}

// tracebackLines is a traceback as notebooks have it: lines without their ends.
func tracebackLines(e *state.ExecError) []string {
	list := []string{}
	for _, text := range e.Traceback {
		list = append(list, strings.Split(strings.TrimRight(text, "\n"), "\n")...)
	}
	if n := len(list); n == 0 || !strings.HasPrefix(strings.TrimSpace(list[n-1]), e.Type) {
		list = append(list, e.Type+": "+e.Message)
	}
	return list
}

func richOutput(o output.Output, count int) map[string]any {
	data := map[string]any{}
	for media, text := range o.Data {
		if !strings.HasPrefix(media, "application/vnd.jupyter.widget-view") { // the file has no state of a widget
			data[media] = medium(media, text)
		}
	}
	if len(data) == 0 {
		data["text/plain"] = lines(o.Text)
	}
	d := map[string]any{"data": data, "metadata": map[string]any{}, "output_type": "display_data"}
	if o.Kind == "result" {
		d["output_type"], d["execution_count"] = "execute_result", count
	}
	return d
}

// medium is what a mime bundle holds: JSON as it is, texts as lines, and other media in base64 as one text.
func medium(media, text string) any {
	switch {
	case media == "application/json" || strings.HasSuffix(media, "+json"):
		var value any
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if d.Decode(&value) == nil {
			return value
		}
	case strings.HasPrefix(media, "text/"), media == "application/javascript", media == "image/svg+xml":
		return lines(text)
	}
	return text
}

// lines is a text as a list of lines with their ends. It cuts where Python ends a line (str.splitlines), because
// Jupyter does so when it saves.
func lines(text string) []string {
	list := []string{}
	at := 0
	for i, r := range text {
		switch r {
		case '\r':
			if strings.HasPrefix(text[i:], "\r\n") {
				continue
			}
		case '\n', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		default:
			continue
		}
		end := i + utf8.RuneLen(r)
		list = append(list, text[at:end])
		at = end
	}
	if at < len(text) {
		list = append(list, text[at:])
	}
	return list
}
