package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/runner/journal"
)

// maxAnswer is the largest document that a method answers with, and the longest event.
const maxAnswer = 64 << 20

// encoded is a document in JSON, as every door has it.
func encoded(document any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(document); err != nil {
		return nil, err
	}
	if out.Len() > maxAnswer {
		return nil, fail(api.CodeTooLarge, "ask for less: one block, or with a limit",
			"the answer has more than %d bytes", maxAnswer)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// operate carries a call out, hands over its events, if they are wanted, and returns the document. It returns when the
// operation has ended.
//
// A client that goes away cancels ctx, and so the operation. An event that is not taken cancels it, too. A detached
// operation continues in both cases.
func (s *Service) operate(ctx context.Context, c *call, event func(any) error) (document any, err error) {
	call, err := c.of(ctx, s)
	if err == nil && len(c.tools) > 0 && event == nil {
		err = errors.New("only a stream can offer tools: ExecStream or RunStream")
	}
	if err != nil {
		return nil, misused(err)
	}
	gone := ctx.Done()
	if c.detach {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if s.Life != nil {
		defer context.AfterFunc(s.Life, func() { cancel(context.Cause(s.Life)) })()
	}
	var mu sync.Mutex
	var untaken error // the first error of event; after it no event is handed over
	send := func(e any) error {
		mu.Lock()
		defer mu.Unlock()
		if untaken == nil {
			if untaken = event(e); untaken != nil && !c.detach {
				cancel(untaken)
			}
		}
		return untaken
	}
	if event != nil {
		call.Event = func(e api.Event) { _ = send(e) } // what became of it is known at the end
	}
	if len(c.tools) > 0 {
		call.Tools = []journal.Source{&harness{tools: c.tools, pending: &s.pending, send: send, gone: gone}}
	}
	document, failed := s.Operations.Operate(ctx, call)
	mu.Lock()
	defer mu.Unlock()
	switch {
	case untaken != nil:
		return nil, untaken
	case failed != nil:
		return nil, &failure{what: *failed}
	}
	return document, nil
}

// events hands over the events of a call. The last one has the document.
func (s *Service) events(ctx context.Context, c *call, event func(any) error) error {
	document, err := s.operate(ctx, c, event)
	if err != nil {
		return err
	}
	return event(api.LastEvent(document))
}
