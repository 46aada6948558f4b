package runner

import (
	"context"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// Codes of reasons.
const (
	ReasonNew     = "new"              // this code was never run
	ReasonCode    = "code-changed"     // the block was edited here
	ReasonEngine  = "engine-changed"   // the same code was run, by another interpreter or version of xstate
	ReasonInput   = "input-changed"    // Key had digest Was and has Now
	ReasonSharing = "sharing-changed"  // names it reads share objects in another way
	ReasonMaybe   = "input-may-change" // in a plan: Key depends on what By comes to
	ReasonLost    = "result-lost"      // it was run, but the results are gone
	ReasonRetry   = "failed-before"    // it failed in a way that may not happen again
	ReasonLayout  = "line-moved"       // its output cites lines, and they are others now
	ReasonForced  = "forced"
	ReasonReused  = "reused"
	ReasonPinned  = "pinned"  // it executes always, or keeps a result that does not hold, see Pin
	ReasonServed  = "served"  // it was given a result, see RunOptions.Serve
	ReasonBlocked = "blocked" // it needs what block By would have defined, or follows a failure in its block
	ReasonSyntax  = "syntax-error"
)

// Action is what a plan intends for a node.
type Action string

const (
	ActRun   Action = "run"
	ActMaybe Action = "maybe" // it runs if what it reads comes out different
	ActReuse Action = "reuse"
	ActBlock Action = "block"
)

// PlanNode is one node of a plan.
type PlanNode struct {
	Block   state.BlockID
	Node    int // index in the block
	Line    int // 1-based in the block
	Action  Action
	Reason  state.Reason
	Seconds float64 // recorded cost of the last execution; 0 when there was none

	Code  state.Digest   // names its traces
	Facts *depgraph.Node // what its text says
	Trace state.Digest   // of the result that is reused; "" when none is
	Last  *state.Trace   // the last execution, maybe of other code; nil when none is known
}

// Plan says what a run would do. It is computed without executing anything.
type Plan struct {
	Blocks []PlanBlock
}

// PlanBlock sums up the nodes of one block.
type PlanBlock struct {
	ID      state.BlockID
	Title   string
	Index   int
	Action  Action
	Reason  state.Reason
	Seconds float64 // recorded cost of the nodes that run or may run
	Saved   float64 // recorded cost of the nodes reused
	Nodes   []PlanNode
	Err     *state.ExecError
}

// choice is what the walk finds for a node: a trace that holds here, or why none does.
type choice struct {
	trace  *state.StoredTrace
	reason state.Reason
	last   *state.Trace // the best known earlier execution, for its cost and writes; may be nil
}

// place is what the choice of a trace asks of a position and of the program.
type place interface {
	get(depgraph.Key) entry
	within([]state.Access) []state.Alias
	around([]string) []state.Alias
	noticed(name string) bool                    // somebody may notice that what a name is bound to goes
	layout(n *node, cited []string) state.Digest // see layoutOf
	nameOf(writer int) string                    // of an entry
}

// here is a place in a walk.
type here struct {
	*position
	units []*unit
	nodes []*node
}

func (h here) layout(n *node, cited []string) state.Digest { return layoutOf(h.units, n, cited) }
func (h here) nameOf(writer int) string                    { return h.nodes[writer].id() }

// choose looks for a trace of n that holds at p.
func (e *Engine) choose(p place, n *node) (choice, error) {
	traces, err := e.traces(n.code)
	if err != nil {
		return choice{}, err
	}
	moved := false
	for i := range traces {
		t := &traces[i]
		e.world.learn(t.Paths)
		e.compared++
		if _, _, ok := mismatch(p, &t.Trace); !ok {
			continue
		}
		if t.CitedSource != p.layout(n, t.CitedBlocks) {
			moved = true
			continue
		}
		if !e.usable(&t.Trace) {
			continue
		}
		return choice{trace: t, reason: state.Reason{Code: ReasonReused}, last: &t.Trace}, nil
	}
	return e.explain(p, n, traces, moved), nil
}

// usable reports whether everything a trace refers to is still there.
func (e *Engine) usable(t *state.Trace) bool {
	if t.Outputs != "" {
		if _, ok, err := e.cfg.Store.Blob(t.Outputs); err != nil || !ok {
			return false
		}
	}
	return true
}

// explain says why n has no trace that holds at p.
func (e *Engine) explain(p place, n *node, traces []state.StoredTrace, moved bool) choice {
	before, edited := previous(n)
	c := choice{reason: state.Reason{Code: ReasonNew}}
	if b := n.unit.Before; edited && b.Edited < b.RanAt && b.Version == n.unit.Version && len(b.Nodes) == len(n.unit.nodes) {
		c.reason.Code = ReasonEngine
	} else if edited {
		c.reason.Code = ReasonCode
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
		c.reason.Code = ReasonLost
		return c
	}
	if (c.last == nil || c.last.Code != n.code) && len(traces) > 0 {
		c.last = &traces[0].Trace
	}
	if c.last == nil {
		if before != nil && before.Status == state.StatusFailed {
			c.reason.Code = ReasonRetry
		}
		return c
	}
	if c.last.Code != n.code {
		return c
	}
	if moved {
		c.reason.Code = ReasonLayout
		return c
	}
	access, now, ok := mismatch(p, c.last)
	switch {
	case ok:
		c.reason.Code = ReasonLost
	case access.Key == "":
		c.reason.Code = ReasonSharing
	default:
		c.reason = state.Reason{Code: ReasonInput, Key: access.Key, Was: access.Digest, Now: now.digest}
		if now.writer >= 0 {
			c.reason.By = p.nameOf(now.writer)
		}
		if now.digest == unknown {
			c.reason.Code, c.reason.Now = ReasonMaybe, ""
		}
	}
	return c
}

// previous returns the outcome that the last run recorded for this node: of the same code if there is one, else for
// its place in the block. edited says that the block was known in another version.
func previous(n *node) (before *state.NodeResult, edited bool) {
	b := n.unit.Before
	if b == nil || b.RanAt == 0 {
		return nil, false
	}
	edited = true
	for i := range b.Nodes {
		if b.Nodes[i].Code == n.code {
			return &b.Nodes[i], edited
		}
	}
	if n.at < len(b.Nodes) {
		return &b.Nodes[n.at], edited
	}
	return nil, edited
}

// Plan tells what Run would do. Nothing is executed and nothing is written.
func (e *Engine) Plan(ctx context.Context, blocks []Block) (*Plan, error) {
	units, nodes := e.analyse(blocks)
	e.world.begin()
	if err := e.adoptRelatives(); err != nil {
		return nil, err
	}
	p := newPosition(e.world.get)
	acts := make([]PlanNode, len(nodes))
	stopped := map[*unit]bool{}
	for i, n := range nodes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, err := e.decide(here{p, units, nodes}, n, stopped[n.unit])
		if err != nil {
			return nil, err
		}
		acts[i] = d.PlanNode
		switch {
		case d.poisons != "":
			stopped[n.unit] = stopped[n.unit] || d.trace != nil
			p.fail(i, d.poisons, n.facts.Defines)
		case d.trace != nil:
			p.apply(i, &d.trace.Trace)
		default:
			p.suppose(i, n, d.Last)
		}
	}
	return newPlan(units, acts), nil
}

// decision is what is planned for a node, and what that makes of the position after it.
type decision struct {
	PlanNode
	trace   *state.StoredTrace // that is reused; nil when none is
	poisons state.BlockID      // the block whose failure takes away what the node defines; "" when it is there
}

// decide tells what is planned for n at p. stopped says that a node before it in its block failed.
func (e *Engine) decide(p place, n *node, stopped bool) (decision, error) {
	d := decision{PlanNode: PlanNode{Block: n.unit.ID, Node: n.at, Line: n.facts.Line, Code: n.code, Facts: n.facts}}
	if by, blocked := blockedBy(p, n, stopped); blocked {
		d.Action, d.Reason, d.poisons = ActBlock, state.Reason{Code: ReasonBlocked, By: by}, state.BlockID(by)
		return d, nil
	}
	c, err := e.choose(p, n)
	if err != nil {
		return d, err
	}
	switch n.unit.pin() {
	case PinAlways:
		c.trace, c.reason = nil, state.Reason{Code: ReasonPinned}
	case PinNever:
		if c.trace == nil {
			c, _ = e.pinned(n, c)
		}
	}
	d.trace, d.Reason, d.Last = c.trace, c.reason, c.last
	if c.last != nil {
		d.Seconds = c.last.Seconds
	}
	switch {
	case c.trace != nil:
		d.Action, d.Trace = ActReuse, c.trace.Digest
		if c.trace.Err != nil {
			d.poisons = n.unit.ID
		}
	case c.reason.Code == ReasonMaybe:
		d.Action = ActMaybe
	default:
		d.Action = ActRun
	}
	return d, nil
}

// supposed returns the keys that a node may write that has not run.
func supposed(n *node, last *state.Trace) map[depgraph.Key]bool {
	keys := map[depgraph.Key]bool{}
	for _, names := range [][]string{n.facts.Defines, n.facts.Deletes} {
		for _, name := range names {
			keys[depgraph.Var(name)] = true
		}
	}
	if last != nil {
		for _, w := range last.Writes {
			keys[w.Key] = true
		}
	}
	return keys
}

// suppose makes this the position after node i, which has not run: what it may write is unknown.
func (p *position) suppose(i int, n *node, last *state.Trace) {
	for k := range supposed(n, last) {
		p.keys[k] = entry{digest: unknown, writer: i}
	}
}

// blockedBy names the failed block that n depends on, if it does. stopped says that a node before it in its block failed.
func blockedBy(p interface{ get(depgraph.Key) entry }, n *node, stopped bool) (string, bool) {
	if stopped {
		return string(n.unit.ID), true
	}
	for _, name := range n.facts.Uses {
		if by, bad := p.get(depgraph.Var(name)).poisoned(); bad {
			return by, true
		}
	}
	return "", false
}

func newPlan(units []*unit, acts []PlanNode) *Plan {
	plan := &Plan{}
	for i, u := range units {
		b := PlanBlock{ID: u.ID, Title: u.Title, Index: i, Action: ActReuse, Reason: state.Reason{Code: ReasonReused}, Err: u.err}
		if u.err != nil {
			b.Action, b.Reason = ActBlock, state.Reason{Code: ReasonSyntax}
		}
		rank := []Action{ActReuse, ActBlock, ActMaybe, ActRun}
		for _, n := range u.nodes {
			a := acts[n.index]
			b.Nodes = append(b.Nodes, a)
			if a.Action == ActReuse {
				b.Saved += a.Seconds
			} else if a.Action != ActBlock {
				b.Seconds += a.Seconds
			}
			if slices.Index(rank, a.Action) > slices.Index(rank, b.Action) {
				b.Action, b.Reason = a.Action, a.Reason
			}
		}
		plan.Blocks = append(plan.Blocks, b)
	}
	return plan
}
