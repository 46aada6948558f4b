package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/runner/replay"
)

// Operate implements verb.Operations: it carries out what doors other than the command line ask.
func (c commands) Operate(ctx context.Context, call verb.Call) (answer any, failed *api.Error) {
	from := serve.Call{Folder: call.Folder, Environ: call.Environ, PID: call.PID,
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}
	a := c.app(from, call.Door)
	defer a.end()
	a.asks, a.store, a.tools = call.Request, call.Store, call.Tools
	a.ui.JSON, a.ui.Lines, a.ui.Follow = true, call.Event != nil, call.Event
	var document any
	a.ui.Answer = func(doc any) { document = doc }
	defer func() {
		if r := recover(); r != nil {
			answer, failed = nil, a.failure(fmt.Errorf("internal error: %v", r))
		}
	}()
	answer, failed, done, err := a.forwardRequest(ctx, call)
	if done && err == nil {
		return answer, failed
	}
	if err == nil {
		err = a.operate(ctx, call.Request)
		a.noteDamage(err)
	}
	var ended outcome
	switch {
	case err != nil && !errors.As(err, &ended):
		return nil, a.failure(err)
	case document == nil:
		return nil, verb.Unanswered(io.ErrUnexpectedEOF)
	}
	return document, nil
}

// failure is an error as the door of the call has it.
func (a *app) failure(err error) *api.Error {
	e := a.errorDocument(err)
	return &e
}

// operate does what a request asks, and hands the document over.
func (a *app) operate(ctx context.Context, r verb.Request) error {
	a.session, a.bounds.standard = r.About(), standards[r.Verb()]
	switch r := r.(type) {
	case *verb.Status:
		return a.status(ctx)
	case *verb.Exec:
		f := *r
		return a.completed(&f.Origin, &f.Python, func() error { return a.execCodeOf(ctx, f) })
	case *verb.Run:
		f := runFlags{Run: *r}
		f.Jobs = cmp.Or(f.Jobs, 1)
		return a.completed(&f.Origin, &f.Python, func() error { return a.runRequest(ctx, f) })
	case *verb.Patch:
		f := *r
		return a.completed(&f.Origin, &f.Python, func() error { return a.applyPatch(ctx, f) })
	case *verb.Plan:
		f := *r
		return a.completed(nil, &f.Python, func() error { return a.planRequest(ctx, &f) })
	case *verb.Why:
		f := *r
		return a.completed(nil, &f.Python, func() error { return a.why(ctx, f.Block, f.Python) })
	case *verb.Query:
		return a.query(ctx, queryFlags{Query: *r})
	case *verb.Graph:
		return a.graph(ctx, "json", r.Moment)
	case *verb.Show:
		return a.show(ctx, given(r.Of), showFlags{})
	case *verb.Log:
		return a.log(ctx, *r)
	case *verb.Diff:
		return a.diff(ctx, given(r.From, r.To), diffFlags{})
	case *verb.Undo:
		f := *r
		return a.completed(&f.Origin, nil, func() error { return a.undo(ctx, f) })
	case *verb.Rollback:
		f := *r
		return a.completed(&f.Origin, nil, func() error { return a.rollback(ctx, f) })
	case *verb.Fork:
		f := *r
		return a.completed(&f.Origin, nil, func() error { return a.fork(ctx, f) })
	case *verb.Calls:
		return a.listCalls(ctx, *r)
	case *verb.WholeCall:
		return a.showCall(ctx, r.Call)
	case *verb.Approve:
		return a.approve(ctx, *r)
	case *verb.Replay:
		f := replayFlags{Replay: *r, calls: callsServe}
		f.Jobs = cmp.Or(f.Jobs, 1)
		if f.CallAgain {
			f.calls = callsAgain
		}
		return a.completed(nil, &f.Python, func() error { return a.replay(ctx, f) })
	case *verb.Verify:
		f := *r
		f.Times = cmp.Or(f.Times, verb.VerifyTimes)
		return a.completed(&f.Origin, &f.Python, func() error { return a.verifyBlock(ctx, f) })
	case *verb.Evidence:
		return a.evidence(ctx, evidenceFlags{Evidence: *r})
	case *verb.CheckVerifier:
		f := *r
		return a.completed(nil, &f.Python, func() error { return a.checkVerifier(ctx, f) })
	case *verb.Flow:
		return a.flow(ctx, *r)
	case *verb.Blame:
		return a.blame(ctx, r.Block, r.Moment)
	case *verb.Credit:
		return a.credit(ctx, r.Moment, r.By)
	case *verb.Bisect:
		f := bisectFlags{block: r.Block, python: r.Python, o: replay.BisectOptions{
			Good: r.Good, Bad: r.Bad, Value: r.Value, Recorded: r.Recorded, Timeout: r.Timeout,
		}}
		return a.completed(nil, &f.python, func() error { return a.bisect(ctx, f) })
	}
	return fmt.Errorf("there is no operation %T", r)
}

// completed does something after the origin and the interpreter of a request, if it has them, are completed from the
// environment, as the flags of the command line are.
func (a *app) completed(origin *xstate.Origin, python *string, do func() error) error {
	if python != nil && *python != "" {
		if err := a.pythonPath(python).Set(*python); err != nil {
			return usage(err)
		}
	}
	if origin != nil {
		given, err := json.Marshal(origin)
		if err != nil {
			return usage(err)
		}
		all := &originFlag{caller: a.caller, into: &xstate.Origin{}}
		all.given = []givenField{{wholeOrigin, string(given)}}
		if err := all.fill(); err != nil {
			return err
		}
		*origin = *all.into
	}
	return do()
}

// given are the texts that are not empty.
func given(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}
