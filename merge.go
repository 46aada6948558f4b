package xstate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/patch/diff"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Locking is optimistic. An editor names what it edits: the program after a step, or the version of a block. If that
// has changed since, the session refuses the edits, or merges them if the caller allows it and both sides changed
// different lines. So no edit overwrites text that its author has not seen.

// Stale selects what happens to edits of blocks that have changed since the edits were made.
type Stale string

const (
	// Refuse makes the session refuse these edits.
	Refuse Stale = ""
	// Merge makes the session merge them, and refuse those that change the same lines.
	Merge Stale = "merge"
)

// Edit records edits that were made on base, one step each, all or none. If the blocks that they edit have changed
// since, stale selects what happens. For refused edits the error has state.CodeConflict, wraps *MergeError and shows
// both sides.
func (s *Session) Edit(
	ctx context.Context,
	base []patch.Block,
	edits []patch.Edit,
	stale Stale,
	origin Origin,
) (steps []Step, err error) {
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
	return nil, &Error{
		Code:    state.CodeConflict,
		Message: "the program changes faster than it can be edited",
		Hint:    "try again",
	}
}

// editTries bounds how often Edit tries again after another edit or a run was recorded in between.
const editTries = 64

// onto rebases edits that were made on base, so that they apply to now.
func onto(base, now []patch.Block, edits []patch.Edit, stale Stale) ([]patch.Edit, error) {
	if stale == Refuse {
		if found := changedSince(base, now, edits); found != nil {
			return nil, conflict(
				"the edits were made on a program that has changed since",
				"look at both sides, then edit the program as it is, or allow a merge with `--merge`",
				found,
			)
		}
	}
	rebased, conflicts, err := patch.Rebase(base, now, patch.Renamed(edits, now))
	if err != nil {
		return nil, &Error{
			Code:    state.CodeInvalid,
			Message: "the edits do not fit the program that they were made on",
			Err:     err,
		}
	}
	if conflicts != nil {
		return nil, conflict(
			"the edits conflict with edits made since",
			"look at both sides, then edit the program as it is; nothing was changed",
			conflicts,
		)
	}
	return rebased, nil
}

// changedSince returns a conflict, with the whole of both sides, for each edit of a block that has changed.
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
			c := patch.Conflict{ID: e.ID, Op: e.Op, Why: patch.WhyDeleted, Clashes: []diff.Clash{}}
			if there {
				c.Why = patch.WhyEdited
				c.Clashes = append(
					c.Clashes,
					diff.Clash{Line: 1, Base: b.Source, Ours: n.Source, Theirs: e.Block.Source},
				)
			}
			found = append(found, c)
		}
	}
	return found
}

// MergeFile is LoadFile for a file that was made from the program after step from. It merges the file's edits with
// those made since and returns the text that the file should have.
func (s *Session) MergeFile(
	ctx context.Context,
	from StepNumber,
	name string,
	data []byte,
	origin Origin,
) (steps []Step, text []byte, err error) {
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

// MergeError lists the edits that conflict with the present program. Errors with state.CodeConflict wrap it.
type MergeError struct {
	Conflicts []patch.Conflict
}

// Error returns the reasons of all conflicts.
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

// ImportLibraries starts the interpreter of a session that has none, and imports the libraries that its program has
// imported, for its next run. It executes nothing of the program, and does nothing while another process runs it.
func (s *Session) ImportLibraries(ctx context.Context) error {
	release, err := s.Hold(state.WithWait(ctx, -1))
	if err != nil {
		return err
	}
	defer release()
	if err := s.start(ctx); err != nil {
		return err
	}
	if err := s.setFiles(ctx); err != nil {
		return err
	}
	program, _, err := s.history.Program(ctx)
	if err != nil {
		return err
	}
	return s.engine.ImportLibraries(ctx, program)
}

// Fork creates a session whose history begins with this session's steps up to n. Its cost does not grow with the
// history.
func (s *Session) Fork(ctx context.Context, name string, n StepNumber, origin Origin) (state.Session, error) {
	return s.store.state.Fork(ctx, name, s.name, n, origin)
}

// Rollback restores the program, with its recorded outcomes, as it was after step n. It is a new step and erases
// nothing, so a rollback to the step before it reverts it.
func (s *Session) Rollback(ctx context.Context, n StepNumber, origin Origin) (Step, error) {
	head, _, err := s.store.state.Head(ctx, s.name)
	if err != nil {
		return Step{}, err
	}
	steps, err := s.store.state.Commit(
		ctx,
		s.name,
		head,
		[]state.Draft{{Kind: state.KindRollback, To: n, Origin: origin}},
	)
	if err != nil {
		return Step{}, err
	}
	return steps[0], nil
}

// Which selects edits to undo: those of the steps First to Last, or of all steps if both are 0. If Agent is set, it
// selects only edits by that agent. If Newest is set, it selects the newest of them that is in effect and is not an
// undo, together with the other edits of the same patch.
type Which struct {
	First, Last StepNumber
	Agent       string
	Newest      bool
}

// Undoing is the result of PlanUndo. It is not recorded until Session.Undo.
type Undoing struct {
	Steps  []StepNumber  // the edits that it reverts, newest first
	Blocks []patch.Block // the program without them

	head   StepNumber
	old    []patch.Block
	edits  []patch.Edit
	undoes []StepNumber // by edit

	artifacts []state.Draft // that revert declarations
}

// CodeNothing is the code of errors about an undo that has nothing to revert.
const CodeNothing state.Code = "nothing-to-undo"

// PlanUndo computes the program without the selected edits and with all others that are in effect. It merges the
// inverse of each edit, newest first, three ways with later changes of its blocks. If a later edit changed the same
// lines, the error has state.CodeConflict and wraps *MergeError. An edit is not in effect if an undo reverted it or a
// rollback went back behind it.
func (s *Session) PlanUndo(ctx context.Context, w Which) (*Undoing, error) {
	old, head, err := s.history.Blocks(ctx)
	if err != nil {
		return nil, err
	}
	u := &Undoing{head: head, old: old, Blocks: old}
	if u.Steps, err = s.undoable(ctx, head, w); err != nil {
		return nil, err
	}
	for _, n := range u.Steps {
		if err := s.takeBack(ctx, u, n); err != nil {
			return nil, err
		}
	}
	if len(u.edits)+len(u.artifacts) == 0 {
		return nil, &Error{
			Code:    CodeNothing,
			Message: "what these edits did is gone already",
			Hint:    "`xstate blame BLOCK` tells which edits wrote what is there",
		}
	}
	return u, nil
}

// undoable returns the selected edits that are in effect, newest first.
func (s *Session) undoable(ctx context.Context, head StepNumber, w Which) ([]StepNumber, error) {
	var found []StepNumber
	undone, texts := map[StepNumber]bool{}, map[BlockID]Step{}
	first := w.First
	for step, err := range s.history.Ancestors(ctx, head) {
		if err != nil {
			return nil, err
		}
		n := step.Number
		if n < first {
			break
		}
		if !undone[n] && step.Undoes > 0 {
			undone[step.Undoes] = true
		}
		meant := (w.First == 0 && w.Last == 0 || w.First <= n && n <= w.Last) &&
			(w.Agent == "" || w.Agent == step.Origin.Agent)
		if meant && w.Agent != "" && step.Undoes > 0 { // an agent that took back its own edit has neither in effect
			of, err := s.history.Step(ctx, step.Undoes)
			if err != nil {
				return nil, err
			}
			meant = of.Origin.Agent != w.Agent
		}
		if w.First > 0 && step.Undoes >= w.First && n > w.First { // nor has a range an edit and what took it back
			meant = false
		}
		if w.Newest && step.Undoes > 0 {
			meant = false
		}
		if t := step.Text; t != nil {
			if texts[BlockID(t.Cell)] = step; meant && w.Newest && len(found) == 0 && step.Nth == 0 {
				return nil, textAlone(step)
			}
		}
		if meant && (query.IsEdit(step.Kind) || step.Declared != nil) && !undone[n] {
			if t, is := texts[step.Block]; is && t.Number-StepNumber(t.Nth) <= n {
				return nil, otherType(step)
			}
			found = append(found, n)
			if w.Newest && len(found) == 1 {
				first = n - StepNumber(step.Nth) // the patch began there
			}
		}
	}
	if len(found) == 0 {
		return nil, s.nothing(ctx, head, w)
	}
	return found, nil
}

// textAlone is the error of an undo of the last edit where that is one of a text of a notebook, which is in the file
// alone.
func textAlone(step Step) error {
	return &Error{
		Code: CodeNothing,
		Message: fmt.Sprintf("the last edit, step %d, changed the text cell %s, and no text is recorded", step.Number,
			step.Text.Cell),
		Hint: "edit the cell again; to take back the edit before it, name its step",
	}
}

// otherType is the error of an undo of an edit that made a cell of a notebook code, or text.
func otherType(step Step) error {
	return &Error{
		Code: CodeNothing,
		Message: fmt.Sprintf("step %d changed the cell %s between code and text, and no text is recorded", step.Number,
			step.Block),
		Hint: "edit the cell again, with its former type and source; nothing was changed",
	}
}

// nothing returns the error that explains why there is nothing to undo.
func (s *Session) nothing(ctx context.Context, head StepNumber, w Which) error {
	e := &Error{
		Code:    CodeNothing,
		Message: "none of these steps is an edit that is in effect",
		Hint:    "`xstate log` lists the steps; what was undone, or lies behind a rollback, is not in effect",
	}
	if w.First != w.Last || w.First == 0 {
		if w.Agent != "" {
			e.Message = fmt.Sprintf("no edit by agent %q is in effect", w.Agent)
		} else if w.Newest {
			e.Message = "no edit is in effect"
		}
		return e
	}
	if w.First > head {
		return &Error{
			Code:    state.CodeNoStep,
			Message: fmt.Sprintf("session %q has no step %d", s.name, w.First),
			Hint:    fmt.Sprintf("its last step is %d", head),
		}
	}
	step, err := s.history.Step(ctx, w.First)
	switch {
	case err != nil:
		return err
	case step.Kind == state.KindRollback:
		e.Message, e.Hint = fmt.Sprintf(
			"step %d is a rollback",
			w.First,
		), fmt.Sprintf(
			"`xstate rollback --to-step %d` takes it back",
			w.First-1,
		)
	case !query.IsEdit(step.Kind) && step.Declared == nil:
		e.Message = fmt.Sprintf("step %d is no edit, but a %s", w.First, step.Kind)
	default:
		e.Message = fmt.Sprintf("step %d is not in effect: it was undone, or lies behind a rollback", w.First)
	}
	return e
}

// takeBack removes one edit from the program that u has so far.
func (s *Session) takeBack(ctx context.Context, u *Undoing, n StepNumber) error {
	before, err := s.history.ProgramAt(ctx, n-1)
	if err != nil {
		return err
	}
	after, err := s.history.ProgramAt(ctx, n)
	if err != nil {
		return err
	}
	step, err := s.history.Step(ctx, n)
	if err != nil {
		return err
	}
	if step.Declared != nil {
		return s.takeBackArtifact(ctx, u, step)
	}
	base := query.PatchBlocks(after)
	edits, conflicts, err := patch.Rebase(base, u.Blocks, inverse(step, query.PatchBlocks(before)))
	if err != nil {
		return err
	}
	if conflicts != nil {
		return conflict(
			fmt.Sprintf("step %d cannot be taken back", n),
			"a later edit is in the way: undo that one, too (its step, the range, or its agent), or edit by hand; "+
				"nothing was changed",
			conflicts,
		)
	}
	if u.Blocks, err = patch.Apply(u.Blocks, edits); err != nil {
		return err
	}
	for _, e := range edits {
		u.edits, u.undoes = append(u.edits, e), append(u.undoes, n)
	}
	return nil
}

// takeBackArtifact restores the declaration that an artifact had before a step. It fails if a later step declared or
// dropped the artifact.
func (s *Session) takeBackArtifact(ctx context.Context, u *Undoing, step Step) error {
	name := step.Declared.Name
	now, err := s.store.state.Artifacts(ctx, s.name, u.head)
	if err != nil {
		return err
	}
	for _, d := range u.artifacts { // reverted before this one
		now = d.ApplyTo(now)
	}
	if !now.Artifact(name).SameDeclaration(step.Declared.Artifact(name)) {
		return &Error{
			Code: state.CodeConflict,
			Message: fmt.Sprintf(
				"step %d cannot be taken back: the artifact %q was declared or dropped again since",
				step.Number,
				name,
			),
			Hint: "undo that step, too, or declare the artifact as it is to be; nothing was changed",
		}
	}
	before, err := s.store.state.Artifacts(ctx, s.name, step.Number-1)
	if err != nil {
		return err
	}
	d := state.Draft{Kind: state.KindDeclare, Undoes: step.Number, Artifact: before.Artifact(name)}
	if d.Artifact == nil {
		d.Drop = name
	}
	u.artifacts = append(u.artifacts, d)
	return nil
}

// inverse returns the edits that revert a step, given the program before it.
func inverse(step Step, before []patch.Block) []patch.Edit {
	i := slices.IndexFunc(before, func(b patch.Block) bool { return b.ID == string(step.Block) })
	e := patch.Edit{ID: string(step.Block)}
	if i >= 0 {
		e.Block = before[i]
	}
	if i > 0 {
		e.After = before[i-1].ID
	}
	switch step.Kind {
	case state.KindAppend:
		e.Op = patch.OpDelete
	case state.KindDelete:
		e.Op = patch.OpAppend
	case state.KindPatch:
		e.Op = patch.OpPatch
	case state.KindMove:
		e.Op = patch.OpMove
	}
	return []patch.Edit{e}
}

// Undo records the result of PlanUndo, one step for each block that loses an edit. It fails with state.CodeConflict if
// the program has changed since. Undo executes nothing; the next run finds results by content.
func (s *Session) Undo(ctx context.Context, u *Undoing, origin Origin) ([]Step, error) {
	drafts, err := s.drafts(ctx, u.head, u.old, u.edits, origin)
	if err != nil {
		return nil, err
	}
	for i := range drafts {
		drafts[i].Undoes = u.undoes[i]
	}
	for _, d := range u.artifacts {
		d.Origin = origin
		if len(drafts) > 0 {
			d.Origin = origin.WithoutCost()
		}
		drafts = append(drafts, d)
	}
	return s.store.state.Commit(ctx, s.name, u.head, drafts)
}

// Changes returns the blocks that the undo changes.
func (u *Undoing) Changes() []query.BlockChange {
	return query.SnapshotOf(u.old).Diff(query.SnapshotOf(u.Blocks))
}
