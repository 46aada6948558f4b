package xstate

import (
	"context"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Append adds a block after the block after, or at the end when after is empty. An empty id is filled in.
func (s *Session) Append(ctx context.Context, b patch.Block, after BlockID, origin Origin) (Step, error) {
	head, _, err := s.store.state.Head(ctx, s.name)
	if err != nil {
		return Step{}, err
	}
	if b.ID == "" {
		order, err := s.store.state.BlockOrder(ctx, s.name, head)
		if err != nil {
			return Step{}, err
		}
		taken := make([]string, len(order))
		for i, id := range order {
			taken[i] = string(id)
		}
		b.ID = patch.Names([]patch.Block{b}, taken...)[0]
	}
	if after == "" {
		if after, err = s.store.state.LastBlock(ctx, s.name, head); err != nil {
			return Step{}, err
		}
	}
	return s.one(ctx, head, patch.Edit{Op: patch.OpAppend, ID: b.ID, After: string(after), Block: b}, origin)
}

// Patch gives a block a new source.
func (s *Session) Patch(ctx context.Context, id BlockID, source string, origin Origin) (Step, error) {
	head, b, err := s.block(ctx, id)
	if err != nil {
		return Step{}, err
	}
	next := patch.Block{ID: string(id), Title: b.Title, Dialect: string(b.Dialect), Source: source}
	return s.one(ctx, head, patch.Edit{Op: patch.OpPatch, ID: string(id), Block: next, By: patch.ByID}, origin)
}

// Move puts a block after another one, or first when after is empty.
func (s *Session) Move(ctx context.Context, id, after BlockID, origin Origin) (Step, error) {
	head, _, err := s.block(ctx, id)
	if err != nil {
		return Step{}, err
	}
	return s.one(ctx, head, patch.Edit{Op: patch.OpMove, ID: string(id), After: string(after)}, origin)
}

// Delete removes a block.
func (s *Session) Delete(ctx context.Context, id BlockID, origin Origin) (Step, error) {
	head, _, err := s.block(ctx, id)
	if err != nil {
		return Step{}, err
	}
	return s.one(ctx, head, patch.Edit{Op: patch.OpDelete, ID: string(id)}, origin)
}

// block returns a block of the program as it is now.
func (s *Session) block(ctx context.Context, id BlockID) (StepNumber, *state.Block, error) {
	head, _, err := s.store.state.Head(ctx, s.name)
	if err != nil {
		return 0, nil, err
	}
	b, found, err := s.store.state.BlockAt(ctx, s.name, head, id)
	if err == nil && !found {
		var all []patch.Block
		if all, _, err = s.history.Blocks(ctx); err == nil {
			err = s.history.NoBlock(id, all)
		}
	}
	return head, &b, err
}

// Load makes the program that of blocks (a file read again): what stayed keeps its id, and every difference is a
// step of its own: patch, move, append or delete. Nothing is executed.
func (s *Session) Load(ctx context.Context, blocks []patch.Block, origin Origin) ([]Step, error) {
	edits, old, head, err := s.history.Compare(ctx, blocks)
	if err != nil || len(edits) == 0 {
		return nil, err
	}
	return s.commit(ctx, head, old, edits, origin)
}

// one records an edit of the program after step head. It looks at the blocks that are concerned, and no others.
func (s *Session) one(ctx context.Context, head StepNumber, e patch.Edit, origin Origin) (Step, error) {
	var near []patch.Block
	for _, id := range []string{e.ID, e.After} {
		b, found, err := s.store.state.BlockAt(ctx, s.name, head, BlockID(id))
		if err != nil {
			return Step{}, err
		}
		if found && !slices.Contains(query.IDs(near), id) {
			near = append(near, patch.Block{ID: id, Title: b.Title, Dialect: string(b.Dialect)})
		}
	}
	steps, err := s.commit(ctx, head, near, []patch.Edit{e}, origin)
	if err != nil {
		return Step{}, err
	}
	return steps[0], nil
}

// commit records edits, one step each, in one transaction. What a call cost goes with the first.
func (s *Session) commit(ctx context.Context, head StepNumber, old []patch.Block, edits []patch.Edit, origin Origin) ([]Step, error) {
	drafts, err := s.drafts(ctx, head, old, edits, origin)
	if err != nil {
		return nil, err
	}
	return s.store.state.Commit(ctx, s.name, head, drafts)
}

// drafts are the steps that edits of the program after step head become. old are its blocks, or those that the edits concern.
func (s *Session) drafts(ctx context.Context, head StepNumber, old []patch.Block, edits []patch.Edit, origin Origin) ([]state.Draft, error) {
	if _, err := patch.Apply(old, edits); err != nil {
		return nil, &Error{Code: state.CodeInvalid, Message: "the edits do not fit the program", Err: err}
	}
	drafts := make([]state.Draft, 0, len(edits))
	for _, e := range edits {
		before, found, err := s.store.state.BlockAt(ctx, s.name, head, BlockID(e.ID))
		if err != nil {
			return nil, err
		}
		d := draft(e, origin, nil)
		if found {
			d = draft(e, origin, &before)
		}
		drafts = append(drafts, d)
		origin = origin.WithoutCost()
	}
	return drafts, nil
}

// draft is the step that an edit becomes. A patched block keeps the outcome of its last run, of the version before:
// that is what tells, at the next run, why it must run.
func draft(e patch.Edit, origin Origin, before *state.Block) state.Draft {
	d := state.Draft{Origin: origin}
	block := &state.Block{ID: BlockID(e.ID), Title: e.Block.Title, Dialect: depgraph.Dialect(e.Block.Dialect), Version: state.DigestOf([]byte(e.Block.Source))}
	switch e.Op {
	case patch.OpAppend:
		d.Kind, d.Sources = state.KindAppend, [][]byte{[]byte(e.Block.Source)}
		d.Changes = []state.Change{{Op: state.OpInsert, ID: block.ID, After: BlockID(e.After), Block: block}}
	case patch.OpPatch:
		d.Kind, d.Sources = state.KindPatch, [][]byte{[]byte(e.Block.Source)}
		if before != nil {
			block.Edited, block.RanAt, block.Nodes = before.Edited, before.RanAt, before.Nodes
		}
		d.Changes = []state.Change{{Op: state.OpUpdate, ID: block.ID, Block: block}}
	case patch.OpMove:
		d.Kind = state.KindMove
		d.Changes = []state.Change{{Op: state.OpMove, ID: block.ID, After: BlockID(e.After)}}
	case patch.OpDelete:
		d.Kind = state.KindDelete
		d.Changes = []state.Change{{Op: state.OpDelete, ID: block.ID}}
	}
	return d
}

// Run brings every block up to date, executing only what is affected, and records the run as a step.
// A run that ctx stops is recorded as far as it came; Outcome.Stopped then tells why.
func (s *Session) Run(ctx context.Context, o runner.RunOptions, origin Origin) (*Outcome, Step, error) {
	release, err := s.Hold(ctx)
	if err != nil {
		return nil, Step{}, err
	}
	defer release()
	if err := s.start(ctx); err != nil {
		return nil, Step{}, err
	}
	files, err := s.history.Files(ctx)
	if err != nil {
		return nil, Step{}, err
	}
	s.engine.SetFiles(files)
	volatile, err := s.history.VaryingCode(ctx)
	if err != nil {
		return nil, Step{}, err
	}
	s.engine.SetVolatile(codesOf(volatile))
	program, head, err := s.history.Program(ctx)
	if err != nil {
		return nil, Step{}, err
	}
	outcome, err := s.engine.Run(ctx, program, o)
	if err != nil {
		return nil, Step{}, err
	}
	step, err := s.record(context.WithoutCancel(ctx), head, outcome, origin)
	if err == nil && step.Number == head+1 {
		err = s.rememberUpToDate(context.WithoutCancel(ctx), outcome, o, step)
	}
	return outcome, step, err
}

// record commits a run. Edits that were committed meanwhile stay: what became of the blocks that they leave as they were is
// recorded on top of them, and the next run finds out what they affect.
func (s *Session) record(ctx context.Context, head StepNumber, o *Outcome, origin Origin) (Step, error) {
	for {
		steps, err := s.store.state.Commit(ctx, s.name, head, []state.Draft{s.runDraft(o, origin)})
		if err == nil {
			return steps[0], nil
		}
		if state.CodeOf(err) != state.CodeConflict {
			return Step{}, err
		}
		var program []state.Block
		if head, _, err = s.store.state.Head(ctx, s.name); err == nil {
			program, err = s.store.state.ProgramAt(ctx, s.name, head)
		}
		if err != nil {
			return Step{}, err
		}
		now := map[BlockID]*state.Block{}
		for i := range program {
			now[program[i].ID] = &program[i]
		}
		o = &Outcome{Blocks: slices.DeleteFunc(slices.Clone(o.Blocks), func(b runner.BlockOutcome) bool {
			return now[b.ID] == nil || now[b.ID].Version != b.Version || now[b.ID].Dialect != b.Dialect
		}), Seconds: o.Seconds, Saved: o.Saved}
		for i := range o.Blocks {
			b := &o.Blocks[i]
			b.Before = now[b.ID]
			b.Title = b.Before.Title
		}
	}
}

// runDraft is the step that a run becomes.
func (s *Session) runDraft(o *Outcome, origin Origin) state.Draft {
	d := state.Draft{Kind: state.KindRun, Origin: origin, Run: Summarize(o, s.python.String())}
	for i := range o.Blocks {
		b := &o.Blocks[i]
		next := &state.Block{ID: b.ID, Title: b.Title, Dialect: b.Dialect, Version: b.Version, Status: b.Status}
		if b.Before != nil {
			next.Edited = b.Before.Edited
		}
		if len(b.Nodes) == 0 {
			next.Err = b.Err
		}
		for _, n := range b.Nodes {
			next.Nodes = append(next.Nodes, n.NodeResult)
		}
		if b.Status == state.StatusNew || sameResult(b.Before, next) {
			continue
		}
		if b.Before != nil && sameTraces(b.Before, next) {
			next.Verified = b.Before.Verified // it came to what was confirmed
		}
		d.Changes = append(d.Changes, state.Change{Op: state.OpUpdate, ID: b.ID, Block: next})
	}
	s.addRecords(&d)
	return d
}

// addRecords adds what a run keeps of the session.
func (s *Session) addRecords(d *state.Draft) {
	d.Records = map[string]any{query.RecordFiles: s.engine.Files()}
	switch s.options.Python {
	case "":
	case AnyPython:
		d.Records[query.RecordPython] = ""
	default:
		d.Records[query.RecordPython] = s.python.Path
	}
}

// sameResult reports whether a run left a block as the one before did: then the step need not repeat it. A block that
// ran before and was reused now keeps the reason why it ran, for whoever asks later.
func sameResult(before *state.Block, now *state.Block) bool {
	if before == nil || now.Status != state.StatusReused || !sameTraces(before, now) {
		return false
	}
	return before.Status == state.StatusReused || before.Status == state.StatusRan // new: the version was never said to be done
}

func sameTraces(before, now *state.Block) bool {
	if before.Version != now.Version || before.RanAt == 0 || len(before.Nodes) != len(now.Nodes) {
		return false
	}
	for i := range now.Nodes {
		x, y := &before.Nodes[i], &now.Nodes[i]
		if x.Code != y.Code || x.Trace != y.Trace || query.IsPinned(x) != query.IsPinned(y) {
			return false
		}
	}
	return true
}

// Summarize counts a run.
func Summarize(o *Outcome, interpreter string) *state.RunSummary {
	sum := &state.RunSummary{Seconds: o.Seconds, SavedSeconds: o.Saved, Interpreter: interpreter}
	for _, b := range o.Blocks {
		count(&sum.Blocks, b.Status)
		for _, n := range b.Nodes {
			count(&sum.Nodes, n.Status)
		}
	}
	return sum
}

func count(c *state.Counts, s state.Status) {
	switch s {
	case state.StatusRan:
		c.Ran++
	case state.StatusReused:
		c.Reused++
	case state.StatusFailed:
		c.Failed++
	case state.StatusBlocked:
		c.Blocked++
	}
}

func codesOf(volatile map[Digest][]string) map[Digest]bool {
	codes := map[Digest]bool{}
	for d := range volatile {
		codes[d] = true
	}
	return codes
}
