package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/state"
)

// A result of a tool that reads can be older than its tool says is good: it is stale. A run uses it all the same, for a
// run does not depend on the time of day. Refresh calls again, from the recorded arguments, without the program. An
// equal result changes nothing. Where the result differs, so does the digest of the call, and the nodes that read it
// run.
//
// A step that is recorded holds what was called within it. Where that changes, the step has no outcome any more, so its
// function runs again with its node.

// mostFormer bounds the earlier outcomes that a record keeps.
const mostFormer = 100

// refreshing bounds how many calls Refresh makes at the same time.
const refreshing = 8

// Refreshed is what became of one call.
type Refreshed struct {
	Call    state.Call // as it is now
	Age     time.Duration
	Changed bool  // the nodes that read it run again
	Err     error // why the former result stays
}

// Refreshing selects calls.
type Refreshing struct {
	Tool  string       // all calls of this tool; "": the stale ones of all tools
	Calls []state.Call // among these
	// Caller is the run that calls: its session and step
	Caller state.Caller
}

// Refresh makes calls again. Tools with effects are never called. The error is of the code tool-effects, where the
// named tool is one.
func (j *Journal) Refresh(ctx context.Context, o Refreshing) ([]Refreshed, error) {
	var due []state.Call
	var err error
	now := j.o.Now()
	for _, c := range o.Calls {
		_, stale := c.Age(now)
		switch {
		case !c.State.Ended() || o.Tool != "" && c.Tool != o.Tool || o.Tool == "" && !stale:
			continue
		case Class(c.Class).Effects():
			err = effects(&c)
			continue
		}
		due = append(due, c)
	}
	if len(due) == 0 && err != nil { // otherwise some of the tool's calls read, and those are meant
		return nil, err
	}
	err = nil
	done := make([]Refreshed, len(due))
	atOnce(len(due), func(i int) {
		age, _ := due[i].Age(now)
		done[i] = Refreshed{Call: due[i], Age: age}
		done[i].Err = j.again(ctx, &done[i], o.Caller)
	})
	for i := range done {
		if done[i].Changed {
			err = errors.Join(err, j.forgetSteps(context.WithoutCancel(ctx), done[i].Call.Parent))
		}
	}
	return done, errors.Join(err, ctx.Err())
}

// atOnce does n things, some at the same time.
func atOnce(n int, do func(i int)) {
	places := make(chan struct{}, refreshing)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			do(i)
		})
	}
	all.Wait()
}

// CodeEffects is the code of the error about a tool that must not be called only to look.
const CodeEffects state.Code = "tool-effects"

func effects(c *state.Call) error {
	return &state.Error{Code: CodeEffects, Hint: "`xstate run --refresh`",
		Message: fmt.Sprintf("call %d of %s has an effect, which would happen again", c.ID, c.Tool)}
}

// again makes one call again.
func (j *Journal) again(ctx context.Context, r *Refreshed, by state.Caller) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	release, err := j.turn(ctx, r.Call.Place())
	if err != nil {
		return err
	}
	defer release()
	rec, err := j.store.Call(ctx, r.Call.ID)
	if err != nil || !rec.State.Ended() {
		return err
	}
	c, why, err := j.recorded(ctx, rec)
	if err != nil {
		return err
	}
	if why != "" {
		r.Changed = true
		return j.forget(ctx, rec)
	}
	now, text, err := j.anew(ctx, c, rec)
	if err != nil {
		return err
	}
	if err := j.keep(c, now, text); err != nil {
		return err
	}
	now.Former = former(rec)
	now.Caller.Session, now.Caller.Step, now.Caller.Agent = by.Session, by.Step, by.Agent
	r.Changed = now.State != rec.State || now.Result.Digest != rec.Result.Digest
	r.Call = *now
	return j.replace(context.WithoutCancel(ctx), now)
}

// recorded returns the call of a record. why is not empty where the program would make another one now, or must make it
// itself.
func (j *Journal) recorded(ctx context.Context, rec *state.Call) (c *Call, why string, err error) {
	if Kind(rec.Kind) == KindStep {
		return nil, "it is a function of the program", nil
	}
	args, err := j.store.Read(rec.Args)
	if err != nil {
		return nil, "", err
	}
	c, err = j.Prepare(ctx, Request{Kind: Kind(rec.Kind), Tool: rec.Tool, Args: args, Sample: rec.Sample,
		Caller: rec.Caller, Parent: rec.Parent}, func(string) state.Digest { return rec.After })
	switch {
	case err != nil:
		return nil, "", err
	case c.Def.Class.Effects(): // it had none when it was called
		return nil, "", effects(rec)
	case c.Def.Live:
		return nil, "the record does not have all that the program sent", nil
	case c.Def.Version != rec.Version:
		return nil, "the tool has another version", nil
	case c.Key != rec.Key:
		return nil, "the record does not have all of its arguments", nil
	}
	c.Number = rec.Number
	return c, "", nil
}

// anew makes a call that has a record, if the gate allows it. It returns the record with the new outcome, and the
// result, which it does not keep. An attempt without an answer changes nothing.
func (j *Journal) anew(ctx context.Context, c *Call, rec *state.Call) (now *state.Call, result []byte, err error) {
	if j.o.Gate != nil {
		v, err := j.o.Gate.Decide(ctx, c)
		if err != nil {
			return nil, nil, err
		}
		if v.Action != Allow {
			return nil, nil, deniedBy(c.Tool, v)
		}
	}
	next := *rec
	now = &next
	now.State, now.Began, now.Lifetime = state.CallSent, j.o.Now().UTC(), c.Def.lifetime()
	j.observed(ctx, now, false)
	answer, err := j.attempt(ctx, c, now)
	if err != nil {
		now.State, now.Err = state.CallLost,
			&state.CallError{Code: CodeLost, Message: string(j.scrub([]byte(err.Error())))}
		j.observed(ctx, now, false)
		return nil, nil, fmt.Errorf("%s: %w", c.Tool, err)
	}
	return now, j.answered(c, now, answer), nil
}

// former returns the earlier outcomes of a call, with the present one. The cost of dropped ones is added to that of the
// oldest.
func former(rec *state.Call) []state.Outcome {
	all := append(slices.Clone(rec.Former), state.Outcome{State: rec.State, Result: rec.Result, Began: rec.Began,
		Seconds: rec.Seconds, Usage: rec.Usage, Session: rec.Caller.Session, Step: rec.Caller.Step})
	for len(all) > mostFormer {
		all[1].Usage.Add(all[0].Usage)
		all = all[1:]
	}
	return all
}

// forget takes the outcome of a call away, so that the next run of the program makes it.
func (j *Journal) forget(ctx context.Context, rec *state.Call) error {
	rec.Former = former(rec)
	rec.State, rec.Result, rec.Usage, rec.Err = state.CallLost, state.Content{}, state.Usage{}, nil
	return j.replace(context.WithoutCancel(ctx), rec)
}

// forgetSteps forgets the recorded steps within which a call was made.
func (j *Journal) forgetSteps(ctx context.Context, parent state.CallID) error {
	for parent != 0 {
		rec, err := j.store.Call(ctx, parent)
		if err != nil {
			return err
		}
		if rec.State.Ended() {
			if err := j.forget(ctx, rec); err != nil {
				return err
			}
		}
		parent = rec.Parent
	}
	return nil
}

// replace stores a call in the place of what it was.
func (j *Journal) replace(ctx context.Context, rec *state.Call) error {
	if err := j.store.PutCall(ctx, rec); err != nil {
		return err
	}
	j.observed(ctx, rec, false)
	return nil
}
