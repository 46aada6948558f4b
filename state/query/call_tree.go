package query

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/state"
)

// CallSum sums calls up.
type CallSum struct {
	Made    int         `json:"made"`   // by the run
	Served  int         `json:"served"` // by the journal, or with a reused result
	Seconds float64     `json:"seconds"`
	Spent   state.Usage `json:"spent"`
	Saved   state.Usage `json:"saved"` // recorded cost of the calls served
}

// SpentText says what calls cost, and what their records saved.
func (s CallSum) SpentText() string {
	var parts []string
	for _, text := range []string{s.Spent.Tokens(), s.Spent.Dollars()} {
		if text != "" {
			parts = append(parts, text)
		}
	}
	if text := cmp.Or(s.Saved.Dollars(), s.Saved.Tokens()); text != "" {
		parts = append(parts, text+" saved")
	}
	return strings.Join(parts, ", ")
}

func (s *CallSum) add(o CallSum) {
	s.Made += o.Made
	s.Served += o.Served
	s.Seconds += o.Seconds
	s.Spent.Add(o.Spent)
	s.Saved.Add(o.Saved)
}

// RunCalls are the calls of a run, by block. A block's calls are those that its result depends on, and those that the
// run made for it in vain.
type RunCalls struct {
	Step   state.StepNumber `json:"step"`
	Sum    CallSum          `json:"sum"`
	Blocks []BlockCalls     `json:"blocks"`
}

// BlockCalls are the calls of a block.
type BlockCalls struct {
	Block state.BlockID `json:"block"`
	Index int           `json:"index"` // -1: the program has the block no more
	Sum   CallSum       `json:"sum"`
	Calls []CallBranch  `json:"calls"`
}

// CallBranch is a call with those that were made within it.
type CallBranch struct {
	CallSketch
	Served bool         `json:"served"`
	Sum    CallSum      `json:"sum"` // for it and all within
	Calls  []CallBranch `json:"calls,omitempty"`
}

// callTree is what the trees of a session's runs are made of.
type callTree struct {
	history *History
	// sessions are the session, and those that it was forked from, with the first step that is not of its past
	sessions map[string]state.StepNumber
	within   map[state.CallID][]*state.Call // by parent
	made     []*state.Call                  // by these sessions
}

// runSpan is a run: its step, and the last run before it.
type runSpan struct{ before, step state.StepNumber }

// CallTrees returns the calls of runs, given by their steps.
func (h *History) CallTrees(ctx context.Context, runs []state.StepNumber) ([]RunCalls, error) {
	t, err := h.callTree(ctx)
	if err != nil {
		return nil, err
	}
	found := []RunCalls{}
	for _, n := range runs {
		r, err := t.run(ctx, n)
		if err != nil {
			return nil, err
		}
		found = append(found, *r)
	}
	return found, nil
}

// callTree reads the calls of the store.
func (h *History) callTree(ctx context.Context) (*callTree, error) {
	t := &callTree{history: h, sessions: map[string]state.StepNumber{h.name: math.MaxUint64},
		within: map[state.CallID][]*state.Call{}}
	for meta := h.meta; meta.From != nil; {
		t.sessions[meta.From.Session] = meta.From.Step
		var err error
		if meta, err = h.store.Session(ctx, meta.From.Session); err != nil {
			return nil, err
		}
	}
	err := h.store.Calls(ctx, 0, func(c *state.Call) bool {
		if c.Parent != 0 {
			t.within[c.Parent] = append(t.within[c.Parent], c)
		}
		if slices.ContainsFunc(c.Versions(), t.own) {
			t.made = append(t.made, c)
		}
		return true
	})
	return t, err
}

// own reports whether a call was made in the past of the session.
func (t *callTree) own(c *state.Call) bool { return c.Caller.Step < t.sessions[c.Caller.Session] }

// by reports whether a run made a call.
func (t *callTree) by(c *state.Call, r runSpan) bool {
	return t.own(c) && c.Caller.Step >= r.before && c.Caller.Step < r.step
}

// at returns a call as it was after a run.
func (t *callTree) at(c *state.Call, r runSpan) *state.Call {
	for _, v := range c.Versions() {
		if v.Caller.Step < r.step {
			return v
		}
	}
	return c
}

// run returns the calls of the run that step n records.
func (t *callTree) run(ctx context.Context, n state.StepNumber) (*RunCalls, error) {
	before, err := t.history.runBefore(ctx, n)
	if err != nil {
		return nil, err
	}
	blocks, err := t.history.store.ProgramAt(ctx, t.history.name, n)
	if err != nil {
		return nil, err
	}
	read, err := t.history.CallsOf(ctx, n, blocks)
	if err != nil {
		return nil, err
	}
	type use struct {
		block state.BlockID
		call  state.CallID
	}
	known := map[use]bool{}
	for block, calls := range read {
		for _, c := range calls {
			known[use{block, c.ID}] = true
		}
	}
	span := runSpan{before, n}
	for _, c := range t.made {
		v := t.at(c, span)
		if t.by(v, span) && !known[use{c.Caller.Block, c.ID}] {
			read[c.Caller.Block] = append(read[c.Caller.Block], v)
		}
	}
	r := &RunCalls{Step: n, Blocks: []BlockCalls{}}
	add := func(index int, id state.BlockID) {
		if calls := read[id]; len(calls) > 0 {
			b := BlockCalls{Block: id, Index: index, Calls: t.branches(calls, span)}
			for _, c := range b.Calls {
				b.Sum.add(c.Sum)
			}
			r.Sum.add(b.Sum)
			r.Blocks = append(r.Blocks, b)
		}
		delete(read, id)
	}
	for i := range blocks {
		add(i, blocks[i].ID)
	}
	var gone []state.BlockID
	for id := range read {
		gone = append(gone, id)
	}
	slices.Sort(gone)
	for _, id := range gone {
		add(-1, id)
	}
	return r, nil
}

// branches returns calls as trees.
func (t *callTree) branches(calls []*state.Call, r runSpan) []CallBranch {
	sortCalls(calls)
	branches := []CallBranch{}
	listed := map[state.CallID]bool{}
	for _, c := range calls {
		listed[c.ID] = true
	}
	for _, c := range calls {
		if c.Parent == 0 || !listed[c.Parent] {
			branches = append(branches, t.branch(c, r))
		}
	}
	return branches
}

func (t *callTree) branch(c *state.Call, r runSpan) CallBranch {
	b := CallBranch{CallSketch: SketchOfCall(c), Served: !t.by(c, r)}
	own := CallSum{Served: 1, Saved: b.Spent}
	if !b.Served {
		own = CallSum{Made: 1, Seconds: c.Seconds, Spent: b.Spent}
	}
	b.Sum.add(own)
	for _, in := range t.within[c.ID] {
		child := t.branch(t.at(in, r), r)
		b.Calls = append(b.Calls, child)
		b.Sum.add(child.Sum)
	}
	if !b.Served {
		b.Sum.Seconds = c.Seconds // which has that of the calls within
	}
	return b
}

// runBefore returns the last run before step n, also one that was rolled back; 0 if there is none.
func (h *History) runBefore(ctx context.Context, n state.StepNumber) (state.StepNumber, error) {
	for n > 1 {
		page, err := h.StepsBefore(ctx, n, pageOfSteps)
		if err != nil || len(page) == 0 {
			return 0, err
		}
		for _, step := range page {
			if n = step.Number; step.Kind == state.KindRun {
				return n, nil
			}
		}
	}
	return 0, nil
}

// SumCalls sums up the calls of a run: those that it made, and of uses those that were served.
func SumCalls(made map[state.CallID]state.Call, uses []CallUse) (sum CallSum) {
	for _, c := range made {
		sum.add(CallSum{Made: 1, Seconds: c.Seconds, Spent: c.Usage})
	}
	for _, c := range uses {
		if _, own := made[c.ID]; !own {
			sum.add(CallSum{Served: 1, Saved: c.Usage})
		}
	}
	return sum
}
