package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/state"
)

// outputTemplate names each output of each block at each step.
var outputTemplate = &sdk.ResourceTemplate{
	Name:        "output",
	Title:       "Output of a block",
	URITemplate: "xstate://session/{session}/step/{step}/block/{block}/output/{index}",
	Description: "One output of a block after a step, whole: text, or a picture. Links in the results of tools name it.",
}

// readOutput reads one output.
func (s *server) readOutput(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	s.calls.Add(1)
	defer s.calls.Done()
	uri := r.Params.URI
	session, step, block, index, ok := parseURI(uri)
	if !ok {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	args := []string{"query", withValue("session", session), withValue("at-step", step), withValue("block", block), "--json"}
	document, bad := s.answer(ctx, &request{args: args}, nil)
	if bad != nil {
		switch bad.Code {
		case "no-store", "no-session", "no-step", "no-block", codeUsage:
			return nil, sdk.ResourceNotFoundError(uri)
		}
		return nil, errors.New(string(bad.Code) + ": " + bad.Message)
	}
	var d api.QueryBlock
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, err
	}
	if d.Block == nil || index >= len(d.Block.Outputs) {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	return &sdk.ReadResourceResult{Contents: contentsOf(uri, &d.Block.Outputs[index])}, nil
}

// contentsOf are the forms of an output: its text, and each medium that it has.
func contentsOf(uri string, o *state.Output) []*sdk.ResourceContents {
	var all []*sdk.ResourceContents
	for _, media := range slices.Sorted(maps.Keys(o.Data)) {
		c := &sdk.ResourceContents{URI: uri, MIMEType: media, Text: o.Data[media]}
		if slices.Contains(shownMedia, media) {
			raw, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(o.Data[media], "\n", ""))
			if err != nil {
				continue
			}
			c.Text, c.Blob = "", raw
		}
		all = append(all, c)
	}
	if o.Text != "" || len(all) == 0 {
		all = append(all, &sdk.ResourceContents{URI: uri, MIMEType: "text/plain", Text: o.Text + o.Note()})
	}
	return all
}

// parseURI takes a URI apart that place.uri made.
func parseURI(uri string) (session, step, block string, index int, ok bool) {
	rest, ok := strings.CutPrefix(uri, "xstate://")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 8 || parts[0] != "session" || parts[2] != "step" || parts[4] != "block" ||
		parts[6] != "output" {
		return "", "", "", 0, false
	}
	session, bad1 := url.PathUnescape(parts[1])
	block, bad2 := url.PathUnescape(parts[5])
	_, bad3 := strconv.ParseUint(parts[3], 10, 31)
	n, bad4 := strconv.ParseUint(parts[7], 10, 31)
	return session, parts[3], block, int(n), errors.Join(bad1, bad2, bad3, bad4) == nil
}
