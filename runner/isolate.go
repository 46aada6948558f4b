package runner

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/basestate"
	"github.com/xstate-engine/xstate/state"
)

// Isolated calls do, which may run other programs than the session's own with this engine. Then it restores every file
// that they wrote: content, permissions, and time of last change. Until then the records of files are kept as in any
// run. So if the process is killed in between, the next run restores the files.
func (e *Engine) Isolated(do func() error) error {
	if err := e.recoverFiles(); err != nil {
		return err
	}
	if err := e.adoptRelatives(); err != nil {
		return err
	}
	records := maps.Clone(e.cfg.Files)
	before := map[string]onDisk{}
	for name := range records {
		var now onDisk
		var err error
		if now.digest, err = e.baseState.Look(name); err != nil {
			return fmt.Errorf("look at a file that the program writes: %w", err)
		}
		now.mode, now.time = e.baseState.Attributes(name)
		if err := e.keepBase(name, now.digest); err != nil {
			return fmt.Errorf("keep a copy of %s: %w", name, err)
		}
		before[name] = now
	}
	links := e.linkGroups()
	if err := e.baseState.Failure(); err != nil {
		return err
	}
	e.isolated = true
	err := do()
	e.isolated = false
	e.dropKernel() // it may have files open
	if bad := e.restoreFilesTo(records, before, links); bad != nil {
		return errors.Join(err, e.abort(bad))
	}
	return err
}

// onDisk is the state of a file on disk.
type onDisk struct {
	digest, mode state.Digest
	time         int64
}

// restoreFilesTo restores files and their records.
func (e *Engine) restoreFilesTo(
	records map[string]state.FileRecord,
	before map[string]onDisk,
	links map[string]string,
) error {
	e.baseState.Begin()
	p := newProgramState(e.baseState.Get) // its base has the files that were not written before
	for name, was := range before {
		p.keys.set(depgraph.Key("file:"+name), entry{digest: was.digest, writer: -1})
		p.keys.set(depgraph.Key("mode:"+name), entry{digest: was.mode, writer: -1})
		if first := links[name]; first != "" {
			p.keys.set(depgraph.Key("link:"+name), entry{digest: state.Digest(first), writer: -1})
		}
	}
	w := &walk{e: e}
	if err := w.restoreFiles(p, nil); err != nil {
		return fmt.Errorf("restore the files: %w", err)
	}
	for name, was := range before {
		if !basestate.IsFile(was.digest) {
			continue
		}
		if _, now := e.baseState.Attributes(name); now != was.time {
			folder, in, err := e.baseState.Place(name)
			if err == nil {
				err = folder.SetTime(in, time.Unix(0, was.time))
			}
			if err != nil {
				return err
			}
		}
	}
	clear(e.cfg.Files)
	maps.Copy(e.cfg.Files, records)
	e.baseState.Begin()
	return w.saveFiles()
}
