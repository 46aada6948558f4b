package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
)

// The program does not get the answers of repeated calls: it is served what was recorded, so that another answer is one
// divergence, and no consequence of it passes for a further one. A call is made once, however many runs have it.

// readCall is a call that nodes of a run read.
type readCall struct {
	key   depgraph.Key
	was   *state.Call // with the outcome of that run
	nodes []nodeRef
}

// callAgain makes the calls of the run again, and adds a divergence for each that has another answer.
func (x *replaying) callAgain(ctx context.Context) error {
	if !x.options.CallAgain || x.config.Journal == nil {
		return nil
	}
	read, err := x.readCalls(ctx)
	if err != nil {
		return err
	}
	x.again.mu.Lock()
	defer x.again.mu.Unlock()
	x.makeAgain(ctx, read)
	for _, c := range read {
		now, made := x.again.done[c.was.ID]
		switch {
		case !made:
		case now.Err != nil:
			x.miss(Missing{What: "tool:" + c.was.Tool, Why: now.Err.Error()})
			x.found.Result = Partial
		case now.Now.OutcomeDigest() != c.was.OutcomeDigest():
			d, err := x.otherAnswer(&c, &now.Now)
			if err != nil {
				return err
			}
			x.found.Divergences = append(x.found.Divergences, *d)
		}
	}
	return ctx.Err()
}

// makeAgain makes those calls again that no run before had. The caller holds again.mu.
func (x *replaying) makeAgain(ctx context.Context, read []readCall) {
	all, sum := &x.again, x.replayer.found.Calls
	if all.done == nil {
		all.done, all.kept = map[state.CallID]journal.Compared{}, map[state.CallID]bool{}
	}
	var due []state.Call
	for _, c := range read {
		id := c.was.ID
		if _, done := all.done[id]; done || all.kept[id] {
			continue
		}
		if !journal.Comparable(c.was) {
			all.kept[id] = true
			sum.Served++
			continue
		}
		due = append(due, *c.was)
	}
	for i, c := range x.config.Journal.Compare(ctx, due) {
		all.done[due[i].ID] = c
		if c.Err != nil {
			sum.Served++
			continue
		}
		sum.Made++
		sum.Spent.Add(c.Now.Usage)
	}
}

// readCalls returns the calls that the nodes of the run read, and those within recorded steps, in the order of the
// nodes.
func (x *replaying) readCalls(ctx context.Context) (read []readCall, err error) {
	at := map[state.CallID]int{}
	add := func(key depgraph.Key, c *state.Call, nodes ...nodeRef) {
		i, known := at[c.ID]
		if !known {
			i, at[c.ID] = len(read), len(read)
			read = append(read, readCall{key: key, was: c})
		}
		for _, ref := range nodes {
			if !slices.Contains(read[i].nodes, ref) {
				read[i].nodes = append(read[i].nodes, ref)
			}
		}
	}
	steps := false
	for _, ref := range x.order {
		t := x.recorded[ref].trace
		if t == nil {
			continue
		}
		for _, a := range t.Reads {
			p, ok := state.CallPlaceOf(a.Key)
			if !ok {
				continue
			}
			c, err := x.config.Journal.Recorded(ctx, p)
			if err != nil {
				return nil, err
			}
			if c == nil {
				continue
			}
			if was := c.AsOf(a.Digest, 0); was.State.Ended() && was.OutcomeDigest() == a.Digest {
				add(a.Key, was, ref)
				steps = steps || journal.Kind(c.Kind) == journal.KindStep
			} // else it waited, or had no answer
		}
	}
	if !steps {
		return read, nil
	}
	err = x.subject.Store().Calls(ctx, 0, func(c *state.Call) bool {
		if i, within := at[c.Parent]; within && c.Parent != 0 { // a call began after the step that it is within
			add(read[i].key, c, read[i].nodes...)
		}
		return true
	})
	return read, err
}

// answerText is how many bytes of an answer a divergence shows.
const answerText = 400

// otherAnswer is the divergence of a call.
func (x *replaying) otherAnswer(c *readCall, now *state.Call) (*Divergence, error) {
	args, err := x.subject.Store().Read(c.was.Args)
	if err != nil {
		return nil, err
	}
	other := &OtherAnswer{Call: c.was.ID, Tool: c.was.Tool, Arguments: args, Was: c.was.Result.Digest,
		Now: now.Result.Digest}
	for _, ref := range c.nodes {
		other.Nodes = append(other.Nodes, x.recorded[ref].name)
	}
	first := c.nodes[0]
	d := &Divergence{Step: x.step.Number, Node: x.recorded[first].name, Block: first.block, Cause: CauseCall,
		Key:  c.key,
		What: fmt.Sprintf("call %d", c.was.ID), Recorded: answer(c.was), Replayed: answer(now), Call: other,
		Detail: fmt.Sprintf("%s has another answer; %s reads it", c.was.Text(), strings.Join(other.Nodes, ", "))}
	if c.was.Caller.Block == first.block {
		d.Line = c.was.Caller.Line
	}
	return d, nil
}

// answer is what a tool answered, as a text.
func answer(c *state.Call) string {
	if c.State == state.CallRefused {
		return "refused: " + c.Summary(answerText)
	}
	return c.Summary(answerText)
}
