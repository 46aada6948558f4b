package query

import (
	"context"
	"fmt"
	"slices"

	"github.com/xstate-engine/xstate/state"
)

// Loop is a sign that the author of a program goes round in circles. It is derived from the history.
type Loop struct {
	Kind   string             `json:"kind"` // see LoopFailure and the like
	Block  state.BlockID      `json:"block"`
	Times  int                `json:"times"`
	Steps  []state.StepNumber `json:"steps"` // the evidence: runs or edits, or else
	Calls  []state.CallID     `json:"calls"` // calls
	Advice string             `json:"advice"`
}

// Kinds of loops.
const (
	LoopFailure = "same-failure"      // the same code failed in the same way in one run after the other
	LoopEdits   = "alternating-edits" // edits go back and forth between two versions
	LoopCall    = "repeated-call"     // equal calls get equal results, one after the other
)

// How often something happens before it is a loop, and how far back Loops looks.
const (
	failuresOfLoop = 3
	callsOfLoop    = 5
	stepsOfLoops   = 48
)

// Loops returns the loops of runs and edits that the session is in after its last step.
func (h *History) Loops(ctx context.Context) ([]Loop, error) {
	found := []Loop{}
	steps, err := h.StepsBefore(ctx, 0, stepsOfLoops)
	if err != nil || len(steps) == 0 {
		return found, err
	}
	slices.Reverse(steps)
	failures, err := h.failureLoops(ctx, steps)
	return slices.Concat(found, failures, editLoops(steps)), err
}

// failing is how a block fails, in which runs it did so without a break, and in how many of these it executed.
type failing struct {
	how      string
	runs     []state.StepNumber
	executed int
}

// advice says how often a block failed. A run that reuses the failure proves nothing new, and only shows that the
// author tried again.
func (f *failing) advice(id state.BlockID) string {
	how := fmt.Sprintf("failed in %d runs in the same way", len(f.runs))
	switch {
	case f.executed <= 1:
		how = fmt.Sprintf("failed once, and %d runs since had nothing new to try", len(f.runs)-1)
	case f.executed < len(f.runs):
		how += fmt.Sprintf(", and executed in %d of them", f.executed)
	}
	return fmt.Sprintf("block %s %s; edit it, or what it reads", id, how)
}

func (h *History) failureLoops(ctx context.Context, steps []state.Step) (found []Loop, err error) {
	now := map[state.BlockID]*failing{}
	var order []state.BlockID
	edited := false // since the last run
	for i := range steps {
		switch steps[i].Kind {
		case state.KindRollback, state.KindFork:
			clear(now)
			continue
		case state.KindAppend, state.KindPatch, state.KindMove, state.KindDelete:
			edited = true
			continue
		case state.KindRun:
		default:
			continue
		}
		step, err := h.store.Step(ctx, h.name, steps[i].Number) // with its changes
		if err != nil {
			return nil, err
		}
		ran := map[state.BlockID]bool{}
		for _, c := range step.Changes {
			b := c.Block
			if b == nil {
				continue
			}
			ran[b.ID] = slices.ContainsFunc(b.Nodes, func(n state.NodeResult) bool {
				return n.Reason.Code != state.ReasonReused
			})
			how := h.failureOf(b)
			if how == "" {
				delete(now, b.ID)
			} else if now[b.ID] == nil || now[b.ID].how != how {
				now[b.ID], order = &failing{how: how}, AppendNew(order, b.ID)
			}
		}
		for id, f := range now {
			if ran[id] || !edited { // else the author works elsewhere
				f.runs = append(f.runs, step.Number)
			}
			if ran[id] {
				f.executed++
			}
		}
		edited = false
	}
	for _, id := range order {
		if f := now[id]; f != nil && len(f.runs) >= failuresOfLoop {
			found = append(found,
				Loop{Kind: LoopFailure, Block: id, Times: len(f.runs), Steps: f.runs, Calls: []state.CallID{},
					Advice: f.advice(id)})
		}
	}
	return found, nil
}

// failureOf names the code of a block and its error; "" if it did not fail.
func (h *History) failureOf(b *state.Block) string {
	if !b.Failed() {
		return ""
	}
	if e := h.errorOf(b); e != nil {
		return fmt.Sprintf("%s %s: %s", b.Version, e.Type, e.Message)
	}
	return string(b.Version)
}

// errorOf returns the error of a block that failed; nil if it is not recorded.
func (h *History) errorOf(b *state.Block) *state.ExecError {
	if b.Err != nil {
		return b.Err
	}
	for _, n := range b.Nodes {
		if n.Trace == "" {
			continue
		}
		if t, ok, err := h.store.Trace(n.Trace); err == nil && ok && t.Failure() != nil {
			return t.Failure()
		}
	}
	return nil
}

// editLoops finds blocks whose last edits were A → B → A → B.
func editLoops(steps []state.Step) (found []Loop) {
	edits := map[state.BlockID][]*state.Step{}
	var order []state.BlockID
	for i := range steps {
		if s := &steps[i]; s.Block != "" && s.Was != s.Now && s.Was != "" && s.Now != "" && s.Kind == state.KindPatch {
			edits[s.Block], order = append(edits[s.Block], s), AppendNew(order, s.Block)
		}
	}
	for _, id := range order {
		all := edits[id]
		n := len(all)
		if n < 3 {
			continue
		}
		a, b := all[n-1].Was, all[n-1].Now
		l := Loop{Kind: LoopEdits, Block: id, Calls: []state.CallID{}}
		for i := n - 1; i >= 0 && all[i].Was == a && all[i].Now == b; i-- {
			l.Steps = append(l.Steps, all[i].Number)
			a, b = b, a
		}
		if l.Times = len(l.Steps); l.Times < 3 {
			continue
		}
		slices.Reverse(l.Steps)
		l.Advice = fmt.Sprintf("the edits of block %s go back and forth between two versions; both were tried", id)
		found = append(found, l)
	}
	return found
}

// CallLoops finds, in the whole journal, calls of the last run that made any: equal ones, one after the other, with
// equal results.
func (h *History) CallLoops(ctx context.Context) (found []Loop, err error) {
	type same struct {
		tool string
		args state.Digest
	}
	type row struct {
		result state.Digest
		ids    []state.CallID
		block  state.BlockID
	}
	rows := map[same]*row{}
	var order []same
	var at state.StepNumber
	err = h.store.Calls(ctx, 1, func(c *state.Call) bool {
		if c.Caller.Session != h.name || !c.State.Ended() || c.Kind != "tool" {
			return true
		}
		if c.Caller.Step != at {
			at, order = c.Caller.Step, nil
			clear(rows)
		}
		key := same{c.Tool, c.Args.Digest}
		if rows[key] == nil || rows[key].result != c.Result.Digest {
			rows[key] = &row{result: c.Result.Digest}
			order = AppendNew(order, key)
		}
		rows[key].ids, rows[key].block = append(rows[key].ids, c.ID), c.Caller.Block
		return true
	})
	for _, key := range order {
		if r := rows[key]; len(r.ids) >= callsOfLoop {
			found = append(found,
				Loop{Kind: LoopCall, Block: r.block, Times: len(r.ids), Steps: []state.StepNumber{}, Calls: r.ids,
					Advice: fmt.Sprintf("%s returned the same for the same arguments %d times in a row; wait for a "+
						"change instead, or keep the first result", key.tool, len(r.ids))})
		}
	}
	return found, err
}
