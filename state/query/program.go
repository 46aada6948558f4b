package query

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
)

// Program returns the blocks of the session as they are now, with their sources.
func (h *History) Program(ctx context.Context) ([]state.ProgramBlock, state.StepNumber, error) {
	head, _, err := h.store.Head(ctx, h.name)
	if err != nil {
		return nil, 0, err
	}
	blocks, err := h.ProgramAt(ctx, head)
	return blocks, head, err
}

// ProgramAt returns the blocks of the session after step n, with their sources and what was then known of them.
func (h *History) ProgramAt(ctx context.Context, n state.StepNumber) ([]state.ProgramBlock, error) {
	blocks, _, err := h.programStart(ctx, n, 0)
	return blocks, err
}

// programStart returns the first blocks after step n, all of them where limit is 0, and how many there are.
func (h *History) programStart(ctx context.Context, n state.StepNumber, limit int) ([]state.ProgramBlock, int, error) {
	kept, total, err := h.store.FirstBlocks(ctx, h.name, n, limit)
	if err != nil {
		return nil, 0, err
	}
	blocks := make([]state.ProgramBlock, 0, len(kept))
	texts := make(map[state.Digest]string, len(kept))
	for i := range kept {
		b := &kept[i]
		source, known := h.texts[b.Version]
		if !known {
			if source, err = h.Source(ctx, b.Version); err != nil {
				return nil, 0, fmt.Errorf("source of block %s: %w", b.ID, err)
			}
		}
		texts[b.Version] = source
		blocks = append(blocks, b.WithSource(source))
	}
	h.texts = texts
	return blocks, total, nil
}

// CodeNoBlock is the code of errors about a block that is not in the program.
const CodeNoBlock state.Code = "no-block"

// NoBlock returns the error that reports a missing block and lists the blocks of the program.
func (h *History) NoBlock(id state.BlockID, blocks []patch.Block) error {
	return &state.Error{Code: CodeNoBlock, Message: fmt.Sprintf("session %q has no block %q", h.name, id),
		Hint: DidYouMean(string(id), IDs(blocks)) + "its blocks are: " + Shorten(IDs(blocks))}
}

// Shorten joins ids with commas and cuts the list after 12.
func Shorten(ids []string) string {
	text := ""
	for i, id := range ids {
		if i > 0 {
			text += ", "
		}
		if i == 12 {
			return text + fmt.Sprintf("and %d more (`xstate query`)", len(ids)-i)
		}
		text += id
	}
	return text
}

// Compare returns the edits that Load would make.
func (h *History) Compare(
	ctx context.Context,
	blocks []patch.Block,
) (edits []patch.Edit, old []patch.Block, head state.StepNumber, err error) {
	old, head, err = h.Blocks(ctx)
	if err != nil {
		return nil, nil, 0, err
	}
	return patch.Match(old, blocks), old, head, nil
}

// Blocks returns the program in the types of package patch.
func (h *History) Blocks(ctx context.Context) ([]patch.Block, state.StepNumber, error) {
	blocks, head, err := h.Program(ctx)
	if err != nil {
		return nil, 0, err
	}
	return PatchBlocks(blocks), head, nil
}

// PatchBlock returns a block in the types of package patch, without its line in a file.
func PatchBlock(b state.ProgramBlock) patch.Block {
	return patch.Block{ID: string(b.ID), Title: b.Title, Dialect: string(b.Dialect), Source: b.Source}
}

// PatchBlocks returns blocks in the types of package patch.
func PatchBlocks(blocks []state.ProgramBlock) []patch.Block {
	list := make([]patch.Block, 0, len(blocks))
	for _, b := range blocks {
		list = append(list, PatchBlock(b))
	}
	return list
}

// ProgramBlock returns a block of package patch as a block of a program. before is its record; nil if it has none.
func ProgramBlock(b patch.Block, before *state.Block) state.ProgramBlock {
	return state.ProgramBlock{
		ID:      state.BlockID(b.ID),
		Title:   b.Title,
		Dialect: depgraph.Dialect(b.Dialect),
		Version: state.DigestOf([]byte(b.Source)),
		Source:  b.Source,
		Before:  before,
	}
}

// IDs returns the ids of blocks, in order.
func IDs(blocks []patch.Block) []string {
	list := make([]string, len(blocks))
	for i, b := range blocks {
		list[i] = b.ID
	}
	return list
}

// ProgramFrom returns the program after step n as edits of it see it.
func (h *History) ProgramFrom(ctx context.Context, n state.StepNumber) ([]patch.Block, error) {
	blocks, err := h.ProgramAt(ctx, n)
	return PatchBlocks(blocks), err
}

// Source returns the text of a version. The text of no version is empty.
func (h *History) Source(ctx context.Context, version state.Digest) (string, error) {
	if version == "" {
		return "", nil
	}
	text, err := h.store.Source(ctx, version)
	return string(text), err
}

// Shown returns the block that a text names: by its id, by the title that it alone has, or by its number between
// brackets as programs are shown, from [1] on. It is the text itself where no block has that number.
func Shown(text state.BlockID, blocks []patch.Block) state.BlockID {
	if text == "" { // as the title of a block that has none
		return text
	}
	titled := 0
	found := text
	for i := range blocks {
		switch {
		case blocks[i].ID == string(text):
			return text
		case blocks[i].Title == string(text):
			titled++
			found = state.BlockID(blocks[i].ID)
		}
	}
	if titled == 1 {
		return found
	}
	number, opened := strings.CutPrefix(string(text), "[")
	number, closed := strings.CutSuffix(number, "]")
	if i, err := strconv.Atoi(number); opened && closed && err == nil && 1 <= i && i <= len(blocks) {
		return state.BlockID(blocks[i-1].ID)
	}
	return text
}
