package api

import (
	"github.com/xstate-engine/xstate/runner/private"
	"github.com/xstate-engine/xstate/state"
)

// DiffFiles is the document of diff --files.
type DiffFiles struct {
	Version  int          `json:"version"`
	Session  string       `json:"session"`
	Folder   string       `json:"folder"`   // the private one
	Original string       `json:"original"` // the folder that it is a view of
	Files    []FileChange `json:"files"`
	Behind   []string     `json:"behind,omitempty"` // changed in the original alone
}

// FileChange is a path where a private folder differs from its original.
type FileChange struct {
	Path     string     `json:"path"`
	Change   private.Op `json:"change"`
	Kind     string     `json:"kind"`               // file, folder or link
	Conflict private.Op `json:"conflict,omitempty"` // what happened to it in the original meanwhile
	Bytes    int64      `json:"bytes,omitempty"`
	Diff     string     `json:"diff,omitempty"` // unified, of a text
	Mode     string     `json:"mode,omitempty"` // permissions, if only they differ
}

// Apply is the document of apply.
type Apply struct {
	Version  int    `json:"version"`
	Session  string `json:"session"`
	Original string `json:"original"`

	Files []FileChange     `json:"files"`          // that were changed
	Into  string           `json:"into"`           // the session that the step is of
	Step  state.StepNumber `json:"step,omitempty"` // that records it
}
