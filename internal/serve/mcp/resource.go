package mcp

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
	"github.com/xstate-engine/xstate/state/query"
)

// Templates of the resources that links name.
var (
	outputTemplate = &sdk.ResourceTemplate{
		Name:        "output",
		Title:       "Output of a block",
		URITemplate: "xstate://session/{session}/step/{step}/block/{block}/output/{index}",
		Description: "One output of a block after a step, whole: text, or a picture. Links in results name it.",
	}
	textTemplate = &sdk.ResourceTemplate{
		Name:        "text",
		Title:       "All text of a block",
		URITemplate: "xstate://session/{session}/step/{step}/block/{block}/text",
		Description: "All text that a block put out, after a step. Links in the results of tools name it.",
		MIMEType:    "text/plain",
	}
)

// readResource reads an output, or all text of a block.
func (s *server) readResource(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	s.calls.Add(1)
	defer s.calls.Done()
	uri := r.Params.URI
	at, ok := parseURI(uri)
	if !ok || s.foreign(at.session) != nil {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	document, bad := s.answer(ctx, &verb.Query{
		InSession: verb.In(at.session), Moment: verb.Moment{AtStep: &at.step}, Block: at.block,
	}, nil, nil)
	if bad != nil {
		switch bad.Code {
		case "no-store", "no-session", "no-step", "no-block", api.CodeUsage:
			return nil, sdk.ResourceNotFoundError(uri)
		}
		return nil, errors.New(string(bad.Code) + ": " + bad.Message)
	}
	d := verb.As[api.QueryBlock](document)
	if d == nil || d.Block == nil || at.index >= len(d.Block.Outputs) {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	if at.index == allText {
		all := textContents(uri, wholeText(d.Block))
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{all}}, nil
	}
	return &sdk.ReadResourceResult{Contents: contentsOf(uri, &d.Block.Outputs[at.index])}, nil
}

// wholeText is all text that a block put out, with its error.
func wholeText(b *query.BlockView) string {
	var all strings.Builder
	for i := range b.Outputs {
		all.WriteString(textOf(&b.Outputs[i]) + b.Outputs[i].Note())
	}
	if b.Error != nil {
		all.WriteString(strings.Join(query.Traceback(b.Error), "\n") + "\n")
	}
	return all.String()
}

// contentsOf are the forms of an output: its text, and each medium that it has.
func contentsOf(uri string, o *output.Output) []*sdk.ResourceContents {
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
		all = append(all, textContents(uri, o.Text+o.Note()))
	}
	return all
}

// textContents is a text as a resource. The library leaves an empty text out, and a resource has a text or bytes: so
// the text of a block that put out nothing is zero bytes.
func textContents(uri, text string) *sdk.ResourceContents {
	c := &sdk.ResourceContents{URI: uri, MIMEType: "text/plain", Text: text}
	if text == "" {
		c.Blob = []byte{}
	}
	return c
}

// allText is the index that means the text of all outputs.
const allText = -1

// address is what a URI names.
type address struct {
	session, block string
	step           state.StepNumber
	index          int
}

// parseURI takes a URI apart that a place made.
func parseURI(uri string) (a address, ok bool) {
	rest, ok := strings.CutPrefix(uri, "xstate://")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) < 7 || parts[0] != "session" || parts[2] != "step" || parts[4] != "block" {
		return address{}, false
	}
	session, bad1 := url.PathUnescape(parts[1])
	block, bad2 := url.PathUnescape(parts[5])
	step, bad3 := strconv.ParseUint(parts[3], 10, 31)
	a = address{session, block, state.StepNumber(step), allText}
	if len(parts) == 7 && parts[6] == "text" {
		return a, errors.Join(bad1, bad2, bad3) == nil
	}
	n, bad4 := strconv.ParseUint(parts[len(parts)-1], 10, 31)
	a.index = int(n)
	return a, len(parts) == 8 && parts[6] == "output" && errors.Join(bad1, bad2, bad3, bad4) == nil
}
