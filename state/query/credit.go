package query

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/state"
)

// Credit sums up what the steps of a session did, by the agent, model or call that made them.
type Credit struct {
	Rows  []CreditRow
	Total CreditRow // the sum of the rows, and of the steps
}

// CreditRow is what one agent, model or call did. A field that the caller did not group by is "".
type CreditRow struct {
	Agent, Model, CallID string

	Patches             int           // edits made
	Broken, Fixed       int           // blocks that failed, or no longer failed, in the run that followed
	Caused              time.Duration // spent executing because of its edits
	Saved               time.Duration // recorded cost of what was reused when its edits ran, less that of the engine
	TokensIn, TokensOut int64
	Cost                state.Dollars

	Calls int // calls of tools and models that runs made because of its edits; their tokens and cost are above
}

// CreditBy selects the fields that rows are grouped by. The zero value is agent and model.
type CreditBy struct {
	Agent, Model, Call bool
}

// Credit sums up the steps until n. Sums are exact: whole nanoseconds, tokens, and billionths of a dollar.
//
// A node that a run executed is charged to the edit that made it run: the edit of its code, or, along the recorded
// reasons, the edit of the code behind the input that changed. The time of the whole next run would charge an edit for
// what others caused. The same edit broke or fixed the block.
//
// Some executions have no edit: --fresh, a retried failure, a value that was not stored. They are charged to the
// origin of the run. A row without names holds what changes outside of the program caused, and what edits of several
// authors caused together. The saved time of a run is shared equally among the edits that it ran. Without an edit it
// counts for the origin of the run.
func (h *History) Credit(ctx context.Context, n state.StepNumber, by CreditBy) (*Credit, error) {
	if by == (CreditBy{}) {
		by = CreditBy{Agent: true, Model: true}
	}
	c := &crediting{history: h, by: by, rows: map[creditKey]*CreditRow{}, failing: map[state.BlockID]bool{}}
	for step, err := range h.store.Steps(ctx, h.name, 1, n) {
		if err == nil {
			err = c.step(ctx, step)
		}
		if err != nil {
			return nil, err
		}
	}
	return c.sum(), nil
}

type creditKey struct {
	agent, model, call string
	step               state.StepNumber // for failures
}

type crediting struct {
	history *History
	by      CreditBy
	rows    map[creditKey]*CreditRow
	pending []state.Step // edits that were not run yet
	failing map[state.BlockID]bool
	tree    *callTree // nil: not read yet

	// For failures each step has a row of its own, calls are not charged, and turned gets what a step made of a block.
	// nil: rows are those of credit.
	stepOf map[*CreditRow]*state.Step
	turned func(b *state.Block, fails bool, r *CreditRow)
}

// rowOf is the row of a step. That of the zero value has no author.
func (c *crediting) rowOf(s *state.Step) *CreditRow {
	if c.stepOf == nil {
		return c.row(s.Origin)
	}
	k := creditKey{step: s.Number}
	if c.rows[k] == nil {
		c.rows[k] = &CreditRow{}
		c.stepOf[c.rows[k]] = s
	}
	return c.rows[k]
}

func (c *crediting) row(o state.Origin) *CreditRow {
	var k creditKey
	if c.by.Agent {
		k.agent = o.Agent
	}
	if c.by.Model {
		k.model = o.Model
	}
	if c.by.Call {
		k.call = o.CallID
	}
	r := c.rows[k]
	if r == nil {
		r = &CreditRow{Agent: k.agent, Model: k.model, CallID: k.call}
		c.rows[k] = r
	}
	return r
}

func (c *crediting) sum() *Credit {
	found := &Credit{Rows: []CreditRow{}}
	for k, r := range c.rows {
		if *r == (CreditRow{Agent: k.agent, Model: k.model, CallID: k.call}) {
			continue // it did nothing that is counted
		}
		found.Rows = append(found.Rows, *r)
		t := &found.Total
		t.Patches, t.Broken, t.Fixed = t.Patches+r.Patches, t.Broken+r.Broken, t.Fixed+r.Fixed
		t.Caused, t.Saved = t.Caused+r.Caused, t.Saved+r.Saved
		t.Calls += r.Calls
		t.TokensIn, t.TokensOut, t.Cost = t.TokensIn+r.TokensIn, t.TokensOut+r.TokensOut, t.Cost+r.Cost
	}
	slices.SortFunc(found.Rows, func(a, b CreditRow) int {
		return cmp.Or(
			strings.Compare(a.Agent, b.Agent),
			strings.Compare(a.Model, b.Model),
			strings.Compare(a.CallID, b.CallID),
		)
	})
	return found
}

func (c *crediting) step(ctx context.Context, step state.Step) error {
	r := c.rowOf(&step)
	r.TokensIn, r.TokensOut, r.Cost = r.TokensIn+step.Origin.TokensIn, r.TokensOut+step.Origin.TokensOut,
		r.Cost+step.Origin.Cost
	switch {
	case IsEdit(step.Kind):
		r.Patches++
		c.pending = append(c.pending, step)
		if step.Now == state.Absent && step.Kind == state.KindDelete {
			delete(c.failing, step.Block)
		}
	case step.Kind == state.KindRollback:
		c.pending = []state.Step{step}
		program, err := c.history.store.ProgramAt(ctx, c.history.name, step.Number)
		if err != nil {
			return err
		}
		was := maps.Clone(c.failing)
		clear(c.failing)
		for i := range program {
			c.turn(&program[i], was[program[i].ID], r)
		}
	case step.Kind == state.KindRun:
		return c.run(ctx, step.Number)
	}
	return nil
}

// turn records whether a block fails now. It counts only a change, so a failure that lasts for ten runs counts once.
func (c *crediting) turn(b *state.Block, was bool, r *CreditRow) {
	now := was
	switch b.Status {
	case state.StatusFailed:
		now = true
	case state.StatusRan, state.StatusReused:
		now = false
	}
	c.failing[b.ID] = now
	if c.turned != nil {
		c.turned(b, now, r)
	}
	switch {
	case now && !was:
		r.Broken++
	case was && !now:
		r.Fixed++
	}
}

// nanoseconds converts seconds to an integer: sums of floats would depend on their order.
func nanoseconds(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }

func (c *crediting) run(ctx context.Context, n state.StepNumber) error {
	step, err := c.history.store.Step(ctx, c.history.name, n)
	if err != nil {
		return err
	}
	x := &charging{
		crediting: c,
		run:       step,
		blocks:    map[state.BlockID]*state.Block{},
		edited:    map[state.BlockID]*state.Step{},
		charged:   map[state.BlockID]*CreditRow{},
	}
	for i := range c.pending {
		if id := c.pending[i].Block; id != "" {
			x.edited[id] = &c.pending[i]
		}
	}
	for i := range step.Changes {
		if b := step.Changes[i].Block; b != nil {
			x.blocks[b.ID] = b
		}
	}
	left := nanoseconds(step.Run.Seconds)
	for i := range step.Changes {
		b := step.Changes[i].Block
		if b == nil {
			continue
		}
		for j := range b.Nodes {
			if d := nanoseconds(b.Nodes[j].Seconds); d > 0 {
				x.of(b.ID, &b.Nodes[j]).Caused += d
				left -= d
			}
		}
		c.turn(b, c.failing[b.ID], x.ofBlock(b.ID, map[state.BlockID]bool{}))
	}
	if err := x.calls(ctx, n); err != nil {
		return err
	}
	c.rowOf(&step).Caused += left // spent on rebuilding values, and what rounding leaves
	x.share(nanoseconds(step.Run.SavedSeconds))
	c.pending = nil
	return nil
}

// charging finds the edit that caused each execution of a run.
type charging struct {
	*crediting
	run    state.Step
	blocks map[state.BlockID]*state.Block // whose outcome the run recorded
	edited map[state.BlockID]*state.Step  // the last pending edit of each block
	// charged has the rows of blocks that are known: a chain of 2,000 blocks would be followed from each of them. The
	// block behind a block is always the same, so a row does not depend on where the search began.
	charged map[state.BlockID]*CreditRow
}

// calls charges what the run's calls spent like the nodes that made them, with the models that were called.
func (x *charging) calls(ctx context.Context, n state.StepNumber) (err error) {
	if x.stepOf != nil {
		return nil
	}
	if x.tree == nil {
		if x.tree, err = x.history.callTree(ctx); err != nil {
			return err
		}
	}
	before, err := x.history.runBefore(ctx, n)
	if err != nil {
		return err
	}
	for _, c := range x.tree.made {
		v := x.tree.at(c, runSpan{before, n})
		if !x.tree.by(v, runSpan{before, n}) {
			continue
		}
		r := x.row(x.run.Origin)
		if b := x.blocks[v.Caller.Block]; b != nil && v.Caller.Node < len(b.Nodes) {
			r = x.of(b.ID, &b.Nodes[v.Caller.Node])
		}
		if v.Kind == "model" {
			r = x.row(state.Origin{Agent: r.Agent, Model: v.Tool, CallID: r.CallID})
		}
		spent := ownUsage(v)
		r.Calls++
		r.TokensIn, r.TokensOut = r.TokensIn+spent.InputTokens, r.TokensOut+spent.OutputTokens
		r.Cost += state.Dollars(spent.MicroUSD) * 1000
	}
	return nil
}

// share divides time, which is negative where the engine lost some, among the pending edits. Without any, the time
// counts for the origin of the run.
func (x *charging) share(d time.Duration) {
	n := time.Duration(len(x.pending))
	if n == 0 {
		x.rowOf(&x.run).Saved += d
		return
	}
	for i := range n {
		x.rowOf(&x.pending[i]).Saved += d*(i+1)/n - d*i/n // whose sum is d
	}
}

// of is the row that a node of a block is charged to.
func (x *charging) of(id state.BlockID, n *state.NodeResult) *CreditRow {
	return x.ofNode(id, n, map[state.BlockID]bool{})
}

func (x *charging) ofNode(id state.BlockID, n *state.NodeResult, seen map[state.BlockID]bool) *CreditRow {
	switch n.Reason.Code {
	case state.ReasonForced, state.ReasonPinned, state.ReasonRetry, state.ReasonLost, state.ReasonMachine,
		state.ReasonEngine:
		return x.rowOf(&x.run)
	case state.ReasonInput, state.ReasonBlocked, state.ReasonUnblocked, state.ReasonEnded:
		switch by := x.blockOf(n.Reason.By); {
		case by != "" && by != id:
			return x.ofBlock(by, seen)
		case by == "" && n.Reason.Key.Space() != "var":
			return x.outside()
		case by == "":
			return x.one()
		}
	}
	if e := x.edited[id]; e != nil {
		return x.rowOf(e)
	}
	return x.one()
}

// ofBlock is the row that the outcome of a block is charged to.
func (x *charging) ofBlock(id state.BlockID, seen map[state.BlockID]bool) *CreditRow {
	if r := x.charged[id]; r != nil {
		return r
	}
	if seen[id] {
		return x.one()
	}
	seen[id] = true
	r := x.ofNodes(id, seen)
	x.charged[id] = r
	return r
}

func (x *charging) ofNodes(id state.BlockID, seen map[state.BlockID]bool) *CreditRow {
	if b := x.blocks[id]; b != nil {
		for _, failed := range []bool{true, false} { // a failed node explains the failure of its block
			for i := range b.Nodes {
				n := &b.Nodes[i]
				if n.Reason.Code != state.ReasonReused && n.Reason.Code != "" &&
					(!failed || n.Status == state.StatusFailed) {
					return x.ofNode(id, n, seen)
				}
			}
		}
	}
	if e := x.edited[id]; e != nil {
		return x.rowOf(e)
	}
	return x.one()
}

// blockOf is the block of a node as reasons name it.
func (x *charging) blockOf(node string) state.BlockID {
	id := state.BlockID(node)
	if i := strings.LastIndexByte(node, '#'); i > 0 && x.blocks[id] == nil && x.edited[id] == nil {
		return id[:i]
	}
	return id
}

// outside is the row for a change of something that no block of the program makes. If an edit deleted the block that
// made it, the row is that of the edit, else the row without names.
func (x *charging) outside() *CreditRow {
	for i := range x.pending {
		if k := x.pending[i].Kind; k == state.KindDelete || k == state.KindRollback || k == state.KindMove {
			return x.one()
		}
	}
	return x.rowOf(&state.Step{})
}

// one is the row of all pending edits, if they share a row. Without edits it is the row of the origin of the run. Edits
// with several rows cannot be separated, so no row is charged.
func (x *charging) one() *CreditRow {
	if len(x.pending) == 0 {
		return x.rowOf(&x.run)
	}
	r := x.rowOf(&x.pending[0])
	for i := range x.pending {
		if x.rowOf(&x.pending[i]) != r {
			return x.rowOf(&state.Step{})
		}
	}
	return r
}
