package runner

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/basestate"
	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/state"
)

// Files are restored while no node runs: before one executes, and at the end. A thread or a child process of the
// program cannot lead the engine elsewhere meanwhile, see package beneath. Each file is announced in the journal before
// it changes. So if an operation fails, or the engine is killed, the next run takes the file for the engine's own, and
// not for an edit.

// restoreFiles makes the files that the program writes what p has. Files it never wrote are not touched, nor those that
// keep names.
func (w *walk) restoreFiles(p *programState, keep func(name string, want entry) bool) error {
	if err := cmp.Or(w.adoptReused(p), w.e.baseState.Failure()); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(w.e.cfg.Files))
	slices.Reverse(names) // what is in a directory goes before it,
	for _, gone := range []bool{true, false} {
		for _, name := range names {
			want := p.get(depgraph.Key("file:" + name))
			if isGone(want.digest) == gone && (keep == nil || !keep(name, want)) {
				if err := w.putFile(p, name, want); err != nil {
					return behindLink(name, err)
				}
			}
		}
		slices.Reverse(names) // and comes after it
	}
	if err := w.orderTimes(p); err != nil {
		return err
	}
	return w.e.baseState.Failure()
}

// isGone reports whether there is to be no file: none at all, or one behind a link that takes the place of a folder.
func isGone(d state.Digest) bool { return d == state.Absent || basestate.IsBehind(d) }

// CodeBehindLink is the code of the error of a file that cannot be restored because a link is on the way to it.
const CodeBehindLink state.Code = "file-behind-link"

// behindLink explains an error of a file with a link on the way to it.
func behindLink(name string, err error) error {
	var link *beneath.LinkError
	if !errors.As(err, &link) {
		return err
	}
	return &state.Error{
		Code: CodeBehindLink,
		Message: fmt.Sprintf("%s cannot be restored: %s is a symbolic link now, and xstate changes no file through one",
			name, link.Path),
		Hint: "put the folder itself in the place of the link, or run with `--fresh`: then the program writes the file",
		Err:  err,
	}
}

// putFile puts one file in the state wanted, from the store, and records what it left.
func (w *walk) putFile(p *programState, name string, want entry) error {
	e := w.e
	folder, in, err := e.baseState.Place(name)
	if err != nil {
		return err
	}
	first := string(p.get(depgraph.Key("link:" + name)).digest)
	now, err := e.baseState.Look(name)
	if err != nil {
		return fmt.Errorf("look at a file that is to be restored: %w", err)
	}
	if now != want.digest {
		if err := e.announce(e.baseState.Path(name)); err != nil {
			return fmt.Errorf("note that a file is put back: %w", err)
		}
	}
	switch {
	case want.digest == basestate.Unreadable:
		return fmt.Errorf("restore %s: %w", name, e.baseState.Failure())
	case isGone(want.digest):
		err := folder.WithAccess(in, func() error { return folder.Remove(in) })
		if now == basestate.Directory && holdsOthers(err) {
			return nil // there is something in it that is not the program's: the directory stays
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) { // a file is above it
			return fmt.Errorf("take back a file that the program wrote: %w", err)
		}
	case first != "" && first != name:
		if err := e.relink(first, name); err != nil {
			return fmt.Errorf("put back a link: %w", err)
		}
	case now == want.digest && (first != "" || !e.tied(name)):
	case want.digest == basestate.Directory:
		if err := makeRoom(folder, in); err != nil {
			return fmt.Errorf("put back a directory: %w", err)
		}
		if err := folder.MkdirAll(in, 0o777); err != nil {
			return fmt.Errorf("put back a directory: %w", err)
		}
	default:
		if err := folder.MkdirAll(path.Dir(in), 0o777); err != nil {
			return fmt.Errorf("put back a file: %w", err)
		}
		if now == basestate.Directory {
			if err := emptyFolder(folder, in); err != nil {
				return err
			}
		}
		if target, ok := strings.CutPrefix(string(want.digest), basestate.Symlink); ok {
			err := makeRoom(folder, in)
			if err == nil {
				err = folder.Symlink(target, in)
			}
			if err != nil {
				return fmt.Errorf("put back a symbolic link: %w", err)
			}
		} else if err := folder.WithAccess(in, func() error { return w.putContent(p, name, want) }); err != nil {
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

// holdsOthers reports whether a folder could not be removed because of what is in it.
func holdsOthers(err error) bool {
	for _, others := range []error{syscall.ENOTEMPTY, syscall.EEXIST, syscall.EBUSY} {
		if errors.Is(err, others) {
			return true
		}
	}
	return errors.Is(err, fs.ErrPermission)
}

// left notes what is on disk now.
func (w *walk) left(name string, r state.FileRecord, d state.Digest) {
	r.Left = d
	w.e.cfg.Files[name] = r
}

// emptyFolder removes a folder in the place of a file. Files of others in it stay, and are an error.
func emptyFolder(folder *beneath.Folder, name string) error {
	err := folder.Remove(name)
	if err == nil || !holdsOthers(err) {
		return err
	}
	return &state.Error{
		Code:    CodeFileEdited,
		Message: fmt.Sprintf("%s is a folder with other files now, where the program has a file", name),
		Hint:    "move or rename the folder, then run again",
	}
}

// errNoContent says that the store lacks the content of a file.
var errNoContent = errors.New("the store does not have the content")

// lostContent says that the store lacks what a node wrote to a file: it executes again.
type lostContent struct{ writer int }

func (e *lostContent) Error() string { return fmt.Sprintf("node %d: %v", e.writer, errNoContent) }

// putContent makes a regular file of the content wanted: in place where the interpreter has it open, so that its handle
// sees it; but not under a handle that only writes, for what is in its buffer may still come.
func (w *walk) putContent(p *programState, name string, want entry) error {
	e := w.e
	folder, in, err := e.baseState.Place(name)
	if err != nil {
		return err
	}
	fill := func(to io.Writer) error {
		ok, err := e.cfg.Store.CopyBlob(to, want.digest)
		if err == nil && !ok {
			err = errNoContent
		}
		return err
	}
	if e.kernel != nil && e.kernel.HasOpen(e.baseState.Path(name)) {
		if err = fill(io.Discard); err == nil { // a damaged content must not come into an open file
			err = folder.Update(in, func(c *beneath.Content) error { return fill(c) })
		}
	} else {
		attributes := beneath.Attributes{Mode: 0o666 &^ beneath.Umask()}
		if mode, known := w.modeAt(p, name, attributes.Mode); known {
			attributes.Mode = mode
		} else if info, err := folder.Info(in); err == nil && info.Regular() {
			attributes.Mode = info.Mode.Perm()
		}
		err = folder.Replace(in, attributes, func(c *beneath.Content) error { return fill(c) })
	}
	if t := e.cfg.Files[name].Time; err == nil && want.writer < 0 && t != 0 {
		err = folder.SetTime(in, time.Unix(0, t))
	}
	if errors.Is(err, errNoContent) && want.writer >= 0 {
		return &lostContent{want.writer}
	}
	if errors.Is(err, errNoContent) {
		return &state.Error{
			Code:    "file-lost",
			Message: fmt.Sprintf("the content that %s had before the program wrote it is gone from the store", name),
			Hint:    "put the file back by hand, then run again",
		}
	}
	if err != nil {
		return fmt.Errorf("put back %s: %w", name, err)
	}
	dropCompiled(e.baseState, name)
	return nil
}

// putMode gives a file the permissions that it has at p.
func (w *walk) putMode(p *programState, name string) error {
	folder, in, err := w.e.baseState.Place(name)
	if err != nil {
		return err
	}
	info, err := folder.Info(in)
	if err != nil {
		return err
	}
	want, known := w.modeAt(p, name, basestate.UsualMode(info.Mode))
	if !known || info.Mode.Perm() == want {
		return nil
	}
	return folder.Chmod(in, want)
}

// modeAt returns the permissions that a file has at p: usual are those of a new one. They are not known where the file
// was recorded before permissions were.
func (w *walk) modeAt(p *programState, name string, usual fs.FileMode) (mode fs.FileMode, known bool) {
	k, r := depgraph.Key("mode:"+name), w.e.cfg.Files[name]
	if _, set := p.keys.find(k); !set && r.Time == 0 && r.Base != state.Absent {
		return usual, false
	}
	mode = usual
	if d := p.get(k).digest; d != state.Absent {
		if _, err := fmt.Sscanf(string(d), "%o", &mode); err != nil {
			return usual, false
		}
	}
	return mode, true
}
