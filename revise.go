package xstate

import (
	"context"
	"fmt"
	"slices"

	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// CodeUnrecorded is the code of errors about a file with edits that no step records.
const CodeUnrecorded state.Code = "unrecorded-edits"

// Target describes what a patch applies to, in addition to the session.
type Target struct {
	Name    string        // the program file's; "" when there is none
	Path    string        // the file's path from the root
	Data    []byte        // the content of the file
	Block   BlockID       // the block to patch if the patch names none
	Answers *state.Answer // the failure that it answers; nil means the failures of the last run
	// Base is the program that the patch was made from (see query.History.Base); nil means the present program.
	Base  []patch.Block
	Stale Stale // what to do if blocks of Base have changed since

	submitted func([]state.ProgramBlock) *patch.Submitted // set by Exec
}

// Revision is the program that a patch would produce. It is not recorded yet.
type Revision struct {
	Base StepNumber // the step that it applies to
	patch.Revision
	Repeats []Repeat // blocks that were submitted with this text before
	old     []patch.Block
	records map[string]any // session records to write with the first step
}

// Repeat reports that a patch submits a block with a text that the block had before.
type Repeat struct {
	Block  BlockID `json:"block"`
	Times  int     `json:"times"`           // this one included
	Failed string  `json:"error,omitempty"` // how it failed when it was last run with this text
}

// Revise applies a patch to the program, all of it or nothing, and returns the result. It fails if the file has edits
// that are not recorded. Revise records nothing: Record does.
func (s *Session) Revise(ctx context.Context, p *patch.Patch, t Target) (*Revision, error) {
	program, head, err := s.history.Program(ctx)
	if err != nil {
		return nil, err
	}
	on := patch.Subject{Name: t.Name, Path: t.Path, Blocks: query.PatchBlocks(program), Block: string(t.Block),
		Session: s.name}
	if on.Failed, err = s.answered(ctx, program, t.Answers); err != nil {
		return nil, err
	}
	if t.submitted != nil {
		on.Submitted = t.submitted(program)
	}
	if t.Data != nil {
		if on.File, err = patch.Parse(t.Name, t.Data); err != nil {
			return nil, err
		}
		on.Blocks = patch.InFile(on.Blocks)
		if edits := patch.Match(on.Blocks, on.File.Blocks); len(edits) > 0 {
			return nil, &Error{
				Code:    CodeUnrecorded,
				Message: fmt.Sprintf("%s has edits that are not recorded", t.Name),
				Hint:    "`xstate run` records them; then patch again",
			}
		}
	}
	r := &Revision{Base: head, old: on.Blocks}
	stale := t.Base != nil && !slices.Equal(t.Base, on.Blocks)
	if stale {
		on.Blocks = t.Base
		if on.File != nil {
			if on.File, err = s.fileOf(ctx, t); err != nil {
				return nil, err
			}
		}
	}
	done, err := patch.Revise(p, on)
	if err != nil {
		return nil, err
	}
	r.Revision = *done
	if stale {
		if err := s.bringUp(ctx, r, t); err != nil {
			return nil, err
		}
	}
	if t.submitted != nil { // its author learns how the code fails from the result
		return r, nil
	}
	return r, s.countRepeats(ctx, r)
}

// fileOf returns the file with the program that a patch was made from.
func (s *Session) fileOf(ctx context.Context, t Target) (*patch.Program, error) {
	text, err := s.history.TextOf(ctx, t.Base, t.Name, t.Data)
	if err != nil {
		return nil, err
	}
	return patch.Parse(t.Name, text)
}

// bringUp rebases a revision of an older program onto the present one.
func (s *Session) bringUp(ctx context.Context, r *Revision, t Target) (err error) {
	if r.Edits, err = onto(t.Base, r.old, r.Edits, t.Stale); err != nil {
		return err
	}
	if r.Blocks, err = patch.Apply(r.old, r.Edits); err == nil && t.Data != nil {
		r.Text, err = s.history.TextOf(ctx, r.Blocks, t.Name, r.Text) // which has what the patch says of prose
	}
	return err
}

// answered returns the blocks whose failure a patch answers: those that a names, or else those that failed in the last
// run.
func (s *Session) answered(
	ctx context.Context,
	program []state.ProgramBlock,
	a *state.Answer,
) (ids []string, err error) {
	if a != nil && a.Block != "" {
		return []string{string(a.Block)}, nil
	}
	if a != nil {
		if program, err = s.history.ProgramAt(ctx, a.Step); err != nil {
			return nil, err
		}
	}
	for _, b := range program {
		if b.Before.Failed() {
			ids = append(ids, string(b.ID))
		}
	}
	return ids, nil
}

// remembered is the number of steps in which countRepeats searches.
const remembered = 512

// countRepeats finds the blocks that the patch submits with a text that they have or had before.
func (s *Session) countRepeats(ctx context.Context, r *Revision) error {
	texts := map[BlockID]Digest{}
	for _, b := range r.Blocks {
		for _, p := range r.Placements {
			if p.Block == b.ID {
				texts[BlockID(b.ID)] = state.DigestOf([]byte(b.Source))
			}
		}
	}
	if len(texts) == 0 {
		return nil
	}
	steps, err := s.history.StepsBefore(ctx, r.Base+1, remembered)
	if err != nil {
		return err
	}
	times := map[BlockID]int{}
	for _, step := range steps {
		if v, ok := texts[step.Block]; ok && step.Now == v && (step.Was != v || step.Placement != nil) {
			times[step.Block]++
		}
	}
	for _, b := range r.Blocks {
		if n := times[BlockID(b.ID)]; n > 0 {
			r.Repeats = append(r.Repeats, Repeat{Block: BlockID(b.ID), Times: n + 1})
		}
	}
	if len(r.Repeats) == 0 {
		return nil
	}
	now, err := s.history.At(ctx, r.Base)
	if err != nil {
		return err
	}
	for i := range r.Repeats {
		r.Repeats[i].fails(now, texts[r.Repeats[i].Block])
	}
	return nil
}

// fails records how the block fails with its text, if it does.
func (r *Repeat) fails(now *query.Snapshot, version Digest) {
	for _, b := range now.Blocks {
		if b.ID == r.Block && b.Version == version && b.Error != nil {
			r.Failed = b.Error.Type + ": " + b.Error.Message
		}
	}
}

// Record records a revision, all or nothing: a step for each edit, and a step for each block that was submitted
// unchanged. The caller writes Revision.Text to the file. If the program has changed since Revise, Record fails and
// records nothing.
func (s *Session) Record(ctx context.Context, r *Revision, origin Origin) ([]Step, error) {
	drafts, err := s.drafts(ctx, r.Base, r.old, r.Edits, origin)
	if err != nil {
		return nil, err
	}
	if len(drafts) > 0 {
		drafts[0].Records = r.records
	}
	for i := range drafts {
		drafts[i].Placement, drafts[i].Nth = r.placement(BlockID(r.Edits[i].ID)), i
	}
	declare := func(d state.Draft) {
		if d.Kind, d.Origin = state.KindDeclare, origin; len(drafts) > 0 {
			d.Origin = origin.WithoutCost()
		}
		drafts = append(drafts, d)
	}
	for _, t := range r.Texts {
		declare(state.Draft{Text: textRecord(t), Nth: len(drafts)})
	}
	for _, p := range r.Placements {
		if id := BlockID(p.Block); p.Unchanged && id != "" {
			declare(state.Draft{Block: id, Placement: r.placement(id)})
		}
	}
	if len(drafts) == 0 {
		return nil, nil
	}
	return s.store.state.Commit(ctx, s.name, r.Base, drafts)
}

// textRecord returns what a step records of the edit of a text cell.
func textRecord(t patch.TextEdit) *state.TextEdit {
	e := &state.TextEdit{Cell: t.Cell, Type: t.Type, Edit: state.Kind(t.Op), Was: state.Absent, Now: state.Absent}
	if t.Op != patch.OpAppend {
		e.Was = state.DigestOf([]byte(t.Was))
	}
	if t.Op != patch.OpDelete {
		e.Now = state.DigestOf([]byte(t.Now))
	}
	return e
}

// placement returns how the patch found a block: by a section about the block, or about the file that holds it.
func (r *Revision) placement(id BlockID) *state.Placement {
	i := slices.IndexFunc(r.Placements, func(p patch.Placement) bool { return p.Block == string(id) })
	if i < 0 {
		i = slices.IndexFunc(r.Placements, func(p patch.Placement) bool { return p.Block == "" })
	}
	if i < 0 {
		return nil
	}
	p := r.Placements[i]
	out := &state.Placement{Format: string(p.Format)}
	if len(p.Lines) > 0 {
		out.Match = p.Match.String()
	}
	if d := p.Decision; d != nil {
		out.By, out.Score, out.RunnerUp, out.RunnerUpScore = string(d.By), d.Score, BlockID(d.RunnerUp), d.RunnerUpScore
	}
	for _, again := range r.Repeats {
		if again.Block == id {
			out.Times = again.Times
		}
	}
	return out
}

// Diff returns the unified diff of the block of an edit, or "" if the edit does not change its text.
func (r *Revision) Diff(edit int) string {
	e := r.Edits[edit]
	was, now := "", ""
	if e.Op == patch.OpPatch || e.Op == patch.OpDelete {
		i := slices.IndexFunc(r.old, func(b patch.Block) bool { return b.ID == e.ID })
		was = r.old[i].Source
	}
	if e.Op == patch.OpPatch || e.Op == patch.OpAppend {
		now = e.Block.Source
	}
	return query.UnifiedDiff(BlockID(e.ID), was, now)
}
