package query

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/xstate-engine/xstate/state"
)

// Page selects a part of a list. The zero value selects all of it.
type Page struct {
	Limit int    // at most so many; 0 means all
	After string // Found.Next of the page before; "" means from the beginning
}

// Found is what a filter selects: one of the lists, by its subject.
type Found struct {
	Subject Subject      `json:"of"`
	Blocks  []BlockView  `json:"blocks,omitempty"` // in program order
	Traces  []BlockTrace `json:"traces,omitempty"` // in program order
	Steps   []Entry      `json:"steps,omitempty"`  // newest first
	Next    string       `json:"next,omitempty"`   // for Page.After; "" at the end
}

// BlockTrace is a recorded execution of a node of a block.
type BlockTrace struct {
	Block state.BlockID `json:"block"`
	NodeView
}

// Where returns what a filter selects after step n: blocks or executions of the program, or steps until then.
func (h *History) Where(ctx context.Context, n state.StepNumber, f *Filter, p Page) (*Found, error) {
	if f.Subject == AboutSteps {
		return h.stepsWhere(ctx, n, f, p)
	}
	snap, err := h.At(ctx, n)
	if err != nil {
		return nil, err
	}
	found := &Found{Subject: f.Subject}
	last, skip := "", p.After != ""
	take := func(name string, vars map[string]any, keep func()) (full bool, err error) {
		if skip {
			skip = name != p.After
			return false, nil
		}
		if ok, err := f.holds(ctx, vars); !ok {
			return false, err
		}
		if p.Limit > 0 && len(found.Blocks)+len(found.Traces) == p.Limit {
			found.Next = last
			return true, nil
		}
		last = name
		keep()
		return false, nil
	}
	for i := range snap.Blocks {
		b := &snap.Blocks[i]
		vars, err := h.blockVars(ctx, b)
		if err != nil {
			return nil, err
		}
		full := false
		if f.Subject == AboutBlocks {
			full, err = take(string(b.ID), vars, func() { found.Blocks = append(found.Blocks, *b) })
		}
		for j := range b.Nodes {
			if f.Subject == AboutTraces && err == nil && !full && b.Nodes[j].Trace != "" {
				vars["trace"] = traceOf(b, &b.Nodes[j])
				full, err = take(
					b.Nodes[j].Name,
					vars,
					func() { found.Traces = append(found.Traces, BlockTrace{b.ID, b.Nodes[j]}) },
				)
			}
		}
		if full || err != nil {
			return found, err
		}
	}
	if skip {
		return nil, badPage(p.After)
	}
	return found, nil
}

func badPage(after string) error {
	return &state.Error{
		Code:    state.CodeInvalid,
		Message: fmt.Sprintf("there is no page after %q", after),
		Hint:    "`--after` takes the next of the page before",
	}
}

func (h *History) blockVars(ctx context.Context, b *BlockView) (map[string]any, error) {
	vars := map[string]any{"block": blockOf(b), "origin": originOf(b.Origin), "step": stepRow{}}
	if b.Edited == 0 {
		return vars, nil
	}
	step, err := h.Step(ctx, b.Edited)
	if err != nil {
		return nil, err
	}
	e, err := h.EntryOf(ctx, step)
	vars["step"] = stepOf(e)
	return vars, err
}

func (h *History) stepsWhere(ctx context.Context, n state.StepNumber, f *Filter, p Page) (*Found, error) {
	before := n + 1
	if p.After != "" {
		after, err := strconv.ParseUint(p.After, 10, 64)
		if err != nil {
			return nil, badPage(p.After)
		}
		before = min(before, state.StepNumber(after))
	}
	found := &Found{Subject: AboutSteps}
	for before > 1 {
		steps, err := h.StepsBefore(ctx, before, pageOfSteps)
		if err != nil || len(steps) == 0 {
			return found, err
		}
		for _, step := range steps {
			e, err := h.stepWhere(ctx, step, f)
			if err != nil {
				return nil, err
			}
			if e == nil {
				continue
			}
			if p.Limit > 0 && len(found.Steps) == p.Limit {
				found.Next = strconv.FormatUint(uint64(found.Steps[p.Limit-1].Number), 10)
				return found, nil
			}
			found.Steps = append(found.Steps, *e)
		}
		before = steps[len(steps)-1].Number
	}
	return found, nil
}

// stepWhere returns the entry of a step that the filter selects, else nil. It counts lines only if the expression reads
// them: counting costs most in a long history.
func (h *History) stepWhere(ctx context.Context, step state.Step, f *Filter) (e *Entry, err error) {
	seen := entryOf(step)
	if f.lines {
		if seen, err = h.EntryOf(ctx, step); err != nil {
			return nil, err
		}
	}
	if ok, err := f.holds(ctx, map[string]any{"step": stepOf(seen), "origin": originOf(step.Origin)}); !ok {
		return nil, err
	}
	if !f.lines {
		seen, err = h.EntryOf(ctx, step)
	}
	return &seen, err
}

// Select returns the blocks that keep holds for, in program order.
func (s *Snapshot) Select(keep func(*BlockView) bool) []BlockView {
	found := []BlockView{}
	for i := range s.Blocks {
		if keep(&s.Blocks[i]) {
			found = append(found, s.Blocks[i])
		}
	}
	return found
}

// Failed reports whether the block failed, or was blocked by one that did.
func (b *BlockView) Failed() bool {
	return b.Status == state.StatusFailed.String() || b.Status == state.StatusBlocked.String()
}

// Lost reports whether the record of an execution is gone: what the block read, wrote and printed is not known.
func (b *BlockView) Lost() bool {
	return slices.ContainsFunc(b.Nodes, func(n NodeView) bool { return n.Lost })
}

// Unverified reports whether no run from scratch has confirmed the result of the block. Either nothing compared the
// result since it was computed, or the results differed, or this version did not run and there is nothing to confirm.
func (b *BlockView) Unverified() bool { return b.Verified == 0 }

// Volatile is a block whose recorded result is one of several possible ones.
type Volatile struct {
	Block     state.BlockID `json:"block"`
	Index     int           `json:"index"`
	Marks     []string      `json:"marks"`     // why: clock, network, …
	Inherited []string      `json:"inherited"` // marks of the blocks it depends on
}

// Volatile returns the blocks that are marked, and those that depend on them, in program order.
func (d *Dependencies) Volatile() []Volatile {
	marks := map[state.BlockID][]string{}
	for i := range d.Snapshot.Blocks {
		b := &d.Snapshot.Blocks[i]
		marks[b.ID] = slices.Clone(b.Marks)
	}
	d.SpreadMarks(marks)
	found := []Volatile{}
	for i := range d.Snapshot.Blocks {
		b := &d.Snapshot.Blocks[i]
		v := Volatile{Block: b.ID, Index: b.Index, Marks: append([]string{}, b.Marks...), Inherited: []string{}}
		for _, m := range marks[b.ID] {
			if !slices.Contains(b.Marks, m) {
				v.Inherited = append(v.Inherited, m)
			}
		}
		if len(v.Marks)+len(v.Inherited) > 0 {
			found = append(found, v)
		}
	}
	return found
}
