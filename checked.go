package xstate

import (
	"context"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// CheckAssert is the kind of a part of a block that asserts something: it is a check of itself, and of all that it read.
const CheckAssert CheckKind = "assert"

// CheckView is a check as seen after a step.
type CheckView struct {
	Check
	Current bool `json:"current"` // all that it exercised is as it was then, so that it would come to the same
}

// Proves reports whether the check passed on the present code.
func (c *CheckView) Proves() bool { return c.Current && c.Outcome == CheckPassed }

// Coverage is what checks that passed exercised of the present version of a block or file. Lines are counted by functions: all
// of one that was executed.
type Coverage struct {
	Block   BlockID  `json:"block,omitempty"`
	File    string   `json:"file,omitempty"`
	Checks  []string `json:"checks"`
	Lines   int      `json:"lines"`   // that hold code
	Covered int      `json:"covered"` // of them
	Missed  []string `json:"missed"`  // functions that no check executed; "" stands for what is outside of functions
}

// Unchecked returns the coverage of the blocks, after step n, that checks which passed exercised in part only, or not at all.
func (s *Session) Unchecked(ctx context.Context, n StepNumber) ([]Coverage, error) {
	m, err := s.momentAt(ctx, n)
	if err != nil {
		return nil, err
	}
	found := []Coverage{}
	for i := range m.snap.Blocks {
		if c := m.coverage(&m.snap.Blocks[i]); c.Covered < c.Lines {
			found = append(found, c)
		}
	}
	return found, nil
}

// checksAt returns the checks that were executed at or before the moment.
func (s *Session) checksAt(ctx context.Context, m *moment) ([]CheckView, error) {
	kept, err := s.Checks(ctx)
	if err != nil {
		return nil, err
	}
	found := []CheckView{}
	for _, c := range kept {
		if c.Step <= m.snap.Step.Number {
			found = append(found, CheckView{c, !slices.ContainsFunc(c.Exercised, func(x Exercised) bool { return !m.present(x) })})
		}
	}
	asserts, err := s.asserts(ctx, m)
	return append(found, asserts...), err
}

// present reports whether a part of the code is as a check found it.
func (m *moment) present(x Exercised) bool {
	b, err := m.snap.Block(x.Block)
	return err == nil && b.Version == x.Version
}

// asserts are the parts of blocks that assert something, as they last ran.
func (s *Session) asserts(ctx context.Context, m *moment) ([]CheckView, error) {
	var found []CheckView
	for i := range m.snap.Blocks {
		b := &m.snap.Blocks[i]
		outline := m.outline(b)
		for j := range b.Nodes {
			n := &b.Nodes[j]
			place := m.deps.nodes[depgraph.NewNodeID(string(b.ID), j)]
			if place == nil || n.Trace == "" || n.Lost || !slices.ContainsFunc(outline.Asserts, func(line int) bool { return place.facts.Line <= line && line <= place.facts.EndLine }) {
				continue
			}
			run, err := s.step(ctx, b.RanAt)
			if err != nil {
				return nil, err
			}
			c := CheckView{Check: Check{ID: n.Name, Kind: CheckAssert, Outcome: CheckPassed, At: run.Time, Step: run.Number, Seconds: n.Seconds, Marks: b.Marks}, Current: true}
			if n.Status == "failed" || b.Status == "failed" && j == len(b.Nodes)-1 {
				c.Outcome, c.Message = CheckFailed, brief(b.Error)
			}
			if c.Exercised, c.Current = m.exercised(b, n); !c.Current {
				if c.Exercised, err = s.exercisedThen(ctx, m, b, j); err != nil {
					return nil, err
				}
			}
			found = append(found, c)
		}
	}
	return found, nil
}

// exercised are the parts of the program that an execution of a node executed, and those whose values it read; current is false
// where some of that is another by now, or gone.
func (m *moment) exercised(b *BlockView, n *NodeView) (parts []Exercised, current bool) {
	parts, current = []Exercised{{Block: b.ID, Version: b.Version}}, true
	for _, r := range n.Reads {
		from := m.writer(r.By)
		if from == nil {
			current = current && (r.Digest == state.Absent || r.Key.Space() != "var")
			continue
		}
		x := Exercised{Block: from.ID, Version: from.Version}
		for _, d := range m.outline(from).Definitions {
			if d.Line > 0 && r.Key == depgraph.Var(d.Name) {
				x.Function, x.From, x.To = d.Name, d.Line, d.End
			}
		}
		parts = appendNew(parts, x)
	}
	return parts, current
}

// exercisedThen is exercised after the run that executed a node of a block.
func (s *Session) exercisedThen(ctx context.Context, m *moment, b *BlockView, node int) ([]Exercised, error) {
	snap, err := s.At(ctx, b.RanAt)
	if err != nil {
		return nil, err
	}
	then := &moment{snap: snap, outlines: m.outlines}
	old, err := snap.Block(b.ID)
	if err != nil || node >= len(old.Nodes) {
		return nil, err
	}
	parts, _ := then.exercised(old, &old.Nodes[node])
	return parts, nil
}

// coverage tells what of a block was exercised.
func (m *moment) coverage(b *BlockView) Coverage {
	c := Coverage{Block: b.ID, Checks: []string{}, Missed: []string{}}
	outline := m.outline(b)
	lines := strings.Split(b.Source, "\n")
	owner := make([]string, len(lines)+1) // of each line, from 1: the outermost definition that it is in
	executed := map[string]bool{}
	for _, d := range outline.Definitions {
		for line := max(d.Line, 1); line <= d.End && line < len(owner); line++ {
			if owner[line] == "" {
				owner[line] = d.Name
			}
		}
	}
	for i := range m.checks {
		check := &m.checks[i]
		if !check.Proves() {
			continue
		}
		for _, x := range check.Exercised {
			if x.Block == b.ID && m.present(x) {
				c.Checks = appendNew(c.Checks, check.ID)
				executed[outermost(owner, x)] = true
			}
		}
	}
	for i, line := range lines {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		c.Lines++
		if executed[owner[i+1]] {
			c.Covered++
		} else {
			c.Missed = appendNew(c.Missed, owner[i+1])
		}
	}
	return c
}

// outermost is the definition at the top of a block that something exercised lies in.
func outermost(owner []string, x Exercised) string {
	if x.Function != "" && 0 < x.From && x.From < len(owner) {
		return owner[x.From]
	}
	return x.Function
}
