package journal

import (
	"context"
	"fmt"

	"github.com/xstate-engine/xstate/state"
)

// CodeNotRevertible is the code of the error about a call whose effect cannot be taken back.
const CodeNotRevertible state.Code = "not-revertible"

// revertNumbers is where the numbers of calls begin that take effects back: they are none of the program's.
const revertNumbers = 1 << 30

// Revertible reports whether a call has an effect that a tool takes back.
func Revertible(c *state.Call) bool {
	return c.State == state.CallAnswered && Class(c.Class) == Reversible && c.Undo != nil && !c.Undone()
}

// Revert takes the effect of a call back, by the tool that its record names, and returns that tool's call. It is a call
// like any other: rules decide about it, its answer may be lost, and then it waits for a person. The reverted call has
// no outcome any more. A program that still makes it makes it again.
func (j *Journal) Revert(ctx context.Context, id state.CallID, by state.Caller) (*state.Call, error) {
	rec, err := j.store.Call(ctx, id)
	if err != nil {
		return nil, err
	}
	if !Revertible(rec) {
		return nil, &state.Error{Code: CodeNotRevertible, Hint: fmt.Sprintf("`xstate calls %d` shows it", id),
			Message: fmt.Sprintf("call %d of %s has no effect that a tool takes back", id, rec.Tool)}
	}
	args, err := j.store.Read(rec.Undo.Args)
	if err != nil {
		return nil, err
	}
	c, err := j.Prepare(ctx, Request{Kind: KindTool, Tool: rec.Undo.Tool, Args: args, Caller: by},
		func(string) state.Digest { return state.Absent })
	if err != nil {
		return nil, err
	}
	if c.Number, err = j.revertNumber(ctx, c); err != nil {
		return nil, err
	}
	done, err := j.Do(ctx, c)
	if err != nil {
		return nil, err
	}
	_, err = j.store.UpdateCall(context.WithoutCancel(ctx), id, func(c *state.Call) error {
		c.Former, c.Undo.Done, c.Approval = former(c), done.Call.ID, nil
		c.State, c.Result, c.Usage, c.Err = state.CallLost, state.Content{}, state.Usage{}, nil
		return nil
	})
	return &done.Call, err
}

// revertNumber returns the number of the first equal call that has no outcome yet. It may be one that was lost or that
// waits: then this call continues it.
func (j *Journal) revertNumber(ctx context.Context, c *Call) (int, error) {
	at := c.Place()
	for n := revertNumbers; ; n++ {
		at.Number = n
		rec, err := j.Recorded(ctx, at)
		if err != nil || rec == nil || !rec.State.Ended() {
			return n, err
		}
	}
}
