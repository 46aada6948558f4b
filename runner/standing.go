package runner

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// Standing is all that a walk that executed nothing rested on, beside the program and the results: while it stands, another walk
// comes to the same. It is a value to be kept.
type Standing struct {
	Engine string                  `json:"engine"` // the interpreter, and what else is part of every key
	Base   []state.Access          `json:"base"`   // what keys had before the first node
	Paths  map[depgraph.Key]string `json:"paths"`  // where the versions of packages are read
	Files  []standingFile          `json:"files"`  // those that the program writes
}

// standingFile is a file that the program writes, as the run left it.
type standingFile struct {
	Name   string       `json:"name"`
	Record FileRecord   `json:"record"`
	Now    state.Digest `json:"now"`
	Mode   string       `json:"mode"`
}

// Standing returns what the walk rested on that Run, or Plan, has just made. ok is false where that cannot be told.
func (e *Engine) Standing() (s Standing, ok bool) {
	s = Standing{Engine: e.standingIdentity(), Paths: maps.Clone(e.world.witness)}
	for _, k := range slices.Sorted(maps.Keys(e.world.base)) {
		s.Base = append(s.Base, state.Access{Key: k, Digest: e.world.base[k]})
	}
	s.Files, ok = e.standingFiles()
	return s, ok
}

// Stands reports whether a walk would rest on the same now.
func (e *Engine) Stands(s Standing) (bool, error) {
	if s.Engine != e.standingIdentity() {
		return false, nil
	}
	e.world.begin()
	if err := e.recoverFiles(); err != nil {
		return false, err
	}
	if err := e.adoptRelatives(); err != nil {
		return false, err
	}
	files, ok := e.standingFiles()
	if !ok || !slices.Equal(files, s.Files) {
		return false, nil
	}
	e.world.learn(s.Paths)
	for _, a := range s.Base {
		if e.world.get(a.Key) != a.Digest {
			return false, nil
		}
	}
	return true, nil
}

func (e *Engine) standingIdentity() string {
	return fmt.Sprintf("%s %s %q %q %q %d", e.options.semantics, e.options.interpreter, e.options.observe, e.cfg.Workspace, e.cfg.File, e.cfg.Seed)
}

// standingFiles tells of the files that the program writes how they are. Files that are one with others are not understood.
func (e *Engine) standingFiles() ([]standingFile, bool) {
	var files []standingFile
	for _, name := range slices.Sorted(maps.Keys(e.cfg.Files)) {
		f := standingFile{Name: name, Record: e.cfg.Files[name], Now: e.world.onDisk(name)}
		if f.Now != f.Record.Left {
			return nil, false
		}
		if info, err := os.Lstat(e.world.path(name)); err == nil {
			if f.Mode = info.Mode().String(); linked(info) {
				return nil, false
			}
		}
		files = append(files, f)
	}
	return files, true
}
