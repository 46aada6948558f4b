package mcp

import (
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/xstate-engine/xstate/internal/api"
)

// failed is the result of a call that did nothing: code, sentence, hint, and the places that a patch may have meant.
func failed(e *api.Error) *sdk.CallToolResult {
	r := &reply{}
	r.line("%s: %s", e.Code, e.Message)
	if e.Hint != "" {
		r.line("hint: %s", e.Hint)
	}
	for _, c := range e.Candidates {
		r.line("near: line %d (similarity %.2f)", c.Line, c.Score)
		r.body(c.Text, 1000)
	}
	for _, c := range e.Conflicts {
		r.line("conflict: block %s: %s", c.ID, c.Why)
		for _, x := range c.Clashes {
			r.line("line %d is now:", x.Line)
			r.body(x.Ours, 1000)
			r.line("and the edit makes it:")
			r.body(x.Theirs, 1000)
		}
	}
	// Some clients check structured content against the tool's schema even when it is an error: the codes go elsewhere.
	return &sdk.CallToolResult{IsError: true, Content: r.contents(), Meta: sdk.Meta{"error": e}}
}
