package runner

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/basestate"
	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// adoptRelatives takes over what other versions of the same program, forks in this workspace, left in files. It is no
// part of the workspace as it was before the program: else it would pass for an edit, or for a file of the user's, and
// a program that looks at a file before it writes it would see what another version made of it.
func (e *Engine) adoptRelatives() error {
	if e.cfg.Relatives == nil {
		return nil
	}
	all, err := e.cfg.Relatives()
	if err != nil {
		return err
	}
	for _, files := range all {
		for name, r := range files {
			now, err := e.baseState.Look(name)
			if err != nil {
				return fmt.Errorf("look at a file of another version of the program: %w", err)
			}
			if own, ok := e.cfg.Files[name]; r.Left == now && (!ok || own.Left != now) {
				e.cfg.Files[name] = r
			}
		}
	}
	return nil
}

// adoptEdits makes a user's edit of a file of the program, since the last run, its new base.
func (e *Engine) adoptEdits() error {
	for name, r := range e.cfg.Files {
		now, err := e.baseState.Look(name)
		if err != nil {
			return fmt.Errorf("look at a file that the program writes: %w", err)
		}
		if now == r.Left {
			continue
		}
		if err := e.keepBase(name, now); err != nil {
			return fmt.Errorf("keep %s as it was edited: %w", name, err)
		}
		r = state.FileRecord{Base: now, Left: now, Edited: now != state.Absent}
		r.Mode, r.Time = e.baseState.Attributes(name)
		e.cfg.Files[name] = r
	}
	return nil
}

// keepBase stores the content that a file has before the program writes it.
func (e *Engine) keepBase(name string, now state.Digest) error {
	if !basestate.IsFile(now) {
		return nil
	}
	_, err := e.keepFile(name, e.cfg.Store.PutBase)
	return err
}

// keepFile passes an open file of the workspace to the store, unless it holds a secret. It returns the digest of the
// content in both cases.
func (e *Engine) keepFile(name string, keep func(*os.File) (state.BlobRef, error)) (ref state.BlobRef, err error) {
	folder, in, err := e.baseState.Place(name)
	if err != nil {
		return ref, err
	}
	return ref, folder.WithAccess(in, func() error {
		f, err := folder.File(in)
		if err != nil {
			return err
		}
		defer f.Close()
		ref, err = e.keepOpen(f, keep)
		return err
	})
}

// keepOpen is keepFile for an open file.
func (e *Engine) keepOpen(f *os.File, keep func(*os.File) (state.BlobRef, error)) (state.BlobRef, error) {
	withheld := e.withholdsFile(f)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return state.BlobRef{}, err
	}
	if withheld {
		return state.RefOf(f)
	}
	return keep(f)
}

// keptInput is the size up to which a file of the workspace that is read is kept, so that a replay has it when it is
// another.
const keptInput = 1 << 20

// keepInput keeps what a node read of a file of the workspace.
func (e *Engine) keepInput(path string, d state.Digest) {
	name := e.baseState.Short(path)
	if !basestate.IsFile(d) || e.kept[d] || filepath.IsAbs(name) {
		return
	}
	e.kept[d] = true
	if info, err := e.baseState.Info(name); err != nil || info.Size > keptInput {
		return
	}
	folder, in, err := e.baseState.Place(name)
	if err != nil {
		return
	}
	if data, err := folder.ReadFile(in); err == nil && state.DigestOf(data) == d && !e.withholds(data) {
		_, _ = e.cfg.Store.PutBlob(data) // only a convenience: without it, a replay needs the file as it was
	}
}

// keepText keeps the names that a node saw in a directory, or the time of a file.
func (e *Engine) keepText(d state.Digest) {
	if text := e.baseState.Texts[d]; text != nil && !e.withholds(text) {
		_, _ = e.cfg.Store.PutBlob(text)
	}
}

// adoptReused begins to keep records of the files that reused results wrote, which were recorded elsewhere: in another
// session, or aside. It must come before a node executes that looks for them.
func (w *walk) adoptReused(p *programState) error {
	for _, name := range w.written {
		if _, known := w.e.cfg.Files[name]; !known {
			if err := w.adopt(name, p.get(depgraph.Key("file:"+name))); err != nil {
				return err
			}
		}
	}
	if w.written == nil || w.o.Discard {
		return nil
	}
	w.written = nil
	return w.e.keepFiles() // before they are written: what they held must not be forgotten
}

// adopt begins to keep a record of a file that a reused result writes.
func (w *walk) adopt(name string, now entry) error {
	base := w.e.baseState.Get(depgraph.Key("file:" + name))
	if base != now.digest {
		if err := w.e.keepBase(name, base); err != nil {
			return fmt.Errorf("keep %s as it was before the program: %w", name, err)
		}
	}
	r := state.FileRecord{Base: base, Left: base}
	r.Mode, r.Time = w.e.baseState.Attributes(name)
	w.e.cfg.Files[name] = r
	return nil
}

// fileBefore returns the digest of a file before the node. The program state has it; for a file that no node wrote, it
// is the digest on disk when the run began.
func (w *walk) fileBefore(p *programState, k depgraph.Key, path string, writes map[string]fileWrite) state.Digest {
	if _, known := p.keys.find(k); !known {
		if fw, ok := writes[k.Name()]; ok {
			if _, recorded := w.e.cfg.Files[k.Name()]; !recorded {
				w.e.baseState.SetAnswer(k, fw.before)
			}
		}
	}
	return p.get(k).digest
}

// fileWrite is a file the node wrote, with its content before and after.
type fileWrite struct {
	before, after state.Digest
	mode          state.Digest // before
	time          int64        // before
}

// fileWrites stores the content of the files written, before (the first time) and after, and notes both in the
// session's records. Names are as in keys.
func (x *execution) fileWrites() (map[string]fileWrite, error) {
	e := x.walk.e
	found := map[string]fileWrite{}
	for path, before := range x.seen.Files.Writes {
		name := e.baseState.Short(path)
		if !e.mayWrite(path) {
			debugf("kernel", "a write that the bounds forbid: %s", path)
			continue
		}
		fw, err := x.fileWrite(path, before)
		if err != nil {
			return nil, err
		}
		if x.untouched(path, before, fw) {
			continue
		}
		e.noteWrite(name, fw)
		e.baseState.SetAnswer(depgraph.Key("file:"+name), e.cfg.Files[name].Base)
		found[name] = fw
	}
	for path, mode := range x.seen.Files.Chmods {
		name := e.baseState.Short(path)
		if _, known := e.cfg.Files[name]; known || !e.mayWrite(path) {
			continue
		}
		now, err := e.baseState.Look(name)
		if err != nil {
			return nil, fmt.Errorf("look at a file whose permissions block %s changed: %w", x.node.unit.ID, err)
		}
		if err := e.keepBase(name, now); err != nil {
			return nil, err
		}
		r := state.FileRecord{Base: now, Left: now, Mode: e.modeBefore(path, mode)}
		_, r.Time = e.baseState.Attributes(name)
		e.cfg.Files[name] = r
	}
	if err := x.throughHandles(found); err != nil {
		return nil, err
	}
	return found, x.walk.saveFiles()
}

func (x *execution) fileWrite(path string, before *kernel.FileBefore) (fileWrite, error) {
	e := x.walk.e
	fw, err := e.beforeWrite(path, before, e.spool)
	if err != nil {
		return fw, err
	}
	fw.after, err = x.keepContent(e.baseState.Short(path))
	return fw, err
}

// keepContent stores what a node left at a path, and returns its digest. Where a folder above was replaced by a link,
// the node removed the file.
func (x *execution) keepContent(name string) (state.Digest, error) {
	e := x.walk.e
	now, err := e.baseState.Look(name)
	if basestate.IsFile(now) {
		now, err = e.keepNow(name)
		dropCompiled(e.baseState, name)
	}
	if err != nil {
		return now, fmt.Errorf("keep what block %s wrote: %w", x.node.unit.ID, err)
	}
	if basestate.IsBehind(now) {
		now = state.Absent
	}
	return now, nil
}

// keepNow stores the content of a file, which another process may be writing: it is read once.
func (e *Engine) keepNow(name string) (state.Digest, error) {
	folder, in, err := e.baseState.Place(name)
	if err != nil {
		return state.Absent, err
	}
	var data []byte
	err = folder.WithAccess(in, func() (err error) { data, err = folder.ReadFile(in); return err })
	if err != nil || e.withholds(data) {
		return state.DigestOf(data), err
	}
	ref, err := e.cfg.Store.PutBlob(data)
	return ref.Digest, err
}

// untouched reports whether a file is as it was, though native code or a child process opened it to write: then it is
// no result of the node. Another time is a change, for a process may compare it. Whether the file was there counts as
// read, also where the node removed it: on a file that is not there, the same call fails.
func (x *execution) untouched(path string, before *kernel.FileBefore, fw fileWrite) bool {
	f := &x.seen.Files
	if before == nil || !slices.Contains(f.Maybe, path) {
		return false
	}
	info := x.walk.e.baseState.Stat(x.walk.e.baseState.Short(path))
	same := info != nil && fw.before == fw.after && uint32(info.Mode.Perm()) == before.Mode&0o777 &&
		(!basestate.IsFile(fw.after) || info.Time.UnixNano() == before.Time)
	if same || info == nil {
		if _, read := f.Reads[path]; !read {
			how := "presence"
			f.Reads[path] = &how
		}
	}
	return same
}

// beforeWrite stores what was at a path before a node wrote there. spool is the folder of the kernel that says so.
func (e *Engine) beforeWrite(path string, before *kernel.FileBefore, spool *beneath.Folder) (fileWrite, error) {
	if before == nil {
		return fileWrite{}, nil
	}
	fw := fileWrite{before: state.Digest(before.Copy), mode: e.modeBefore(path, before.Mode), time: before.Time}
	if !basestate.IsFile(fw.before) {
		return fw, nil
	}
	keep := e.cfg.Store.PutBase
	if _, known := e.cfg.Files[e.baseState.Short(path)]; known {
		keep = e.cfg.Store.PutBlobFile // what a node before wrote there
	}
	if before.Copy == path { // it was not written
		ref, err := e.keepFile(e.baseState.Short(path), keep)
		fw.before = ref.Digest
		return fw, err
	}
	f, err := openIn(spool, before.Copy)
	if err != nil {
		return fw, fmt.Errorf("open the copy of %s from before it was written: %w", path, err)
	}
	defer f.Close()
	ref, err := e.keepOpen(f, keep)
	fw.before = ref.Digest
	return fw, err
}

func (e *Engine) modeBefore(path string, mode uint32) state.Digest {
	kind := fs.FileMode(0)
	if e.baseState.OnDisk(e.baseState.Short(path)) == basestate.Directory {
		kind = fs.ModeDir
	}
	return basestate.ModeDigest(kind | fs.FileMode(mode))
}

// fileAttributes returns what else a node made of files: permissions, and which are one with another.
func (x *execution) fileAttributes(files map[string]fileWrite) []state.Access {
	e, p := x.walk.e, x.pos
	names := map[string]bool{}
	for name := range files {
		names[name] = true
	}
	for path := range x.seen.Files.Chmods {
		names[e.baseState.Short(path)] = true
	}
	var found []state.Access
	note := func(k depgraph.Key, now state.Digest) {
		if p.get(k).digest != now {
			found = append(found, state.Access{Key: k, Digest: now})
		}
	}
	links := false
	for name := range names {
		mode, _ := e.baseState.Attributes(name)
		note(depgraph.Key("mode:"+name), mode)
		info := e.baseState.Stat(name)
		links = links || info != nil && linked(info)
	}
	for k := range p.keys.in("link") {
		names[k.Name()], links = true, true
	}
	if links {
		groups := e.linkGroups()
		for name := range groups { // a child process may have linked a file that an earlier node wrote
			names[name] = true
		}
		for name := range names {
			note(depgraph.Key("link:"+name), state.Digest(groups[name]))
		}
	}
	return found
}

func (e *Engine) noteWrite(name string, fw fileWrite) {
	r, known := e.cfg.Files[name]
	if !known {
		r.Base, r.Mode, r.Time = fw.before, fw.mode, fw.time
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
		now, err := e.baseState.Look(name)
		if err != nil {
			return fmt.Errorf("look at what block %s wrote: %w", x.node.unit.ID, err)
		}
		fw := fileWrite{before: e.cfg.Files[name].Left, after: now}
		if now == fw.before || now == basestate.Special {
			continue
		}
		if fw.after, err = x.keepContent(name); err != nil {
			return err
		}
		if fw.after == fw.before {
			continue // another process put a link above it
		}
		e.noteWrite(name, fw)
		found[name] = fw
		if x.seen.Files.Reads == nil {
			x.seen.Files.Reads = map[string]*string{}
		}
		x.seen.Files.Reads[e.baseState.Path(name)] = nil
	}
	return nil
}
