package provenance

import (
	"context"
	"fmt"
	"strings"

	"github.com/xstate-engine/xstate/depgraph/python"
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
	switch format {
	case FormatNotebook:
		return notebook(snap)
	case FormatScript:
		return textOf(snap, patch.KindCells)
	case FormatMarkdown:
		return textOf(snap, patch.KindMarkdown)
	}
	return nil, &state.Error{
		Code:    state.Code(patch.CodeUnsupported),
		Message: fmt.Sprintf("there is no format %q", format),
		Hint:    "use py, md, ipynb, prov or agent-trace",
	}
}

// textOf writes the blocks, each followed by its outputs: as comments in a script, as fenced text in a document.
func textOf(s *query.Snapshot, kind patch.Kind) ([]byte, error) {
	notes := make([]string, len(s.Blocks))
	for i := range s.Blocks {
		notes[i] = plainOutputs(&s.Blocks[i])
	}
	blocks := query.SnapshotBlocks(s)
	for i := range blocks {
		if _, err := python.Analyze([]byte(blocks[i].Source), python.Plain); err == nil && kind == patch.KindCells {
			blocks[i].Dialect = patch.Python // in a script a cell has magics only if it does not parse without
		}
	}
	return patch.New(kind, blocks, notes)
}

// plainOutputs is what a block put out, as text.
func plainOutputs(b *query.BlockView) string {
	var out strings.Builder
	for _, o := range b.Outputs {
		switch text, plain := o.Data["text/plain"]; {
		case len(o.Data) == 0:
			out.WriteString(o.Text)
		case plain:
			out.WriteString(text + "\n")
		default:
			out.WriteString(o.Text + "\n")
		}
	}
	if b.Error != nil {
		fmt.Fprintf(&out, "%s: %s\n", b.Error.Type, b.Error.Message)
	}
	return strings.TrimRight(out.String(), "\n")
}
