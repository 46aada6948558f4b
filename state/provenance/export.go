package provenance

import (
	"context"
	"fmt"

	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Export returns the program after step n, with what its blocks put out when they were run last. Equal histories give
// equal bytes. A script, document or notebook reads as the program.
func Export(ctx context.Context, h *query.History, n state.StepNumber, format Format, o ExportOptions) ([]byte, error) {
	if format == FormatPROV {
		return exportPROV(ctx, h, n)
	}
	if format == FormatAgentTrace {
		return exportAgentTrace(ctx, h, n, o)
	}
	snap, err := h.At(ctx, n)
	if err != nil {
		return nil, err
	}
	if o.NoOutputs {
		for i := range snap.Blocks {
			snap.Blocks[i].Outputs, snap.Blocks[i].Error = nil, nil
		}
	}
	d := document{Snapshot: snap, blocks: query.SnapshotBlocks(snap), options: o}
	if o.Program != nil {
		now, _, err := h.Blocks(ctx)
		if err != nil {
			return nil, err
		}
		d.texts = o.Program.Texts(patch.Identify(now, o.Program.Blocks), d.blocks)
	}
	switch format {
	case FormatNotebook:
		return d.notebook()
	case FormatHTML:
		return d.page()
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
