package query

import (
	"context"
	"slices"
	"time"

	"github.com/xstate-engine/xstate/patch/diff"
	"github.com/xstate-engine/xstate/state"
)

// Entry is a step as people read it: without its changes, with the numbers of lines that it added and removed.
type Entry struct {
	Number  state.StepNumber  `json:"step"`
	Time    time.Time         `json:"time,omitzero"`
	Kind    state.Kind        `json:"kind,omitempty"`
	Block   state.BlockID     `json:"block,omitempty"`
	Was     state.Digest      `json:"was,omitempty"` // version of the block before
	Now     state.Digest      `json:"now,omitempty"` // version of the block after
	Added   int               `json:"added,omitempty"`
	Removed int               `json:"removed,omitempty"`
	Origin  state.Origin      `json:"origin"`
	Run     *state.RunSummary `json:"run,omitempty"`
	To      state.StepNumber  `json:"to,omitempty"`     // for a rollback
	Undoes  state.StepNumber  `json:"undoes,omitempty"` // the edit that this one takes back
	From    *state.ForkPoint  `json:"from,omitempty"`   // for a fork
	Hash    state.Digest      `json:"hash,omitempty"`

	Verified  *state.Verification `json:"verified,omitempty"`  // for a step that records what run --verify found
	Tested    *state.Testing      `json:"tested,omitempty"`    // for a step that records the outcome of tests
	Applied   *state.Application  `json:"applied,omitempty"`   // for a step that records what apply moved
	Repeated  *state.Repetition   `json:"repeated,omitempty"`  // for a step that records verify's findings on a block
	Text      *state.TextEdit     `json:"text,omitempty"`      // for a step that records a change of a text cell
	Placement *state.Placement    `json:"placement,omitempty"` // for a step that a patch made: how it found the block
	Decided   *state.CallDecision `json:"decided,omitempty"`   // for a step that records a person's decision on a call
	Artifact  *ArtifactChange     `json:"artifact,omitempty"`  // for a step that declared or dropped an artifact
}

// ArtifactChange is what a step recorded of an artifact.
type ArtifactChange struct {
	Name    string             `json:"name"`
	Kind    state.ArtifactKind `json:"kind,omitempty"`
	Dropped bool               `json:"dropped,omitempty"`
}

// Log returns steps of the session, newest first: at most limit steps before step before. 0 means no limit, and the
// newest step.
func (h *History) Log(ctx context.Context, before state.StepNumber, limit int) ([]Entry, error) {
	entries, _, err := h.FilteredLog(ctx, StepFilter{}, before, limit)
	return entries, err
}

// IsEdit reports whether a step edited the program, rather than running it, going back or saying something of it.
func IsEdit(k state.Kind) bool {
	switch k {
	case state.KindAppend, state.KindPatch, state.KindMove, state.KindDelete:
		return true
	}
	return false
}

// StepFilter selects steps. A field with its zero value selects all.
type StepFilter struct {
	Agent string
	Kind  state.Kind // AnyEdit: an append, patch, move or delete
}

// AnyEdit is the kind of a StepFilter for edits.
const AnyEdit state.Kind = "edit"

func (f StepFilter) selects(s *state.Step) bool {
	return (f.Agent == "" || s.Origin.Agent == f.Agent) &&
		(f.Kind == "" || s.Kind == f.Kind || f.Kind == AnyEdit && IsEdit(s.Kind))
}

// FilteredLog is Log with a filter. more: steps before the last one may be selected, too.
func (h *History) FilteredLog(
	ctx context.Context, f StepFilter, before state.StepNumber, limit int,
) (entries []Entry, more bool, err error) {
	entries = []Entry{}
	page := pageOfSteps
	if f == (StepFilter{}) {
		page = limit
	}
	for {
		steps, err := h.StepsBefore(ctx, before, page)
		if err != nil {
			return nil, false, err
		}
		for i := range steps {
			before = steps[i].Number
			if !f.selects(&steps[i]) {
				continue
			}
			e, err := h.EntryOf(ctx, steps[i])
			if err != nil {
				return nil, false, err
			}
			if entries = append(entries, e); len(entries) == limit {
				return entries, before > 1, nil
			}
		}
		if len(steps) == 0 || before == 1 {
			return entries, false, nil
		}
	}
}

// StepsBefore is Log without the fields of an entry that need more than the step itself. Those cost one diff a step.
func (h *History) StepsBefore(ctx context.Context, before state.StepNumber, limit int) ([]state.Step, error) {
	last, _, err := h.store.Head(ctx, h.name)
	if err != nil {
		return nil, err
	}
	if before > 0 {
		last = min(last, before-1)
	}
	from := state.StepNumber(1)
	if limit > 0 && last > state.StepNumber(limit) {
		from = last - state.StepNumber(limit) + 1
	}
	var steps []state.Step
	if last == 0 {
		return nil, nil
	}
	for step, err := range h.store.Steps(ctx, h.name, from, last) {
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	slices.Reverse(steps)
	return steps, nil
}

// entryOf returns the fields of an entry that the step itself holds.
func entryOf(step state.Step) Entry {
	e := Entry{Number: step.Number, Time: step.Time, Kind: step.Kind, Block: step.Block, Was: step.Was, Now: step.Now,
		Origin: step.Origin, Run: step.Run, To: step.To, Undoes: step.Undoes, Hash: step.Hash, Verified: step.Verified,
		Repeated: step.Repeated, Tested: step.Tested, Applied: step.Applied, Text: step.Text, Placement: step.Placement,
		Decided: step.Decided}
	if d := step.Declared; d != nil {
		e.Artifact = &ArtifactChange{Name: d.Name, Dropped: true}
		if a := d.Artifact(d.Name); a != nil {
			e.Artifact.Kind, e.Artifact.Dropped = a.Kind, false
		}
	}
	return e
}

// EntryOf returns the log entry of a step, with the numbers of lines that it added and removed.
func (h *History) EntryOf(ctx context.Context, step state.Step) (Entry, error) {
	e := entryOf(step)
	if step.Kind == state.KindFork {
		return e, h.forkPoint(ctx, &e)
	}
	if e.Was == e.Now {
		return e, nil
	}
	was, err := h.Source(ctx, e.Was)
	if err != nil {
		return e, err
	}
	now, err := h.Source(ctx, e.Now)
	e.Added, e.Removed = diff.Stat(was, now)
	return e, err
}

// forkPoint fills in where the history begins with the step of e: in this session, or in an ancestor that it was forked
// from.
func (h *History) forkPoint(ctx context.Context, e *Entry) error {
	for from := h.meta.From; from != nil; {
		if from.Step == e.Number-1 {
			e.From = from
			return nil
		}
		parent, err := h.store.Session(ctx, from.Session)
		if err != nil {
			return err
		}
		from = parent.From
	}
	return nil
}

// pageOfSteps is how many steps are read at once.
const pageOfSteps = 512
