package artifact

import (
	"context"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// momentAt collects it. Nothing is executed.
func assess(ctx context.Context, h *query.History, n state.StepNumber) (*assessment, error) {
	head, _, err := h.Store().Head(ctx, h.Name())
	if err != nil {
		return nil, err
	}
	m := &assessment{
		folder:   h.Workspace(),
		Latest:   n == head,
		pending:  map[state.BlockID]string{},
		outlines: map[state.Digest]*depgraph.Outline{},
		files:    map[string]state.Digest{},
	}
	if m.Dependencies, err = h.Dependencies(ctx, n); err != nil {
		return nil, err
	}
	m.Snapshot, m.Nodes = m.Dependencies.Snapshot, map[string]*query.Node{}
	for _, p := range m.Dependencies.Nodes {
		m.Nodes[p.Name] = p
	}
	if m.Declared, err = h.Store().Artifacts(ctx, h.Name(), n); err != nil {
		return nil, err
	}
	if m.Checks, err = checksAt(ctx, h, m); err != nil {
		return nil, err
	}
	for step, err := range h.Ancestors(ctx, n) {
		if err != nil {
			return nil, err
		}
		if step.Kind == state.KindRun {
			m.lastRun = step.Number
			break
		}
	}
	if m.lastRun > 0 {
		if m.then, err = h.At(ctx, m.lastRun); err != nil {
			return nil, err
		}
	}
	return m, m.findPending()
}

// Unchecked returns the coverage of blocks, and of the code files of artifacts, that passing checks exercised only in
// part or not at all after step n.
func IncompleteCoverage(ctx context.Context, h *query.History, n state.StepNumber) ([]Coverage, error) {
	m, err := assess(ctx, h, n)
	if err != nil {
		return nil, err
	}
	found := []Coverage{}
	for i := range m.Snapshot.Blocks {
		if c := m.Coverage(&m.Snapshot.Blocks[i]); c.Covered < c.Lines {
			found = append(found, c)
		}
	}
	for _, a := range m.artifacts() {
		for _, f := range a.Files {
			if c, ok := m.FileCoverage(f.Path); ok && a.Kind == state.ArtifactCode && c.Covered < c.Lines {
				found = append(found, c)
			}
		}
	}
	return found, nil
}

// checksAt returns the checks that were known after the step.
func checksAt(ctx context.Context, h *query.History, m *assessment) ([]CheckView, error) {
	kept, err := h.ChecksAt(ctx, m.Snapshot.Step.Number)
	if err != nil {
		return nil, err
	}
	found := []CheckView{}
	for _, c := range kept {
		found = append(
			found,
			CheckView{c, !slices.ContainsFunc(c.Exercised, func(x query.Exercised) bool { return !m.present(x) })},
		)
	}
	asserts, err := asserts(ctx, h, m)
	return append(found, asserts...), err
}
