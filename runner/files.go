package runner

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// adoptEdits makes what somebody wrote into a file of the program's, since the last run, its new base.
func (e *Engine) adoptEdits() error {
	for name, r := range e.cfg.Files {
		now := e.world.onDisk(name)
		if now == r.Left {
			continue
		}
		if now != state.Absent && now != digestDir && now != digestSpecial {
			data, err := os.ReadFile(e.world.path(name))
			if err == nil {
				_, err = e.cfg.Store.PutBlob(data)
			}
			if err != nil {
				return fmt.Errorf("keep %s as it was edited: %w", name, err)
			}
		}
		e.cfg.Files[name] = FileRecord{Base: now, Left: now}
	}
	return nil
}

// putFiles makes the files that the program writes what p has. Files it never wrote are not touched.
func (w *walk) putFiles(p *position) error {
	names := slices.Sorted(maps.Keys(w.e.cfg.Files))
	slices.Reverse(names) // what is in a directory goes before it,
	for _, gone := range []bool{true, false} {
		for _, name := range names {
			want := p.get(depgraph.Key("file:" + name))
			if (want.digest == state.Absent) == gone {
				if err := w.putFile(name, want); err != nil {
					return err
				}
			}
		}
		slices.Reverse(names) // and comes after it
	}
	return nil
}

// putFile puts one file in the state wanted, from the store, and records what it left.
func (w *walk) putFile(name string, want entry) error {
	e := w.e
	r := e.cfg.Files[name]
	if e.world.onDisk(name) == want.digest {
		w.left(name, r, want.digest)
		return nil
	}
	path := e.world.path(name)
	if want.digest == state.Absent {
		err := os.Remove(path)
		if err != nil && e.world.onDisk(name) == digestDir {
			return nil // there is something in it that is not the program's: the directory stays
		}
		if err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("take back a file that the program wrote: %w", err)
		}
		w.left(name, r, state.Absent)
		return nil
	}
	if want.digest == digestDir {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return fmt.Errorf("put back a directory: %w", err)
		}
		w.left(name, r, want.digest)
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("put back a file: %w", err)
	}
	ok, err := e.cfg.Store.BlobToFile(want.digest, path+".xstate-tmp")
	if err != nil {
		return fmt.Errorf("put back %s: %w", name, err)
	}
	if !ok {
		if want.writer < 0 {
			return &state.Error{Code: "file-lost", Message: fmt.Sprintf("the content that %s had before the program wrote it is gone from the store", name),
				Hint: "put the file back by hand, then run again"}
		}
		return w.lost(want.writer)
	}
	if info, err := os.Stat(path); err == nil {
		_ = os.Chmod(path+".xstate-tmp", info.Mode().Perm())
	}
	if err := os.Rename(path+".xstate-tmp", path); err != nil {
		return fmt.Errorf("put back %s: %w", name, err)
	}
	w.left(name, r, want.digest)
	return nil
}

// left notes what is on disk now.
func (w *walk) left(name string, r FileRecord, d state.Digest) {
	r.Left = d
	w.e.cfg.Files[name] = r
}

// settleFiles leaves the workspace as a fresh run would. Of a run that was stopped, files stay as the last node left them.
func (w *walk) settleFiles(complete bool) error {
	if !complete {
		return nil
	}
	for k, e := range w.pos.keys {
		if k.Space() != "file" {
			continue
		}
		if _, known := w.e.cfg.Files[k.Name()]; !known { // written in another session, reused here
			if err := w.adopt(k.Name(), e); err != nil {
				return err
			}
		}
	}
	return w.putFiles(w.pos)
}

// adopt begins to keep a record of a file that a reused result writes.
func (w *walk) adopt(name string, now entry) error {
	base := w.e.world.get(depgraph.Key("file:" + name))
	if base != state.Absent && base != digestDir && base != now.digest {
		data, err := os.ReadFile(w.e.world.path(name))
		if err == nil {
			_, err = w.e.cfg.Store.PutBlob(data)
		}
		if err != nil {
			return fmt.Errorf("keep %s as it was before the program: %w", name, err)
		}
	}
	w.e.cfg.Files[name] = FileRecord{Base: base, Left: base}
	return nil
}

// fileBefore is the digest of a file before the node: as the position has it, which for a file that no node wrote is
// what was on disk when the run began.
func (w *walk) fileBefore(p *position, k depgraph.Key, path string, writes map[string]fileWrite) state.Digest {
	if _, known := p.keys[k]; !known {
		if fw, ok := writes[k.Name()]; ok {
			if _, asked := w.e.world.base[k]; !asked {
				if _, recorded := w.e.cfg.Files[k.Name()]; !recorded {
					w.e.world.base[k] = fw.before
				}
			}
		}
	}
	return p.get(k).digest
}

// fileWrite is a file the node wrote, with its content before and after.
type fileWrite struct{ before, after state.Digest }

// fileWrites stores the content of the files written, before (the first time) and after, and notes both in the
// session's records. Names are as in keys.
func (x *execution) fileWrites() (map[string]fileWrite, error) {
	e := x.walk.e
	found := map[string]fileWrite{}
	for path, copied := range x.reply.Files.Writes {
		name := e.world.short(path)
		fw := fileWrite{}
		if copied != nil && *copied == "directory" {
			fw.before = digestDir
		} else if copied != nil {
			ref, err := e.cfg.Store.PutBlobFile(*copied)
			if err != nil {
				return nil, err
			}
			fw.before = ref.Digest
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			if err := x.putContent(path, &fw.after); err != nil {
				return nil, err
			}
		} else if err == nil && info.IsDir() {
			fw.after = digestDir
		}
		e.noteWrite(name, fw)
		if _, asked := e.world.base[depgraph.Key("file:"+name)]; !asked {
			e.world.base[depgraph.Key("file:"+name)] = e.cfg.Files[name].Base
		}
		found[name] = fw
	}
	if err := x.throughHandles(found); err != nil || len(found) == 0 || e.cfg.OnFiles == nil || x.walk.o.Discard {
		return found, err
	}
	return found, e.cfg.OnFiles(e.cfg.Files)
}

func (e *Engine) noteWrite(name string, fw fileWrite) {
	r, known := e.cfg.Files[name]
	if !known {
		r.Base = fw.before
	}
	r.Left = fw.after
	e.cfg.Files[name] = r
}

// throughHandles adds the files that the program wrote before and that have changed without being opened: through a
// handle, a mapping or a connection that an earlier node opened.
func (x *execution) throughHandles(found map[string]fileWrite) error {
	e := x.walk.e
	for _, name := range slices.Sorted(maps.Keys(e.cfg.Files)) {
		if _, seen := found[name]; seen {
			continue
		}
		now := e.world.onDisk(name)
		fw := fileWrite{before: e.cfg.Files[name].Left, after: now}
		if now == fw.before || now == digestSpecial {
			continue
		}
		if now != state.Absent && now != digestDir {
			if err := x.putContent(e.world.path(name), &fw.after); err != nil {
				return err
			}
		}
		e.noteWrite(name, fw)
		found[name] = fw
		if x.reply.Files.Reads == nil {
			x.reply.Files.Reads = map[string]*string{}
		}
		x.reply.Files.Reads[e.world.path(name)] = nil
	}
	return nil
}

// putContent stores a copy of a file as it is.
func (x *execution) putContent(path string, digest *state.Digest) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("keep what block %s wrote: %w", x.node.unit.ID, err)
	}
	ref, err := x.walk.e.cfg.Store.PutBlob(data)
	*digest = ref.Digest
	return err
}
