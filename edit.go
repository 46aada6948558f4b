package xstate

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Append adds block b after the block named by after, or at the end if after is empty. It chooses an id if b has none.
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

// Patch replaces the source of a block.
func (s *Session) Patch(ctx context.Context, id BlockID, source string, origin Origin) (Step, error) {
	head, b, err := s.block(ctx, id)
	if err != nil {
		return Step{}, err
	}
	next := query.PatchBlock(b.WithSource(source))
	return s.one(ctx, head, patch.Edit{Op: patch.OpPatch, ID: string(id), Block: next, By: patch.ByID}, origin)
}

// Move moves a block behind the block named by after, or to the front if after is empty.
func (s *Session) Move(ctx context.Context, id, after BlockID, origin Origin) (Step, error) {
	head, _, err := s.block(ctx, id)
	if err != nil {
		return Step{}, err
	}
	return s.one(ctx, head, patch.Edit{Op: patch.OpMove, ID: string(id), After: string(after)}, origin)
}

// Delete removes a block from the program.
func (s *Session) Delete(ctx context.Context, id BlockID, origin Origin) (Step, error) {
	head, _, err := s.block(ctx, id)
	if err != nil {
		return Step{}, err
	}
	return s.one(ctx, head, patch.Edit{Op: patch.OpDelete, ID: string(id)}, origin)
}

// block returns a block of the present program.
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

// Load makes blocks the program. Blocks that match present ones keep their ids. Load records each difference as a step:
// patch, move, append or delete. It executes nothing.
func (s *Session) Load(ctx context.Context, blocks []patch.Block, origin Origin) ([]Step, error) {
	edits, old, head, err := s.history.Compare(ctx, blocks)
	if err != nil || len(edits) == 0 {
		return nil, err
	}
	return s.commit(ctx, head, old, edits, origin)
}

// one records one edit of the program after step head. It reads only the blocks that the edit names.
func (s *Session) one(ctx context.Context, head StepNumber, e patch.Edit, origin Origin) (Step, error) {
	var near []patch.Block
	for _, id := range []string{e.ID, e.After} {
		b, found, err := s.store.state.BlockAt(ctx, s.name, head, BlockID(id))
		if err != nil {
			return Step{}, err
		}
		if found && !slices.Contains(query.IDs(near), id) {
			near = append(near, query.PatchBlock(b.WithSource("")))
		}
	}
	steps, err := s.commit(ctx, head, near, []patch.Edit{e}, origin)
	if err != nil {
		return Step{}, err
	}
	return steps[0], nil
}

// commit records edits in one transaction, one step each. The first step carries the cost of the call.
func (s *Session) commit(
	ctx context.Context,
	head StepNumber,
	old []patch.Block,
	edits []patch.Edit,
	origin Origin,
) ([]Step, error) {
	drafts, err := s.drafts(ctx, head, old, edits, origin)
	if err != nil {
		return nil, err
	}
	return s.store.state.Commit(ctx, s.name, head, drafts)
}

// drafts returns the steps that edits of the program after step head become. old holds all blocks of that program, or
// only those that the edits name.
func (s *Session) drafts(
	ctx context.Context,
	head StepNumber,
	old []patch.Block,
	edits []patch.Edit,
	origin Origin,
) ([]state.Draft, error) {
	if _, err := patch.Apply(old, edits); err != nil {
		return nil, &Error{Code: state.CodeInvalid, Message: "the edits do not fit the program", Err: err}
	}
	drafts := make([]state.Draft, 0, len(edits))
	for _, e := range edits {
		if err := checkLanguage(e); err != nil {
			return nil, err
		}
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

// checkLanguage returns an error if an edit adds a block in a language that no package here runs.
func checkLanguage(e patch.Edit) error {
	_, err := kernel.Lookup(depgraph.Dialect(e.Block.Dialect))
	return err
}

// draft returns the step that an edit becomes. A patched block keeps the outcome of its previous version, from which
// the next run derives the reason to execute it.
func draft(e patch.Edit, origin Origin, before *state.Block) state.Draft {
	d := state.Draft{Origin: origin}
	block := &state.Block{
		ID:      BlockID(e.ID),
		Title:   e.Block.Title,
		Dialect: depgraph.Dialect(e.Block.Dialect),
		Version: state.DigestOf([]byte(e.Block.Source)),
	}
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

// loadFormat is incremented when package patch splits files into blocks in a new way, so that files are read again.
const loadFormat = 1

// LoadFile parses a file and loads its blocks. Parsing dominates a run that has nothing to do: 22 of 63 ms for 4,400
// lines. So LoadFile skips it if the same bytes gave the present program before.
func (s *Session) LoadFile(ctx context.Context, name string, data []byte, origin Origin) ([]Step, error) {
	key := s.loadKey(name, data)
	program, head, err := s.programDigest(ctx)
	if err != nil {
		return nil, err
	}
	if known, ok := s.store.state.Memo("loaded", key); ok && string(known) == program {
		s.loaded = loadedFile{key, head}
		return nil, nil
	}
	parsed, err := patch.Parse(name, data)
	if err != nil {
		return nil, err
	}
	steps, err := s.Load(ctx, parsed.Blocks, origin)
	if err != nil {
		return nil, err
	}
	if program, head, err = s.programDigest(ctx); err != nil {
		return nil, err
	}
	s.loaded = loadedFile{key, head}
	return steps, s.store.state.PutMemo("loaded", key, []byte(program))
}

// programDigest returns the digest of the present program, over everything that Load compares.
func (s *Session) programDigest(ctx context.Context) (string, StepNumber, error) {
	head, _, err := s.store.state.Head(ctx, s.name)
	if err != nil {
		return "", 0, err
	}
	blocks, err := s.store.state.ProgramAt(ctx, s.name, head)
	if err != nil {
		return "", 0, err
	}
	var b strings.Builder
	for _, x := range blocks {
		fmt.Fprintf(&b, "%q %q %q %s\n", x.ID, x.Title, x.Dialect, x.Version)
	}
	return string(state.DigestOf([]byte(b.String()))), head, nil
}

// loadKey returns the key of a memo for the program that a file holds.
func (s *Session) loadKey(name string, data []byte) string {
	return fmt.Sprintf("%d %q %q %s", loadFormat, s.name, filepath.Ext(name), state.DigestOf(data))
}
