package xstate

import (
	"context"
	"fmt"
	"strings"

	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
)

// Optimistic locking. Who edits says on what: the program after a step, or the version of a block. Where that has changed
// since, the edits are refused, or, if the caller allows it, merged with what was done, as far as both are of different
// lines. Nothing is overwritten that its writer did not see.

// Stale says what becomes of edits of blocks that have changed since.
type Stale string

const (
	Refuse Stale = ""      // they are refused
	Merge  Stale = "merge" // they are merged, or refused where both are of the same lines
)

// Edit records edits that were made on base, one step each, all or none. Where the blocks that they edit have changed since,
// stale says what is done; refused edits give an error with state.CodeConflict that wraps *MergeError and shows both sides.
func (s *Session) Edit(ctx context.Context, base []patch.Block, edits []patch.Edit, stale Stale, origin Origin) (steps []Step, err error) {
	for range editTries {
		now, head, err := s.history.Blocks(ctx)
		if err != nil {
			return nil, err
		}
		rebased, err := onto(base, now, edits, stale)
		if err != nil {
			return nil, err
		}
		if steps, err = s.commit(ctx, head, now, rebased, origin); state.CodeOf(err) != state.CodeConflict {
			return steps, err
		}
	}
	return nil, &Error{Code: state.CodeConflict, Message: "the program changes faster than it can be edited", Hint: "try again"}
}

// editTries is how often an edit is made anew because another one, or a run, was recorded at the same moment.
const editTries = 64

// onto returns edits that were made on base as edits of now.
func onto(base, now []patch.Block, edits []patch.Edit, stale Stale) ([]patch.Edit, error) {
	if stale == Refuse {
		if found := changedSince(base, now, edits); found != nil {
			return nil, conflict("the edits were made on a program that has changed since", "look at both sides, then edit the program as it is, or allow a merge with --merge", found)
		}
	}
	rebased, conflicts, err := patch.Rebase(base, now, patch.Renamed(edits, now))
	if err != nil {
		return nil, &Error{Code: state.CodeInvalid, Message: "the edits do not fit the program that they were made on", Err: err}
	}
	if conflicts != nil {
		return nil, conflict("the edits do not go together with those made since", "look at both sides, then edit the program as it is; nothing was changed", conflicts)
	}
	return rebased, nil
}

// changedSince returns the edits of blocks that are not what they were, with the whole of both sides.
func changedSince(base, now []patch.Block, edits []patch.Edit) []patch.Conflict {
	was, is := map[string]patch.Block{}, map[string]patch.Block{}
	for _, b := range base {
		was[b.ID] = b
	}
	for _, b := range now {
		is[b.ID] = b
	}
	var found []patch.Conflict
	for _, e := range edits {
		b, known := was[e.ID]
		if n, there := is[e.ID]; known && (!there || n.Source != b.Source) {
			c := patch.Conflict{ID: e.ID, Op: e.Op, Why: patch.WhyDeleted, Clashes: []patch.Clash{}}
			if there {
				c.Why = patch.WhyEdited
				c.Clashes = append(c.Clashes, patch.Clash{Line: 1, Base: b.Source, Ours: n.Source, Theirs: e.Block.Source})
			}
			found = append(found, c)
		}
	}
	return found
}

// MergeFile is LoadFile for a file that was made from the program after step from: its edits are merged with those made since.
// It returns what the file is to hold then.
func (s *Session) MergeFile(ctx context.Context, from StepNumber, name string, data []byte, origin Origin) (steps []Step, text []byte, err error) {
	file, err := patch.Parse(name, data)
	if err != nil {
		return nil, nil, err
	}
	base, err := s.history.ProgramFrom(ctx, from)
	if err != nil {
		return nil, nil, err
	}
	edits := patch.Match(base, file.Blocks)
	if len(edits) > 0 {
		if steps, err = s.Edit(ctx, base, edits, Merge, origin); err != nil {
			return nil, nil, err
		}
	}
	now, _, err := s.history.Blocks(ctx)
	if err != nil {
		return nil, nil, err
	}
	text, err = file.With(patch.Identify(now, file.Blocks), now)
	return steps, text, err
}

// MergeError says which edits do not go together with what the program has become. Errors of state.CodeConflict wrap it.
type MergeError struct {
	Conflicts []patch.Conflict
}

func (e *MergeError) Error() string {
	var list []string
	for _, c := range e.Conflicts {
		list = append(list, whyText(c))
	}
	return strings.Join(list, "; ")
}

func whyText(c patch.Conflict) string {
	switch c.Why {
	case patch.WhyDeleted:
		return fmt.Sprintf("block %s was deleted", c.ID)
	case patch.WhyExists:
		return fmt.Sprintf("there is another block %s", c.ID)
	case patch.WhyMoved:
		return fmt.Sprintf("block %s was moved", c.ID)
	}
	return fmt.Sprintf("block %s was edited", c.ID)
}

func conflict(message, hint string, conflicts []patch.Conflict) error {
	return &Error{Code: state.CodeConflict, Message: message, Hint: hint, Err: &MergeError{conflicts}}
}
