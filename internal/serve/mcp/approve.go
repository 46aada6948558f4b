package mcp

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
)

// A call of a program that waits for a decision is a question to the user of the client, within the call of the tool
// that ran the program. The handler answers with input requests. A client of the newer protocol calls the tool again
// with what its user said; of an older one, the library asks. Either way the handler runs again with responses: it
// records them as decisions, and then carries the call out once more, which continues from the journal.
//
// The question travels with the client, signed: only questions of this server can be decided so.

// asked is the state of a call between question and answer.
type asked struct {
	Tool  string         `json:"tool"`
	Args  state.Digest   `json:"args"`
	Calls []state.CallID `json:"calls"` // all that were asked about, this time and before
}

// seal signs what was asked.
func (s *server) seal(a asked) (string, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return "", err
	}
	e := base64.RawURLEncoding
	return e.EncodeToString(text) + "." + e.EncodeToString(s.sum(text)), nil
}

// unseal returns what was asked, if this server asked it in a call of this tool with these arguments.
func (s *server) unseal(sealed, tool string, args json.RawMessage) (a asked, ok bool) {
	first, second, _ := strings.Cut(sealed, ".")
	text, err := base64.RawURLEncoding.DecodeString(first)
	sum, bad := base64.RawURLEncoding.DecodeString(second)
	if err != nil || bad != nil || !hmac.Equal(sum, s.sum(text)) || json.Unmarshal(text, &a) != nil {
		return asked{}, false
	}
	return a, a.Tool == tool && a.Args == state.DigestOf(args)
}

func (s *server) sum(text []byte) []byte {
	h := hmac.New(sha256.New, s.secret)
	h.Write(text)
	return h.Sum(nil)
}

// question names the input request about a call.
func question(id state.CallID) string { return fmt.Sprintf("call-%d", id) }

// waitingIn returns the calls that wait, of a document of exec, run or edit.
func waitingIn(document any) []state.WaitingCall {
	if d := verb.As[api.Exec](document); d != nil {
		return d.Waiting
	}
	run := verb.As[api.Run](document)
	if d := verb.As[api.Patch](document); d != nil {
		run = d.Run
	}
	if run == nil {
		return nil
	}
	return run.Waiting
}

// ask asks the user of a client about calls that wait. It returns nil where that cannot be, or was done before.
func (s *server) ask(r *sdk.CallToolRequest, tool string, before asked, document any) *sdk.CallToolResult {
	c := r.ClientCapabilities()
	if c == nil || c.Elicitation == nil || len(before.Calls) > 0 && r.ProtocolVersion() < newest {
		return nil // the library asks clients of the older protocol once
	}
	requests := sdk.InputRequestMap{}
	now := asked{Tool: tool, Args: state.DigestOf(r.Params.Arguments), Calls: before.Calls}
	for _, w := range waitingIn(document) {
		if !slices.Contains(before.Calls, w.Call) {
			requests[question(w.Call)] = form(&w)
			now.Calls = append(now.Calls, w.Call)
		}
	}
	sealed, err := s.seal(now)
	if len(requests) == 0 || err != nil {
		return nil
	}
	return &sdk.CallToolResult{InputRequests: requests, RequestState: sealed}
}

// form is the question about a call that waits.
func form(w *state.WaitingCall) *sdk.ElicitParams {
	choice := map[string]any{"type": "string", "title": "Decision"}
	if len(w.Choices) > 0 {
		choice["enum"] = w.Choices
	}
	properties := map[string]any{
		"choice": choice,
		"reason": map[string]any{"type": "string", "title": "Reason", "description": "why; it is recorded"},
	}
	if slices.Contains(w.Choices, "happened") {
		properties["result"] = map[string]any{"type": "string", "title": "Result",
			"description": "if it happened: what it returned, as JSON"}
	}
	return &sdk.ElicitParams{Mode: "form", Message: fmt.Sprintf("call %d of %s: %s", w.Call, w.Tool, prompt(w)),
		RequestedSchema: map[string]any{"type": "object", "properties": properties, "required": []string{"choice"}}}
}

// prompt is what a call waits for.
func prompt(w *state.WaitingCall) string {
	if w.Why == "" {
		return w.Question
	}
	return w.Question + " (" + w.Why + ")"
}

// decide records what the user of a client answered. An answer that is none leaves its call waiting.
func (s *server) decide(ctx context.Context, r *sdk.CallToolRequest, a asked) *api.Error {
	by := "the user"
	if c := r.ClientInfo(); c != nil && c.Name != "" {
		by = "the user of " + c.Name
	}
	for _, id := range a.Calls {
		answer, ok := r.Params.InputResponses[question(id)].(*sdk.ElicitResult)
		if !ok {
			continue
		}
		ask := &verb.Approve{Calls: []state.CallID{id}, By: by}
		switch answer.Action {
		case "accept":
			ask.Choice, _ = answer.Content["choice"].(string)
			ask.Reason, _ = answer.Content["reason"].(string)
			ask.Result, _ = answer.Content["result"].(string)
		case "decline":
			ask.Deny = true
		default:
			continue
		}
		_, bad := s.answer(ctx, ask, nil, nil)
		if bad != nil && bad.Code != "not-waiting" { // another client has decided
			return bad
		}
	}
	return nil
}

// approveReply says what was decided.
func approveReply(d *api.Approve) *reply {
	r := &reply{}
	for i := range d.Calls {
		c := &d.Calls[i]
		r.line("call %d of %s: %s", c.Call, c.Tool, c.Approval.Choice)
	}
	r.line("run goes on from here; what was called before is not called again")
	return r
}

// waits adds the calls that wait for a decision.
func (r *reply) waits(waiting []state.WaitingCall) {
	for i := range waiting {
		w := &waiting[i]
		choices := "any text"
		if len(w.Choices) > 0 {
			choices = strings.Join(w.Choices, ", ")
		}
		r.line("call %d of %s waits: %s; choices: %s. Ask your user, decide with approve, then run",
			w.Call, w.Tool, prompt(w), choices)
	}
}
