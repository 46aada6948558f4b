package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/provenance"
	"github.com/xstate-engine/xstate/state/query"
)

// forResults refuses a file in which outputs have no place, before anything runs.
func (s *source) forResults() error {
	p, err := patch.Parse(s.name, s.data)
	if err != nil {
		return err
	}
	if p.Kind != patch.KindNotebook {
		return &usageError{
			err:  fmt.Errorf("--write needs a notebook; %s has no place for outputs", s.name),
			hint: "`xstate export --out FILE.ipynb`, .md or .html writes the program with its outputs",
		}
	}
	s.program = p
	return p.TakesResults()
}

// writeResults puts the results of the session into the notebook that it was run from, if --write asks for it. A
// notebook that says the same already is not touched. A run that was interrupted writes nothing, because the blocks
// that it did not reach have no results.
func (a *app) writeResults(ctx context.Context, s *xstate.Session, src *source, f runFlags, d *api.Run) error {
	if !f.Write || d != nil && d.Stopped != "" {
		return nil
	}
	head, _, err := s.Store().State().Head(ctx, s.Name())
	if err != nil {
		return err
	}
	snap, err := s.History().At(ctx, head)
	if err != nil {
		return err
	}
	p := src.program
	if p == nil { // others' edits were merged into the file
		if p, err = patch.Parse(src.name, src.data); err != nil {
			return err
		}
	}
	if !sameSources(p.Blocks, query.SnapshotBlocks(snap)) {
		return &state.Error{
			Code:    state.CodeConflict,
			Message: "others have edited the session during the run; " + src.name + " was not written",
			Hint:    "`xstate diff` shows what they changed; run it again with `--write`",
		}
	}
	text, err := provenance.WithResults(p, snap.Blocks)
	if err != nil || bytes.Equal(text, src.data) {
		return err
	}
	hint := "the run is recorded; run it again with `--write`, which runs only what the edits affect"
	if err := a.unedited(src.path, src.data, hint); err != nil {
		return err
	}
	if err := writeFile(src.path, text); err != nil {
		return err
	}
	if d != nil {
		d.File = src.name
	}
	a.ui.Talk("wrote %s", src.name)
	return nil
}

func sameSources(file, session []patch.Block) bool {
	return slices.EqualFunc(file, session, func(a, b patch.Block) bool { return a.Source == b.Source })
}
