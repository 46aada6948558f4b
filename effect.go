package xstate

import (
	"context"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Effect tells what a run as planned makes of what the program did before.
func (s *Session) Impact(ctx context.Context, plan *Plan) (*query.Impact, error) {
	program, _, err := s.history.Program(ctx)
	if err != nil {
		return nil, err
	}
	made, err := s.history.Made(program)
	if err != nil {
		return nil, err
	}
	blocks, err := plan.Blocks(ctx)
	if err != nil {
		return nil, err
	}
	e := &query.Impact{Lost: []query.Lost{}, Fires: []query.RepeatedEffect{}}
	will := map[Key]bool{}
	for i := range blocks {
		b := &blocks[i]
		for j := range b.Nodes {
			willMake(&b.Nodes[j], will)
			e.Fires = append(e.Fires, firings(&b.Nodes[j], query.NodeName(b.ID, j, len(b.Nodes)))...)
		}
	}
	e.Lost = query.LostKeys(made, func(k Key) bool { return will[k] })
	return e, nil
}

// willMake adds what a node makes or may make, and takes away what it takes away.
func willMake(n *runner.PlanNode, will map[Key]bool) {
	if n.Action == runner.ActBlock {
		return
	}
	if n.Last != nil && n.Last.Err == nil {
		for _, w := range n.Last.Writes {
			if query.IsMade(w.Key) && (n.Last.Code == n.Code || w.Key.Space() == "file") {
				will[w.Key] = w.Digest != state.Absent
			}
		}
	}
	if n.Action == runner.ActReuse {
		return
	}
	for _, name := range n.Facts.Deletes {
		delete(will, depgraph.Var(name))
	}
	for _, name := range n.Facts.Defines {
		will[depgraph.Var(name)] = true
	}
	for _, f := range n.Facts.Effects {
		if f.Kind == depgraph.EffectFile && f.Arg != "" {
			will[Key("file:"+f.Arg)] = true
		}
	}
}

// firings are the effects of a node that is to run.
func firings(n *runner.PlanNode, name string) []query.RepeatedEffect {
	if n.Action != runner.ActRun && n.Action != runner.ActMaybe {
		return nil
	}
	var found []query.RepeatedEffect
	add := func(effect, evidence string) {
		if !slices.ContainsFunc(found, func(f query.RepeatedEffect) bool { return f.Effect == effect }) {
			found = append(found, query.RepeatedEffect{Node: name, Action: n.Action, Effect: effect, Evidence: evidence})
		}
	}
	if n.Last != nil {
		evidence := "observed"
		if n.Last.Code != n.Code {
			evidence = "former"
		}
		for _, effect := range query.OutsideEffects(n.Last.Marks, n.Last.Writes) {
			add(effect, evidence)
		}
	}
	for _, f := range n.Facts.Effects {
		if f.Kind == depgraph.EffectNetwork || f.Kind == depgraph.EffectSubprocess {
			add(string(f.Kind), "predicted")
		}
	}
	return found
}
