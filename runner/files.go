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

// putFiles makes the files that the program writes what p has. Files it never wrote are not touched.
func (w *walk) putFiles(p *position) error {
	for _, name := range slices.Sorted(maps.Keys(w.e.cfg.Files)) {
		if err := w.putFile(name, p.get(depgraph.Key("file:"+name))); err != nil {
			return err
		}
	}
	return nil
}

// putFile puts one file in the state wanted, from the store, and records what it left.
func (w *walk) putFile(name string, want entry) error {
	e := w.e
	r := e.cfg.Files[name]
	if e.world.onDisk(name) == want.digest {
		return w.left(name, r, want.digest)
	}
	path := e.world.path(name)
	if want.digest == state.Absent {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("take back a file that the program wrote: %w", err)
		}
		return w.left(name, r, state.Absent)
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
	return w.left(name, r, want.digest)
}

func (w *walk) left(name string, r FileRecord, d state.Digest) error {
	r.Left = d
	w.e.cfg.Files[name] = r
	return nil
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
	if base != state.Absent && base != now.digest {
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
