package runner

import (
	"fmt"
	"maps"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// Preconditions lists what a walk that executed nothing depended on, besides the program and the results. While all of
// it is unchanged, another walk has the same outcome and can be skipped. It is the planner's idea for a whole program,
// across processes. It is a value to be stored, see xstate.Session.RunIfChanged.
type Preconditions struct {
	Engine string `json:"engine"` // the interpreters, and what else is part of every key
	// Dialects are those of the program's blocks.
	Dialects []depgraph.Dialect      `json:"dialects"`
	Base     []state.Access          `json:"base"`  // what keys had before the first node
	Paths    map[depgraph.Key]string `json:"paths"` // files that state the versions of packages
	Files    []preconditionFile      `json:"files"` // files that the program writes
}

// preconditionFile is a file that the program writes, as the run left it.
type preconditionFile struct {
	Name   string           `json:"name"`
	Record state.FileRecord `json:"record"`
	Now    state.Digest     `json:"now"`
	Mode   string           `json:"mode"`
}

// Preconditions returns what the last walk of Run or Plan depended on. ok is false where that cannot be compared later.
func (e *Engine) Preconditions() (s Preconditions, ok bool) {
	s = Preconditions{Engine: e.preconditionIdentity(e.dialects), Dialects: e.dialects,
		Paths: maps.Clone(e.baseState.VersionFiles())}
	for _, k := range slices.Sorted(maps.Keys(e.baseState.Answers())) {
		s.Base = append(s.Base, state.Access{Key: k, Digest: e.baseState.Answers()[k]})
	}
	s.Files, ok = e.preconditionFiles()
	return s, ok
}

// UpToDate reports whether a walk would depend on the same now.
func (e *Engine) UpToDate(s Preconditions) (bool, error) {
	if s.Engine != e.preconditionIdentity(s.Dialects) {
		return false, nil
	}
	e.baseState.Begin()
	if err := e.recoverFiles(); err != nil {
		return false, err
	}
	if err := e.adoptRelatives(); err != nil {
		return false, err
	}
	files, ok := e.preconditionFiles()
	if !ok || !slices.Equal(files, s.Files) {
		return false, nil
	}
	e.baseState.Learn(s.Paths)
	for _, a := range s.Base {
		if e.baseState.Get(a.Key) != a.Digest {
			return false, nil
		}
	}
	return true, nil
}

func (e *Engine) preconditionIdentity(dialects []depgraph.Dialect) string {
	text := fmt.Sprintf("%q %q %q %d", e.options.observe, e.cfg.Workspace, e.cfg.File, e.cfg.Seed)
	for _, d := range dialects {
		if l, err := e.cfg.Languages.Of(d); err == nil {
			text += fmt.Sprintf("\n%s %s", l.Semantics(), e.options.interpreter(l))
		}
	}
	return text
}

// preconditionFiles returns the state of the files that the program writes. ok is false for files with hard links: a
// write to another name would change them.
func (e *Engine) preconditionFiles() ([]preconditionFile, bool) {
	var files []preconditionFile
	for _, name := range slices.Sorted(maps.Keys(e.cfg.Files)) {
		f := preconditionFile{Name: name, Record: e.cfg.Files[name], Now: e.baseState.OnDisk(name)}
		if f.Now != f.Record.Left {
			return nil, false
		}
		if info := e.baseState.Stat(name); info != nil {
			if f.Mode = info.Mode.String(); linked(info) {
				return nil, false
			}
		}
		files = append(files, f)
	}
	return files, true
}
