package xstate

import (
	"context"
	"fmt"
	"slices"
	"strings"

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
	kept, total, err := s.store.state.ProgramStart(ctx, s.name, n, limit)
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

// Base returns the program as one saw it who knows a block in the version that a digest, or its beginning, names: as it is
// now, with that version of the block.
func (s *Session) Base(ctx context.Context, version string) ([]patch.Block, error) {
	blocks, _, err := s.Program(ctx)
	if err != nil {
		return nil, err
	}
	base := patched(blocks)
	if len(version) >= leastPrefix && slices.ContainsFunc(blocks, func(b runner.Block) bool { return strings.HasPrefix(string(b.Version), version) }) {
		return base, nil
	}
	known, err := s.Version(ctx, version)
	if err != nil {
		return nil, err
	}
	for _, v := range known {
		if i := slices.IndexFunc(base, func(b patch.Block) bool { return b.ID == string(v.Block) }); i >= 0 {
			base[i].Source = v.Source
		} else { // it was deleted since
			base = append(base, patch.Block{ID: string(v.Block), Dialect: patch.Python, Source: v.Source})
		}
	}
	return base, nil
}

// ProgramFrom returns the program after step n as edits of it see it.
func (s *Session) ProgramFrom(ctx context.Context, n StepNumber) ([]patch.Block, error) {
	blocks, err := s.ProgramAt(ctx, n)
	return patched(blocks), err
}
