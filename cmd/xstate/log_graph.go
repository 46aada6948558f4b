package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// ownStep is a step with the session that it is kept for: what a fork shares with its origin is the origin's.
type ownStep struct {
	session state.Session
	query.Entry
}

// logGraph draws the sessions that have an ancestor with this one.
func (a *app) logGraph(ctx context.Context, o *opened, f verb.Log) error {
	family, err := o.store.State().Family(ctx, o.history.Name())
	if err != nil {
		return err
	}
	var steps []ownStep
	for _, s := range family {
		history, err := query.Open(ctx, o.store.State(), s.Name)
		if err != nil {
			return err
		}
		entries, err := history.Log(ctx, 0, countOr(f.Limit, verb.ListedSteps))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if s.From == nil || e.Number > s.From.Step {
				steps = append(steps, ownStep{s, e})
			}
		}
	}
	depth := depths(family)
	slices.SortStableFunc(steps, func(x, y ownStep) int { // a fork's steps come after the step it was forked from
		return cmp.Or(
			y.Time.Compare(x.Time),
			cmp.Compare(depth[y.session.Name], depth[x.session.Name]),
			cmp.Compare(y.Number, x.Number),
		)
	})
	more := len(steps)
	if most := countOr(f.Limit, verb.ListedSteps); most > 0 && len(steps) > most {
		steps = steps[:most]
	}
	if a.ui.JSON {
		return a.ui.Document(graphDocument(o.history.Name(), family, steps))
	}
	a.ui.Table(a.drawn(steps, origins(family)))
	if more > len(steps) {
		a.ui.Talk("%s before these; --limit 0 lists all", term.Plural(more-len(steps), "step"))
	}
	return nil
}

func depths(family []state.Session) map[string]int {
	parents := map[string]*state.ForkPoint{}
	for _, s := range family {
		parents[s.Name] = s.From
	}
	depth := map[string]int{}
	for _, s := range family {
		for from := s.From; from != nil; from = parents[from.Session] {
			depth[s.Name]++
		}
	}
	return depth
}

// origins maps each step that sessions were forked after to their names. The key is the session and number that the
// step is kept under.
func origins(family []state.Session) map[state.ForkPoint][]string {
	points := map[string]*state.ForkPoint{}
	for _, s := range family {
		points[s.Name] = s.From
	}
	found := map[state.ForkPoint][]string{}
	for _, s := range family {
		if s.From == nil {
			continue
		}
		owner := s.From.Session
		for from := points[owner]; from != nil && s.From.Step <= from.Step; from = points[owner] {
			owner = from.Session
		}
		at := state.ForkPoint{Session: owner, Step: s.From.Step}
		found[at] = append(found[at], s.Name)
	}
	return found
}

// drawn draws steps, newest first: a lane for each session, from its last step down to the step after which it was
// forked.
func (c caller) drawn(steps []ownStep, forked map[state.ForkPoint][]string) [][]string {
	var rows [][]string
	var lanes []string
	for _, s := range steps {
		ends := []int{}
		for _, name := range append(forked[state.ForkPoint{Session: s.session.Name, Step: s.Number}], s.session.Name) {
			if i := slices.Index(lanes, name); i >= 0 {
				ends = append(ends, i)
			}
		}
		at := len(lanes)
		if len(ends) > 0 {
			at = slices.Min(ends)
			lanes[at] = s.session.Name
		} else {
			lanes = append(lanes, s.session.Name)
		}
		slices.Sort(ends)
		for _, i := range slices.Backward(ends) {
			if i > at {
				rows = append(
					rows,
					[]string{strings.Repeat("| ", at) + "|/" + strings.Repeat(" |", max(0, len(lanes)-at-2))},
				)
				lanes = slices.Delete(lanes, i, i+1)
			}
		}
		row := c.entryRow(s.Entry)
		lane := strings.Repeat("| ", at) + "*" + strings.Repeat(" |", len(lanes)-at-1)
		rows = append(rows, slices.Insert(row, 0, lane, s.session.Name))
	}
	return rows
}

func graphDocument(session string, family []state.Session, steps []ownStep) api.LogGraph {
	doc := api.LogGraph{
		Version:  api.Version,
		Session:  session,
		Sessions: []api.LogSession{},
		Steps:    []api.LogGraphStep{},
	}
	for _, s := range family {
		doc.Sessions = append(doc.Sessions, api.LogSession{Name: s.Name, From: s.From, Head: s.Head, Hash: s.Hash})
	}
	for _, s := range steps {
		doc.Steps = append(doc.Steps, api.LogGraphStep{Session: s.session.Name, Entry: s.Entry})
	}
	return doc
}
