package xstate

import (
	"context"
	"fmt"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

// Program returns the blocks of the session as they are now, with their sources.
func (s *Session) Program(ctx context.Context) ([]runner.Block, StepNumber, error) {
	head, _, err := s.store.state.Head(ctx, s.name)
	if err != nil {
		return nil, 0, err
	}
	blocks, err := s.ProgramAt(ctx, head)
	return blocks, head, err
}

// ProgramAt returns the blocks of the session after step n, with their sources and what was then known of them.
func (s *Session) ProgramAt(ctx context.Context, n StepNumber) ([]runner.Block, error) {
	blocks, _, err := s.programStart(ctx, n, 0)
	return blocks, err
}

// programStart returns the first blocks after step n, all of them where limit is 0, and how many there are.
func (s *Session) programStart(ctx context.Context, n StepNumber, limit int) ([]runner.Block, int, error) {
	kept, total, err := s.store.state.FirstBlocks(ctx, s.name, n, limit)
	if err != nil {
		return nil, 0, err
	}
	blocks := make([]runner.Block, 0, len(kept))
	texts := make(map[Digest]string, len(kept))
	for i := range kept {
		b := &kept[i]
		source, known := s.texts[b.Version]
		if !known {
			if source, err = s.source(ctx, b.Version); err != nil {
				return nil, 0, fmt.Errorf("source of block %s: %w", b.ID, err)
			}
		}
		texts[b.Version] = source
		blocks = append(blocks, runner.Block{ID: b.ID, Title: b.Title, Dialect: b.Dialect, Version: b.Version, Source: source, Before: b})
	}
	s.texts = texts
	return blocks, total, nil
}

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
		if all, _, err = s.edited(ctx); err == nil {
			err = s.noBlock(id, all)
		}
	}
	return head, &b, err
}

// CodeNoBlock is the code of errors about a block that is not in the program.
const CodeNoBlock state.Code = "no-block"

func (s *Session) noBlock(id BlockID, blocks []patch.Block) error {
	return &Error{Code: CodeNoBlock, Message: fmt.Sprintf("session %q has no block %q", s.name, id),
		Hint: "its blocks are: " + shorten(ids(blocks))}
}

func shorten(ids []string) string {
	text := ""
	for i, id := range ids {
		if i > 0 {
			text += ", "
		}
		if i == 12 {
			return text + fmt.Sprintf("and %d more (xstate show)", len(ids)-i)
		}
		text += id
	}
	return text
}

// Load makes the program that of blocks (a file read again): what stayed keeps its id, and every difference is a
// step of its own: patch, move, append or delete. Nothing is executed.
func (s *Session) Load(ctx context.Context, blocks []patch.Block, origin Origin) ([]Step, error) {
	edits, old, head, err := s.Compare(ctx, blocks)
	if err != nil || len(edits) == 0 {
		return nil, err
	}
	return s.commit(ctx, head, old, edits, origin)
}

// Compare tells which edits Load would make.
func (s *Session) Compare(ctx context.Context, blocks []patch.Block) (edits []patch.Edit, old []patch.Block, head StepNumber, err error) {
	old, head, err = s.edited(ctx)
	if err != nil {
		return nil, nil, 0, err
	}
	return patch.Match(old, blocks), old, head, nil
}

// edited returns the program as package patch knows it.
func (s *Session) edited(ctx context.Context) ([]patch.Block, StepNumber, error) {
	blocks, head, err := s.Program(ctx)
	if err != nil {
		return nil, 0, err
	}
	return patched(blocks), head, nil
}

// patched returns blocks as package patch knows them.
func patched(blocks []runner.Block) []patch.Block {
	list := make([]patch.Block, 0, len(blocks))
	for _, b := range blocks {
		list = append(list, patch.Block{ID: string(b.ID), Title: b.Title, Dialect: string(b.Dialect), Source: b.Source})
	}
	return list
}

func ids(blocks []patch.Block) []string {
	list := make([]string, len(blocks))
	for i, b := range blocks {
		list[i] = b.ID
	}
	return list
}

// one records an edit of the program after step head. It looks at the blocks that are concerned, and no others.
func (s *Session) one(ctx context.Context, head StepNumber, e patch.Edit, origin Origin) (Step, error) {
	var near []patch.Block
	for _, id := range []string{e.ID, e.After} {
		b, found, err := s.store.state.BlockAt(ctx, s.name, head, BlockID(id))
		if err != nil {
			return Step{}, err
		}
		if found && !slices.Contains(ids(near), id) {
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

// Plan tells what Run would do, without executing or recording anything. Blocks given are planned in place of the
// session's program (a file not yet loaded); nil means the program as it is.
func (s *Session) Plan(ctx context.Context, blocks []patch.Block) (*Plan, error) {
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	program, _, err := s.Program(ctx)
	if err != nil {
		return nil, err
	}
	if blocks != nil {
		if program, err = s.supposed(program, blocks); err != nil {
			return nil, err
		}
	}
	return s.engine.Plan(ctx, program)
}

// supposed is the program as Load would make it.
func (s *Session) supposed(program []runner.Block, blocks []patch.Block) ([]runner.Block, error) {
	before := map[BlockID]*state.Block{}
	for _, b := range program {
		before[b.ID] = b.Before
	}
	old := patched(program)
	now, err := patch.Apply(old, patch.Match(old, blocks))
	if err != nil {
		return nil, err
	}
	var next []runner.Block
	for _, b := range now {
		next = append(next, runner.Block{ID: BlockID(b.ID), Title: b.Title, Dialect: depgraph.Dialect(b.Dialect),
			Version: state.DigestOf([]byte(b.Source)), Source: b.Source, Before: before[BlockID(b.ID)]})
	}
	return next, nil
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
	files, err := s.files(ctx)
	if err != nil {
		return nil, Step{}, err
	}
	s.engine.SetFiles(files)
	volatile, err := s.volatile(ctx)
	if err != nil {
		return nil, Step{}, err
	}
	s.engine.SetVolatile(codesOf(volatile))
	program, head, err := s.Program(ctx)
	if err != nil {
		return nil, Step{}, err
	}
	outcome, err := s.engine.Run(ctx, program, o)
	if err != nil {
		return nil, Step{}, err
	}
	step, err := s.record(context.WithoutCancel(ctx), head, outcome, origin)
	if err == nil && step.Number == head+1 {
		err = s.settle(context.WithoutCancel(ctx), outcome, o, step)
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
	d.Records = map[string]any{recordFiles: s.engine.Files()}
	switch s.options.Python {
	case "":
	case AnyPython:
		d.Records[recordPython] = ""
	default:
		d.Records[recordPython] = s.python.Path
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
		if x.Code != y.Code || x.Trace != y.Trace || isPinned(x) != isPinned(y) {
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
