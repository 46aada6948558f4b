package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// Action is what a plan intends for a node.
type Action string

const (
	ActRun   Action = "run"
	ActMaybe Action = "maybe" // it runs if an input changes
	ActReuse Action = "reuse"
	ActBlock Action = "block"
	ActSkip  Action = "skip" // an earlier block ends the program
	ActFail  Action = "fail" // of a block, or of a node as it is explained: its failure is reused
	ActNone  Action = ""     // the program has left nothing for its end, which this is
)

// PlanNode is one node of a plan.
type PlanNode struct {
	Block   state.BlockID
	Node    int           // index in the block
	Text    state.BlockID // the block that holds its text: Block, or that of the function which the node is a part of
	Line    int           // 1-based in Text
	Action  Action
	Reason  state.Reason
	Seconds float64 // recorded cost of the last execution; 0 when there was none

	Code  state.Digest   // the key of its traces
	Facts *depgraph.Node // the analysis of its text
	Trace state.Digest   // the result that is reused, or ""
	Last  *state.Trace   // the last execution, maybe of other code; nil when there is none
}

// decideOptions are what a decision about a node depends on besides its place and the store: the options of a run, and
// what the run did so far. A plan sets the pin of the block alone.
type decideOptions struct {
	stopped bool // an earlier node of its block failed or is blocked
	pin     Pin
	forced  bool               // the node executes even where a trace is valid
	served  *state.StoredTrace // a result that the node takes without a look at what it reads
	ran     *state.StoredTrace // the node's execution in this run, before the walk was restarted
	timeout time.Duration      // for the node; 0 means none
	kept    bool               // the node is not tried again, see RunOptions.Retry
}

// decision is what happens to a node, and the state that this leaves.
type decision struct {
	PlanNode
	trace  *state.StoredTrace // the result that is reused; nil when the node has to run, or is blocked
	failed state.BlockID      // the block whose failure takes away what the node defines; "" when there is none
}

// decide reports what happens to n at p. It is the only place where that is decided of a node: plans, the planner, runs
// and speculation all call it, so a run does what the plan before it said.
func (e *Engine) decide(p place, n *node, g decideOptions) (decision, error) {
	d := decision{PlanNode: PlanNode{Block: n.unit.ID, Node: n.at, Text: n.text.ID, Line: n.facts.Line, Code: n.code,
		Facts: n.facts}}
	end := p.ending()
	if n.isEnd() && !isLeft(p, n) {
		return d, nil
	}
	if end.sure {
		return d.skip(end.by), nil
	}
	if by := blockedBy(p, n, g.stopped); by != "" {
		return d.block(by), nil
	}
	c, err := e.chooseGiven(p, n, g)
	if err != nil {
		return d, err
	}
	d.trace, d.Reason, d.Last = c.trace, c.reason, c.last
	if c.last != nil {
		d.Seconds = c.last.Seconds
	}
	switch {
	case c.trace != nil:
		if by := undefinedBy(p, n, &c.trace.Trace); by != "" && c.reason.Code != state.ReasonServed {
			return d.block(by), nil
		}
		d.Action, d.Trace = ActReuse, c.trace.Digest
		if c.trace.Err != nil {
			d.failed = n.unit.ID
		}
	case c.reason.Code == state.ReasonMaybe:
		d.Action = ActMaybe
	case end.by != "":
		d.Action, d.Reason = ActMaybe, state.Reason{Code: state.ReasonMayEnd, By: string(end.by)}
	default:
		d.Action = ActRun
	}
	return d, nil
}

// isLeft reports whether there is something to do at the end of the program n. Where a node has ended the program, or
// the interpreter has ended by a failure, that has been done.
func isLeft(p place, n *node) bool {
	end := p.ending()
	return !end.sure && !end.died && p.get(kernel.KeyEnd.In(n.unit.space())).digest != state.Absent
}

// block returns the decision about the same node where a failure in block by keeps it from running.
func (d decision) block(by state.BlockID) decision {
	node := d.PlanNode
	node.Action, node.Reason = ActBlock, state.Reason{Code: state.ReasonBlocked, By: string(by)}
	node.Seconds, node.Trace, node.Last = 0, "", nil
	return decision{PlanNode: node, failed: by}
}

// skip returns the decision about the same node where block by ends the program before it.
func (d decision) skip(by state.BlockID) decision {
	node := d.PlanNode
	node.Action, node.Reason = ActSkip, state.Reason{Code: state.ReasonEnded, By: string(by)}
	return decision{PlanNode: node}
}

// blockedBy returns the failed block that n depends on; "" when there is none. stopped says that a node before it in
// its block failed or is blocked.
func blockedBy(p interface{ get(depgraph.Key) entry }, n *node, stopped bool) state.BlockID {
	if stopped {
		return n.unit.ID
	}
	for _, name := range n.facts.Uses {
		if by, bad := p.get(depgraph.Var(name)).poisoned(); bad {
			return by
		}
	}
	return ""
}

// undefinedBy returns the failed block that would have defined the name whose absence made t fail; "" when there is
// none. Uses lists only the names that the text shows, so a name that eval looked up is found only in this way.
func undefinedBy(p interface{ get(depgraph.Key) entry }, n *node, t *state.Trace) state.BlockID {
	if t.Err == nil {
		return ""
	}
	name := n.unit.language.Missing(t.Err)
	if name == "" {
		return ""
	}
	by, _ := p.get(depgraph.Var(name)).poisoned()
	return by
}

// choice is a trace that is valid for a node, or the reason why none is.
type choice struct {
	trace  *state.StoredTrace
	reason state.Reason
	last   *state.Trace // the best known earlier execution, for its cost and writes; may be nil
}

// chooseGiven returns the result that n takes. Results given to the run come first: the caller of Run asked for them.
func (e *Engine) chooseGiven(p place, n *node, g decideOptions) (choice, error) {
	if t := g.served; t != nil {
		return choice{trace: t, reason: state.Reason{Code: state.ReasonServed}, last: &t.Trace}, nil
	}
	if t := g.ran; t != nil && t.Code == n.code {
		if _, _, ok := firstChangedRead(p, &t.Trace); ok {
			return choice{trace: t, reason: state.Reason{Code: state.ReasonReused}, last: &t.Trace}, nil
		}
	}
	if g.forced {
		return choice{reason: state.Reason{Code: state.ReasonForced}}, nil
	}
	c, err := e.choose(p, n, g)
	if err != nil {
		return c, err
	}
	switch g.pin {
	case PinAlways: // the last execution was looked up all the same, for its cost and writes
		c.trace, c.reason = nil, state.Reason{Code: state.ReasonPinned}
	case PinNever:
		if c.trace == nil {
			c = e.pinned(n, c)
		}
	}
	return c, nil
}

// pinned returns the result that a node pinned to never keeps: the last one of its code, if that did not fail. c says
// why no trace is valid.
func (e *Engine) pinned(n *node, c choice) choice {
	before, _ := previous(n)
	if before == nil || before.Code != n.code || before.Trace == "" {
		return c
	}
	t, ok, err := e.cfg.Store.Trace(before.Trace)
	if err != nil || !ok || t.Err != nil || !e.usable(&t) {
		return c
	}
	t.Marks = appendNew(slices.Clone(t.Marks), state.MarkPinned)
	c.reason.Code = state.ReasonPinned
	return choice{trace: &state.StoredTrace{Digest: before.Trace, Trace: t}, reason: c.reason, last: &t}
}

// ownFirst puts the last result of the node itself in front. Of several valid results, as two readings of a clock are,
// a block keeps its own, and not that of an equal block.
func ownFirst(n *node, traces []state.StoredTrace) []state.StoredTrace {
	own := n.lastTrace()
	i := slices.IndexFunc(traces, func(t state.StoredTrace) bool { return t.Digest == own })
	if i <= 0 {
		return traces
	}
	return slices.Concat(traces[i:i+1], traces[:i], traces[i+1:])
}

// choose looks for a trace of n that is valid at p: in the store, and then in the cache.
func (e *Engine) choose(p place, n *node, g decideOptions) (choice, error) {
	c, err := e.chooseStored(p, n, g)
	if err == nil && c.trace == nil && e.takeShared(p, n) {
		return e.chooseStored(p, n, g)
	}
	return c, err
}

// chooseStored looks for a trace in the store. The newest comes first; those that a time-out stopped come last.
func (e *Engine) chooseStored(p place, n *node, g decideOptions) (choice, error) {
	traces, err := e.cfg.Store.Traces(n.code)
	if err != nil {
		return choice{}, err
	}
	traces = ownFirst(n, traces)
	moved := false
	var limited *state.StoredTrace
	for i := range traces {
		t := &traces[i]
		if t.Once {
			continue
		}
		e.baseState.Learn(t.Paths)
		e.compared++
		if _, _, ok := firstChangedRead(p, &t.Trace); !ok {
			continue
		}
		if t.CitedSource != p.layout(n, t.CitedBlocks) {
			moved = true
			continue
		}
		if e.ofAnotherMachine(n, &t.Trace) {
			continue
		}
		if !e.usable(&t.Trace) || e.boundary.forbidden(n.unit.Dialect, &t.Trace, e.baseState.Path) != "" {
			continue
		}
		if t.Limit > 0 {
			if limited == nil || t.Limit > limited.Limit {
				limited = t
			}
			continue
		}
		return choice{trace: t, reason: state.Reason{Code: state.ReasonReused}, last: &t.Trace}, nil
	}
	if limited != nil && g.kept {
		return choice{trace: limited, reason: state.Reason{Code: state.ReasonLimit, Limit: limited.Limit},
			last: &limited.Trace}, nil
	}
	if limited != nil {
		return limitedChoice(limited, g.timeout), nil
	}
	if own := n.lastTrace(); g.kept && len(traces) > 0 && traces[0].Digest == own && endedItself(&traces[0]) {
		return choice{trace: &traces[0], reason: state.Reason{Code: state.ReasonReused}, last: &traces[0].Trace}, nil
	}
	return e.explain(p, n, lasting(traces), moved), nil
}

// limitedChoice is the choice where a time-out stopped the code on the same reads. To execute it again is of use only
// with more time.
func limitedChoice(t *state.StoredTrace, timeout time.Duration) choice {
	c := choice{reason: state.Reason{Code: state.ReasonRetry, Limit: t.Limit}, last: &t.Trace}
	if timeout > 0 && timeout.Seconds() <= t.Limit {
		c.trace, c.reason.Code = t, state.ReasonLimit
	}
	return c
}

// usable reports whether the store still has everything that a trace refers to.
func (e *Engine) usable(t *state.Trace) bool {
	_, ok, err := e.cfg.Store.Outputs(t)
	return ok && err == nil
}

// explain returns the reason why n has no trace that is valid at p.
func (e *Engine) explain(p place, n *node, traces []state.StoredTrace, moved bool) choice {
	before, edited := previous(n)
	c := choice{reason: state.Reason{Code: state.ReasonNew}}
	if b := n.unit.Before; edited && b.Edited < b.RanAt && b.Version == n.unit.Version &&
		state.Statements(b.Nodes) == len(n.unit.nodes) && !n.isEnd() {
		if before.Code != n.code && n.facts.Part != nil {
			c.reason.Code = state.ReasonCode // the function's code, in another block
		} else if before.Code != n.code {
			c.reason.Code = state.ReasonEngine
		} else if before.Status == state.StatusBlocked {
			c.reason = state.Reason{Code: state.ReasonUnblocked, By: before.Reason.By}
		}
	} else if edited {
		c.reason.Code = state.ReasonCode
	}
	if before != nil && before.Trace != "" {
		if t, ok, err := e.cfg.Store.Trace(before.Trace); err == nil && ok {
			c.last = &t
		}
	}
	if before == nil || before.Code != n.code {
		if len(traces) == 0 {
			return c
		}
	}
	if before != nil && before.Code == n.code && c.last == nil && before.Trace != "" {
		c.reason.Code = state.ReasonLost
		return c
	}
	if (c.last == nil || c.last.Code != n.code) && len(traces) > 0 {
		c.last = &traces[0].Trace
	}
	if c.last == nil {
		if before != nil && before.Status == state.StatusFailed {
			c.reason.Code = state.ReasonRetry
		}
		return c
	}
	if c.last.Code != n.code {
		return c
	}
	if c.last.Once && c.last.Failure() != nil {
		c.reason.Code = state.ReasonRetry
		return c
	}
	if moved {
		c.reason.Code = state.ReasonLayout
		return c
	}
	access, now, ok := firstChangedRead(p, c.last)
	forbidden := e.boundary.forbidden(n.unit.Dialect, c.last, e.baseState.Path)
	switch {
	case ok && e.ofAnotherMachine(n, c.last):
		c.reason.Code = state.ReasonMachine
	case ok && forbidden != "":
		c.reason = state.Reason{Code: state.ReasonInput, Key: forbidden, Now: "denied"}
	case ok:
		c.reason.Code = state.ReasonLost
	case access.Key == "":
		c.reason.Code = state.ReasonSharing
	default:
		c.reason = state.Reason{Code: state.ReasonInput, Key: access.Key, Was: access.Digest, Now: now.digest,
			Call: e.callText(access.Key)}
		if now.writer >= 0 {
			c.reason.By = p.nameOf(now.writer)
		}
		if now.digest == unknown {
			c.reason.Code, c.reason.Now = state.ReasonMaybe, ""
		}
	}
	return c
}

// callText returns the call that a key names, as people read it; "" for other keys.
func (e *Engine) callText(k depgraph.Key) string {
	at, ok := state.CallPlaceOf(k)
	if !ok || e.cfg.Journal == nil {
		return ""
	}
	c, err := e.cfg.Journal.Recorded(context.Background(), at)
	if err != nil || c == nil {
		return "" // a reason without the name of the call is one, too
	}
	return fmt.Sprintf("%s (call %d)", c.Text(), c.ID)
}

// previous returns the outcome that the last run recorded for n: of the same code if there is one, else of the node at
// its place in the block. edited says that a run recorded the block, maybe in another version.
func previous(n *node) (before *state.NodeResult, edited bool) {
	b := n.unit.Before
	if b == nil || b.RanAt == 0 {
		return nil, false
	}
	for i := range b.Nodes {
		if b.Nodes[i].Code == n.code {
			return &b.Nodes[i], true
		}
	}
	if n.at < len(b.Nodes) {
		return &b.Nodes[n.at], true
	}
	return nil, true
}

// advance makes p the program state after node i, given its decision d. It reports whether d determines the outcome of
// the node. If not, the node must run first, and the caller applies what it leaves.
func (p *programState) advance(i int, n *node, d *decision, stopped map[*unit]bool) bool {
	switch {
	case n.isEnd() && d.Action == ActNone:
	case d.failed != "":
		stopped[n.unit] = true
		p.fail(i, d.failed, n.facts.Defines)
		p.keys.set(failedKey, entry{digest: "failed", writer: i, failed: d.failed})
		p.end.died = p.end.died || d.trace != nil && n.unit.language.Ends(d.trace.Err.Type)
	case d.trace != nil:
		p.apply(i, &d.trace.Trace)
	case d.Action == ActSkip:
	default:
		return false
	}
	if d.trace != nil && d.trace.Ending != nil {
		p.end = ending{by: n.unit.ID, sure: true}
	}
	return true
}
