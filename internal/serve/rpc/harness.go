package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	v1 "github.com/xstate-engine/xstate/api/xstate/v1"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
)

// harness is the client of one stream as a source of tools. A call of the program is an event of the stream, and the
// client answers it with a separate request. A call that was made before is served from the record without the client.
type harness struct {
	tools   []journal.Tool
	pending *pending
	send    func(event any) error // sends an event; several goroutines may call it
	gone    <-chan struct{}       // the client went away
}

// harnessName is the source, and so the scope, of tools of clients.
const harnessName = "client"

func (h *harness) Name() string                                  { return harnessName }
func (h *harness) Tools(context.Context) ([]journal.Tool, error) { return h.tools, nil }
func (h *harness) Close() error                                  { return nil }

// Call asks the client, and waits for its answer.
func (h *harness) Call(ctx context.Context, a journal.Attempt) (journal.Answer, error) {
	e := api.Event{Version: api.Version, Event: "call", Call: a.Call, Tool: a.Tool.Name, Args: a.Args,
		IdempotencyKey: a.IdempotencyKey}
	select {
	case <-h.gone:
		return journal.Answer{}, fmt.Errorf("%w: the client that offers %s went away", journal.ErrNotSent, a.Tool.Name)
	default:
	}
	answer, forget := h.pending.expect(a.Call)
	defer forget()
	if err := h.send(e); err != nil {
		return journal.Answer{}, fmt.Errorf("the client that offers %s cannot be reached: %w", a.Tool.Name, err)
	}
	select {
	case x := <-answer:
		return x.answer, x.err
	case <-h.gone:
		return journal.Answer{}, errors.New("the client went away before it answered")
	case <-ctx.Done():
		return journal.Answer{}, context.Cause(ctx)
	}
}

// answerCall carries out CallService.AnswerCall.
func (s *Service) answerCall(r *v1.AnswerCallRequest) ([]byte, error) {
	var x answered
	switch a := r.GetAnswer().(type) {
	case *v1.AnswerCallRequest_Result:
		if !json.Valid([]byte(a.Result)) {
			return nil, misused(errors.New("the field result is no JSON"))
		}
		x.answer.Result = json.RawMessage(a.Result)
	case *v1.AnswerCallRequest_Refused:
		text, err := json.Marshal(a.Refused)
		if err != nil {
			return nil, err
		}
		x.answer.Result, x.answer.Refused = text, true
	case *v1.AnswerCallRequest_Error:
		x.err = errors.New(a.Error)
	case *v1.AnswerCallRequest_NotSent:
		x.err = fmt.Errorf("%w: %s", journal.ErrNotSent, a.NotSent)
	default:
		return nil, misused(errors.New("the answer is missing: result, refused, error or not_sent"))
	}
	x.answer.Usage = state.Usage{InputTokens: int64(r.GetInputTokens()), OutputTokens: int64(r.GetOutputTokens()),
		MicroUSD: int64(math.Round(r.GetCostUsd() * 1e6))}
	return asJSON(&v1.AnswerCallResponse{Taken: s.pending.give(state.CallID(r.GetCall()), x)})
}

// offers adds the tools and models that a request offers.
func (c *call) offers(tools, models []*v1.ToolDefinition) {
	for i, d := range append(tools[:len(tools):len(tools)], models...) {
		t, err := toolOf(d)
		c.fail(err)
		if t.Kind = journal.KindTool; i >= len(tools) {
			t.Kind, t.Class = journal.KindModel, cmp.Or(t.Class, journal.Pure)
		}
		c.tools = append(c.tools, t)
	}
}

// toolOf returns the tool that a definition describes.
func toolOf(d *v1.ToolDefinition) (t journal.Tool, err error) {
	if d.GetName() == "" {
		return t, errors.New("a tool has no name")
	}
	t = journal.Tool{Name: d.GetName(), Description: d.GetDescription(), Class: journal.Class(d.GetClass()),
		Order: []string{},                                                            // a message of members has none
		Scope: d.GetScope(), Undo: d.GetUndo(), Version: d.GetVersion(), Timeout: -1, // the client decides
		Lifetime: time.Duration(d.GetLifetimeSeconds() * float64(time.Second)), Identity: d.GetIdentity()}
	switch t.Class {
	case "", journal.Pure, journal.Read, journal.Idempotent, journal.Reversible, journal.Irreversible:
	default:
		return t, fmt.Errorf("the class of %s is %q, want pure, read, idempotent, reversible or irreversible",
			t.Name, t.Class)
	}
	if d.GetInput() != nil {
		if t.Input, err = protojson.Marshal(d.GetInput()); err != nil {
			return t, err
		}
	}
	if d.GetOutput() != nil {
		t.Output, err = protojson.Marshal(d.GetOutput())
	}
	return t, err
}
