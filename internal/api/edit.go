package api

import (
	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Patch is the document of patch.
type Patch struct {
	Version int              `json:"version"`
	Session string           `json:"session"`
	Step    state.StepNumber `json:"step"`              // the last one recorded; of a dry run the one that it is about
	Base    state.StepNumber `json:"base"`              // the step that the patch was applied to
	Format  patch.Format     `json:"format"`            // the format it was read as
	DryRun  bool             `json:"dry_run,omitempty"` // nothing was recorded
	Edits   []PatchEdit      `json:"edits"`
	Texts   []PatchText      `json:"texts,omitempty"` // changes of a notebook's cells that are not blocks
	Places  []Placement      `json:"placements"`      // one for each part of the patch
	Repeats []xstate.Repeat  `json:"repeats,omitempty"`
	File    string           `json:"file,omitempty"`    // the file that was written
	Run     *Run             `json:"run,omitempty"`     // with --run
	Plan    *Plan            `json:"plan,omitempty"`    // the plan of a dry run with --run
	Notices []string         `json:"notices,omitempty"` // parts of the patch that were skipped
}

// PatchEdit is an edit that a patch makes.
type PatchEdit struct {
	Step  state.StepNumber `json:"step,omitempty"`
	Kind  string           `json:"kind"` // append, patch, move or delete
	Block state.BlockID    `json:"block"`
	Diff  string           `json:"diff,omitempty"` // unified
}

// PatchText is a change of a cell of text, which a patch makes in the file of a notebook.
type PatchText struct {
	Step state.StepNumber `json:"step,omitempty"`
	Kind string           `json:"kind"`           // append, patch, move or delete
	Cell string           `json:"cell"`           // its id, or cell-N by its place among all cells, from 0
	Type string           `json:"type"`           // markdown, raw, or code that is blank
	Diff string           `json:"diff,omitempty"` // unified
}

// Placement says where a part of a patch was found.
type Placement struct {
	Block     string           `json:"block,omitempty"`     // "": the file
	Match     patch.Strictness `json:"match"`               // exact, trailing-space, indentation, punctuation or fuzzy
	Lines     []int            `json:"lines,omitempty"`     // from 1
	Unchanged bool             `json:"unchanged,omitempty"` // the block has that text already
	*patch.Decision
}

// Undo is the document of undo.
type Undo struct {
	Version int                 `json:"version"`
	Session string              `json:"session"`
	DryRun  bool                `json:"dry_run,omitempty"` // nothing was recorded
	Undone  []state.StepNumber  `json:"undone"`            // the edits that were taken back, newest first
	Steps   []UndoStep          `json:"steps"`             // the steps that do so
	Changes []query.BlockChange `json:"changes"`           // how blocks change
	File    string              `json:"file,omitempty"`    // the file that was written
	Effects
}

// UndoStep is a step that takes an edit back.
type UndoStep struct {
	Step   state.StepNumber `json:"step"`
	Kind   string           `json:"kind"`
	Block  state.BlockID    `json:"block"`
	Undoes state.StepNumber `json:"undoes"`

	Artifact string `json:"artifact,omitempty"` // where a declaration was taken back
}

// Rollback is the document of rollback.
type Rollback struct {
	Version int              `json:"version"`
	Session string           `json:"session"`
	Step    state.StepNumber `json:"step"`
	To      state.StepNumber `json:"to"`             // the step whose program is restored
	File    string           `json:"file,omitempty"` // the file that was written
	Effects
}

// Fork is the document of fork.
type Fork struct {
	Version int              `json:"version"`
	Session string           `json:"session"` // the new one
	From    *state.ForkPoint `json:"from"`    // the step that it was forked after
	Step    state.StepNumber `json:"step"`
	File    string           `json:"file,omitempty"`   // the file that was written
	Folder  string           `json:"folder,omitempty"` // with --private: its own
	Copied  int              `json:"copied,omitempty"` // files in it
	Bytes   int64            `json:"bytes,omitempty"`  // in them
}
