package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/basestate"
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
			now := e.baseState.OnDisk(name)
			if own, ok := e.cfg.Files[name]; r.Left == now && (!ok || own.Left != now) {
				e.cfg.Files[name] = r
			}
		}
	}
	return nil
}

// adoptEdits makes what somebody wrote into a file of the program's, since the last run, its new base.
func (e *Engine) adoptEdits() error {
	for name, r := range e.cfg.Files {
		now := e.baseState.OnDisk(name)
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
	if !basestate.IsFile(now) || e.withholdsFile(e.baseState.Path(name)) {
		return nil
	}
	_, err := e.cfg.Store.PutBase(e.baseState.Path(name))
	return err
}

// keptInput is the size up to which a file of the workspace that is read is kept, so that a replay has it when it is
// another.
const keptInput = 1 << 20

// keepInput keeps what a node read of a file of the workspace.
func (e *Engine) keepInput(path string, d state.Digest) {
	if !basestate.IsFile(d) || e.kept[d] || filepath.IsAbs(e.baseState.Short(path)) {
		return
	}
	e.kept[d] = true
	if info, err := os.Stat(path); err != nil || info.Size() > keptInput {
		return
	}
	if data, err := os.ReadFile(path); err == nil && state.DigestOf(data) == d && !e.withholds(data) {
		_, _ = e.cfg.Store.PutBlob(data) // only a convenience: without it, a replay needs the file as it was
	}
}

// keepText keeps the names that a node saw in a directory, or the time of a file.
func (e *Engine) keepText(d state.Digest) {
	if text := e.baseState.Texts[d]; text != nil && !e.withholds(text) {
		_, _ = e.cfg.Store.PutBlob(text)
	}
}

// restoreFiles makes the files that the program writes what p has. Files it never wrote are not touched, nor those that
// keep names.
func (w *walk) restoreFiles(p *programState, keep func(name string, want entry) bool) error {
	if err := w.adoptReused(p); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(w.e.cfg.Files))
	slices.Reverse(names) // what is in a directory goes before it,
	for _, gone := range []bool{true, false} {
		for _, name := range names {
			want := p.get(depgraph.Key("file:" + name))
			if (want.digest == state.Absent) == gone && (keep == nil || !keep(name, want)) {
				if err := w.putFile(p, name, want); err != nil {
					return err
				}
			}
		}
		slices.Reverse(names) // and comes after it
	}
	return w.orderTimes(p)
}

// putFile puts one file in the state wanted, from the store, and records what it left.
func (w *walk) putFile(p *programState, name string, want entry) error {
	e := w.e
	path := e.baseState.Path(name)
	first := string(p.get(depgraph.Key("link:" + name)).digest)
	now := e.baseState.OnDisk(name)
	if now != want.digest {
		if err := e.announce(path); err != nil {
			return fmt.Errorf("note that a file is put back: %w", err)
		}
	}
	switch {
	case want.digest == state.Absent:
		err := basestate.WithAccess(path, func() error { return os.Remove(path) })
		if err != nil && now == basestate.Directory {
			return nil // there is something in it that is not the program's: the directory stays
		}
		if err != nil && !os.IsNotExist(err) && !errors.Is(err, syscall.ENOTDIR) { // a file may be where its folder was
			return fmt.Errorf("take back a file that the program wrote: %w", err)
		}
	case first != "" && first != name:
		if err := relink(e.baseState.Path(first), path); err != nil {
			return fmt.Errorf("put back a link: %w", err)
		}
	case now == want.digest && (first != "" || !e.tied(name)):
	case want.digest == basestate.Directory:
		if now != state.Absent {
			_ = os.Remove(path)
		}
		if err := os.MkdirAll(path, 0o777); err != nil {
			return fmt.Errorf("put back a directory: %w", err)
		}
	default:
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return fmt.Errorf("put back a file: %w", err)
		}
		if err := emptyFolder(name, path, now); err != nil {
			return err
		}
		if target, ok := strings.CutPrefix(string(want.digest), basestate.Symlink); ok {
			_ = os.Remove(path)
			if err := os.Symlink(target, path); err != nil {
				return fmt.Errorf("put back a symbolic link: %w", err)
			}
		} else if err := basestate.WithAccess(path, func() error { return w.putContent(name, want) }); err != nil {
			return err
		}
	}
	if basestate.IsFile(want.digest) || want.digest == basestate.Directory {
		if err := w.putMode(p, name); err != nil {
			return fmt.Errorf("put back permissions: %w", err)
		}
	}
	w.left(name, e.cfg.Files[name], want.digest)
	return nil
}

// emptyFolder removes a folder in the place of a file. What others put into it stays, and is an error.
func emptyFolder(name, path string, now state.Digest) error {
	if now != basestate.Directory || os.Remove(path) == nil {
		return nil
	}
	return &state.Error{
		Code:    CodeFileEdited,
		Message: fmt.Sprintf("%s is a folder with other files now, where the program has a file", name),
		Hint:    "move or rename the folder, then run again",
	}
}

// putContent makes a regular file of the content wanted: in place where the interpreter has it open, so that its handle
// sees it; but not under a handle that only writes, for what is in its buffer may still come.
func (w *walk) putContent(name string, want entry) error {
	e := w.e
	if e.spool == "" {
		if err := e.makeSpool(); err != nil {
			return err
		}
	}
	path, from := e.baseState.Path(name), filepath.Join(e.spool, "put")
	ok, err := e.cfg.Store.BlobToFile(want.digest, from)
	if err != nil {
		return fmt.Errorf("put back %s: %w", name, err)
	}
	if !ok {
		if want.writer < 0 {
			return &state.Error{
				Code: "file-lost",
				Message: fmt.Sprintf(
					"the content that %s had before the program wrote it is gone from the store",
					name,
				),
				Hint: "put the file back by hand, then run again",
			}
		}
		return w.lost(want.writer)
	}
	if e.kernel != nil && e.kernel.HasOpen(path) {
		err = overwrite(path, from)
	} else if err = os.Rename(from, path); errors.Is(err, syscall.EXDEV) { // the store is in another file system
		if err = overwrite(path+temporary, from); err == nil {
			err = os.Rename(path+temporary, path)
		}
	}
	if t := e.cfg.Files[name].Time; err == nil && want.writer < 0 && t != 0 {
		err = os.Chtimes(path, time.Time{}, time.Unix(0, t))
	}
	if err != nil {
		return fmt.Errorf("put back %s: %w", name, err)
	}
	dropCompiled(path)
	return nil
}

// temporary is the suffix of a file that is about to replace one of the program's. A killed run may leave it; the
// reader of the run's journal removes it.
const temporary = ".xstate-tmp"

// overwrite moves the content of a file into another one. A mapped file must not become empty meanwhile.
func overwrite(path, from string) error {
	defer os.Remove(from)
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer dst.Close()
	n, err := io.Copy(dst, src)
	if err == nil {
		err = dst.Truncate(n)
	}
	return err
}

// putMode gives a file the permissions that it has at p.
func (w *walk) putMode(p *programState, name string) error {
	info, err := os.Lstat(w.e.baseState.Path(name))
	if err != nil {
		return err
	}
	want := basestate.UsualMode(info.Mode())
	r := w.e.cfg.Files[name]
	if _, set := p.keys[depgraph.Key("mode:"+name)]; !set && r.Time == 0 && r.Base != state.Absent {
		return nil // recorded before permissions were
	}
	if d := p.get(depgraph.Key("mode:" + name)).digest; d != state.Absent {
		if _, err := fmt.Sscanf(string(d), "%o", &want); err != nil {
			return err
		}
	}
	if info.Mode().Perm() == want {
		return nil
	}
	return os.Chmod(w.e.baseState.Path(name), want)
}

// relink makes path a second name of the file first.
func relink(first, path string) error {
	a, err := os.Stat(first)
	if err != nil {
		return err
	}
	if b, err := os.Lstat(path); err == nil && os.SameFile(a, b) {
		return nil
	} else if err == nil {
		_ = os.Remove(path)
	}
	return os.Link(first, path)
}

// tied reports whether a file is on disk one with another that the program writes.
func (e *Engine) tied(name string) bool {
	info, err := os.Lstat(e.baseState.Path(name))
	return err == nil && linked(info) && len(e.linkGroups()[name]) > 0
}

// linkGroups returns, of each file of the program's that is one with another, the name that comes first.
func (e *Engine) linkGroups() map[string]string {
	type inode struct{ dev, ino uint64 }
	groups := map[inode][]string{}
	for _, name := range slices.Sorted(maps.Keys(e.cfg.Files)) {
		if info, err := os.Lstat(e.baseState.Path(name)); err == nil && linked(info) {
			st := info.Sys().(*syscall.Stat_t)
			i := inode{uint64(st.Dev), st.Ino}
			groups[i] = append(groups[i], name)
		}
	}
	found := map[string]string{}
	for _, names := range groups {
		if len(names) > 1 {
			for _, name := range names {
				found[name] = names[0]
			}
		}
	}
	return found
}

// left notes what is on disk now.
func (w *walk) left(name string, r state.FileRecord, d state.Digest) {
	r.Left = d
	w.e.cfg.Files[name] = r
}

// finalizeFiles leaves the workspace as a fresh run would. Of a run that was stopped, or that was served results, files
// stay as the last node left them.
func (w *walk) finalizeFiles(complete bool) error {
	if err := w.e.recoverFiles(); err != nil { // of an interpreter that died
		return err
	}
	if !complete || w.o.Serve != nil {
		return w.saveFiles()
	}
	if w.e.kernel != nil {
		if _, err := w.detachOthers(context.Background(), w.pos); err != nil {
			return err
		}
	}
	ended, err := w.ended()
	if err == nil {
		err = w.restoreFiles(ended, nil)
	}
	w.e.end = w.pos
	return cmp.Or(err, w.e.saveFiles())
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
	if _, known := p.keys[k]; !known {
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
		if _, known := e.cfg.Files[name]; known {
			continue
		}
		now := e.baseState.OnDisk(name)
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
	fw, err := x.walk.e.beforeWrite(path, before)
	if err != nil {
		return fw, err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		dropCompiled(path)
		return fw, x.putContent(path, &fw.after)
	}
	fw.after = x.walk.e.baseState.OnDisk(x.walk.e.baseState.Short(path))
	return fw, nil
}

// untouched reports whether a file is as it was, though native code or a child process opened it to write: then it is
// no result of the node. Another time is a change, for a process may compare it. Whether the file was there counts as
// read, also where the node removed it: on a file that is not there, the same call fails.
func (x *execution) untouched(path string, before *kernel.FileBefore, fw fileWrite) bool {
	f := &x.seen.Files
	if before == nil || !slices.Contains(f.Maybe, path) {
		return false
	}
	info, err := os.Lstat(path)
	same := err == nil && fw.before == fw.after && uint32(info.Mode().Perm()) == before.Mode&0o777 &&
		(!basestate.IsFile(fw.after) || info.ModTime().UnixNano() == before.Time)
	if same || err != nil {
		if _, read := f.Reads[path]; !read {
			how := "presence"
			f.Reads[path] = &how
		}
	}
	return same
}

// beforeWrite stores what was at a path before a node wrote there.
func (e *Engine) beforeWrite(path string, before *kernel.FileBefore) (fileWrite, error) {
	if before == nil {
		return fileWrite{}, nil
	}
	fw := fileWrite{before: state.Digest(before.Copy), mode: e.modeBefore(path, before.Mode), time: before.Time}
	if basestate.IsFile(fw.before) {
		keep := e.cfg.Store.PutBase
		if _, known := e.cfg.Files[e.baseState.Short(path)]; known {
			keep = e.cfg.Store.PutBlobFile // what a node before wrote there
		}
		if e.withholdsFile(before.Copy) {
			keep = state.RefOf
		}
		ref, err := keep(before.Copy)
		if err != nil {
			return fw, err
		}
		fw.before = ref.Digest
	}
	return fw, nil
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
		info, err := os.Lstat(e.baseState.Path(name))
		links = links || err == nil && linked(info)
	}
	for k := range p.keys {
		if k.Space() == "link" {
			names[k.Name()], links = true, true
		}
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
		now := e.baseState.OnDisk(name)
		fw := fileWrite{before: e.cfg.Files[name].Left, after: now}
		if now == fw.before || now == basestate.Special {
			continue
		}
		if basestate.IsFile(now) {
			if err := x.putContent(e.baseState.Path(name), &fw.after); err != nil {
				return err
			}
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

// putContent stores a copy of a file as it is.
func (x *execution) putContent(path string, digest *state.Digest) error {
	var data []byte
	err := basestate.WithAccess(path, func() (err error) { data, err = os.ReadFile(path); return err })
	if err != nil {
		return fmt.Errorf("keep what block %s wrote: %w", x.node.unit.ID, err)
	}
	if x.walk.e.withholds(data) {
		*digest = state.DigestOf(data)
		return nil
	}
	ref, err := x.walk.e.cfg.Store.PutBlob(data)
	*digest = ref.Digest
	return err
}
