package provenance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
	"github.com/xstate-engine/xstate/state/query"
)

// Export returns the program after step n, with what its blocks put out when they were run last. Equal histories give
// equal bytes. A script, document or notebook reads as the program. It makes no FormatHTML: see Page.
func Export(ctx context.Context, h *query.History, n state.StepNumber, format Format, o ExportOptions) ([]byte, error) {
	if format == FormatPROV {
		return exportPROV(ctx, h, n)
	}
	if format == FormatAgentTrace {
		return exportAgentTrace(ctx, h, n, o)
	}
	d, err := newDocument(ctx, h, n, o)
	if err != nil {
		return nil, err
	}
	switch format {
	case FormatNotebook:
		return d.notebook()
	case FormatScript:
		return d.script()
	case FormatMarkdown:
		return d.markdown()
	}
	return nil, &state.Error{
		Code:    state.Code(patch.CodeUnsupported),
		Message: fmt.Sprintf("there is no format %q", format),
		Hint:    "use py, md, ipynb, html, prov or agent-trace",
	}
}

// newDocument describes the program after step n.
func newDocument(ctx context.Context, h *query.History, n state.StepNumber, o ExportOptions) (*document, error) {
	snap, err := h.At(ctx, n)
	if err != nil {
		return nil, err
	}
	for i := range snap.Blocks { // what is stale is not what the program puts out
		if o.NoOutputs || snap.Blocks[i].Status == query.StatusStale {
			snap.Blocks[i].Outputs, snap.Blocks[i].Error = nil, nil
		}
	}
	if o.NoFailed {
		snap.Blocks = slices.DeleteFunc(snap.Blocks, func(b query.BlockView) bool {
			return b.Status == state.StatusFailed.String() || b.Status == state.StatusBlocked.String()
		})
	}
	for i := range snap.Blocks {
		snap.Blocks[i].Outputs = capped(snap.Blocks[i].Outputs)
	}
	d := &document{Snapshot: snap, blocks: query.SnapshotBlocks(snap), options: o}
	if o.Program != nil {
		now, _, err := h.Blocks(ctx)
		if err != nil {
			return nil, err
		}
		d.texts = o.Program.Texts(patch.Identify(now, o.Program.Blocks), d.blocks)
	}
	return d, nil
}

// mostText is how many bytes of one text a document holds: a block that prints without an end must not fill it.
const mostText = 64 << 10

// capped returns outputs with long texts cut. Pictures and HTML stay: a part of one is none.
func capped(outputs []output.Output) []output.Output {
	outputs = slices.Clone(outputs)
	for i := range outputs {
		o := &outputs[i]
		o.Text = cappedText(o.Text)
		if plain, ok := o.Data["text/plain"]; ok && len(plain) > mostText {
			o.Data = maps.Clone(o.Data)
			o.Data["text/plain"] = cappedText(plain)
		}
	}
	return outputs
}

func cappedText(text string) string {
	if len(text) <= mostText {
		return text
	}
	end := mostText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s\n… %d more bytes are left out\n", text[:end], len(text)-end)
}
