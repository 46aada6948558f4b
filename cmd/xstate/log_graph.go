package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/state"
)

// ownStep is a step with the session that it is kept for: what a fork shares with its origin is the origin's.
type ownStep struct {
	session state.Session
	xstate.Entry
}

// logGraph draws the sessions that have an ancestor with this one.
func (a *app) logGraph(ctx context.Context, o *opened, f logFlags) error {
	family, err := o.store.Family(ctx, o.session.Name())
	if err != nil {
		return err
	}
	var steps []ownStep
	for _, s := range family {
		session, err := o.store.Existing(ctx, s.Name, xstate.SessionOptions{})
		if err != nil {
			return err
		}
		entries, err := session.Log(ctx, 0, max(f.limit, 0))
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
		return cmp.Or(y.Time.Compare(x.Time), cmp.Compare(depth[y.session.Name], depth[x.session.Name]), cmp.Compare(y.Number, x.Number))
	})
	more := len(steps)
	if f.limit > 0 && len(steps) > f.limit {
		steps = steps[:f.limit]
	}
	if a.ui.json {
		return a.ui.document(graphDocument(o.session.Name(), family, steps))
	}
	a.ui.write(columns(drawn(steps)))
	if more > len(steps) {
		a.ui.talk("%s before these; --limit 0 lists all", plural(more-len(steps), "step"))
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

// drawn draws steps, newest first: a lane for each session, from its last step down to where it was forked.
func drawn(steps []ownStep) [][]string {
	var rows [][]string
	var lanes []string
	for _, s := range steps {
		at := slices.Index(lanes, s.session.Name)
		if at < 0 {
			at = len(lanes)
			lanes = append(lanes, s.session.Name)
		}
		row := entryRow(s.Entry)
		row[0] = strings.Repeat("| ", at) + "* " + strings.Repeat("| ", len(lanes)-at-1) + " " + row[0]
		rows = append(rows, slices.Insert(row, 1, s.session.Name))
		if s.session.From == nil || s.Number != s.session.From.Step+1 {
			continue
		}
		if slices.Contains(lanes, s.session.From.Session) {
			rows = append(rows, []string{strings.Repeat("| ", at) + "/ " + strings.Repeat("/ ", len(lanes)-at-1)})
			lanes = slices.Delete(lanes, at, at+1)
		} else {
			lanes[at] = s.session.From.Session // nothing came after the fork there: it goes on in this lane
		}
	}
	return rows
}

type familyDocument struct {
	Name string            `json:"name"`
	From *state.ForkPoint  `json:"from,omitempty"`
	Head xstate.StepNumber `json:"head"`
	Hash xstate.Digest     `json:"hash"`
}

type familyStep struct {
	Session string `json:"session"`
	xstate.Entry
}

func graphDocument(session string, family []state.Session, steps []ownStep) any {
	doc := struct {
		Version  int              `json:"version"`
		Session  string           `json:"session"`
		Sessions []familyDocument `json:"sessions"`
		Steps    []familyStep     `json:"steps"`
	}{1, session, []familyDocument{}, []familyStep{}}
	for _, s := range family {
		doc.Sessions = append(doc.Sessions, familyDocument{s.Name, s.From, s.Head, s.Hash})
	}
	for _, s := range steps {
		doc.Steps = append(doc.Steps, familyStep{s.session.Name, s.Entry})
	}
	return doc
}
