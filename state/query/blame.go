package query

import (
	"context"
	"strings"

	"github.com/xstate-engine/xstate/patch/diff"
	"github.com/xstate-engine/xstate/state"
)

// BlameLine is a line of a block with the edit that wrote it.
type BlameLine struct {
	Line   int              `json:"line"` // 1-based
	Text   string           `json:"text"`
	Step   state.StepNumber `json:"step"`
	Origin state.Origin     `json:"origin"` // that step's
}

// Blame returns the lines of a block after step n, each with the edit that wrote it. A line that an edit leaves
// unchanged keeps its edit. So does a line that a rollback or an undo restores: the one who restores a line did not
// write it.
func (h *History) Blame(ctx context.Context, n state.StepNumber, id state.BlockID) ([]BlameLine, error) {
	block, found, err := h.store.BlockAt(ctx, h.name, n, id)
	if err != nil {
		return nil, err
	}
	if !found {
		blocks, err := h.ProgramAt(ctx, n)
		if err != nil {
			return nil, err
		}
		return nil, h.NoBlock(id, PatchBlocks(blocks))
	}
	source, err := h.Source(ctx, block.Version)
	if err != nil {
		return nil, err
	}
	b := &blamer{
		history: h,
		id:      id,
		lines:   map[state.StepNumber][]state.StepNumber{},
		steps:   map[state.StepNumber]state.Step{},
	}
	wrote, err := b.at(ctx, n)
	if err != nil {
		return nil, err
	}
	lines := []BlameLine{}
	for i, text := range strings.Split(source, "\n") {
		if i < len(wrote) {
			lines = append(lines, BlameLine{Line: i + 1, Text: text, Step: wrote[i], Origin: b.steps[wrote[i]].Origin})
		}
	}
	return lines, nil
}

type blamer struct {
	history *History
	id      state.BlockID
	lines   map[state.StepNumber][]state.StepNumber // by the edit of the block: the edits that wrote the lines it left
	steps   map[state.StepNumber]state.Step         // the edits
}

// at returns the edits that wrote the lines of the block as it is after step n; none when it is not there.
func (b *blamer) at(ctx context.Context, n state.StepNumber) ([]state.StepNumber, error) {
	var edits []state.Step // that are not known yet, newest first
	var lines []state.StepNumber
	for step, err := range b.history.Ancestors(ctx, n) {
		if err != nil {
			return nil, err
		}
		if step.Block != b.id || step.Was == step.Now {
			continue
		}
		if known, ok := b.lines[step.Number]; ok {
			lines = known
			break
		}
		edits = append(edits, step)
		if step.Was == state.Absent {
			break
		}
	}
	for i := len(edits) - 1; i >= 0; i-- {
		var err error
		if lines, err = b.edit(ctx, edits[i], lines); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// edit returns the edits that wrote the lines that an edit left, from those of the lines before it.
func (b *blamer) edit(ctx context.Context, step state.Step, before []state.StepNumber) ([]state.StepNumber, error) {
	was, err := b.history.Source(ctx, step.Was)
	if err != nil {
		return nil, err
	}
	now, err := b.history.Source(ctx, step.Now)
	if err != nil {
		return nil, err
	}
	wrote := make([]state.StepNumber, 0, strings.Count(now, "\n")+1)
	for _, i := range diff.Carry(was, now) {
		if i < 0 {
			wrote = append(wrote, 0)
		} else {
			wrote = append(wrote, before[i])
		}
	}
	if step.Undoes > 0 {
		if err := b.restored(ctx, step, now, wrote); err != nil {
			return nil, err
		}
	}
	for i := range wrote {
		if wrote[i] == 0 {
			wrote[i] = step.Number
		}
	}
	b.lines[step.Number], b.steps[step.Number] = wrote, step
	return wrote, nil
}

// restored fills in the authors of the lines that an undo restores. A diff with the text before the undo would name the
// undo as their author.
func (b *blamer) restored(ctx context.Context, undo state.Step, now string, wrote []state.StepNumber) error {
	block, found, err := b.history.store.BlockAt(ctx, b.history.name, undo.Undoes-1, b.id)
	if err != nil || !found {
		return err
	}
	source, err := b.history.Source(ctx, block.Version)
	if err != nil {
		return err
	}
	before, err := b.at(ctx, undo.Undoes-1)
	if err != nil {
		return err
	}
	for j, i := range diff.Carry(source, now) {
		if i >= 0 && wrote[j] == 0 {
			wrote[j] = before[i]
		}
	}
	return nil
}
