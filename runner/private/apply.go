package private

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// CodeConflict is the code of errors about files that changed in the original, too.
const CodeConflict state.Code = "file-conflict"

// Hold locks a view and its original for the caller, with their sessions: nothing runs in either until release.
func (v *View) Hold(ctx context.Context) (release func(), err error) {
	mine, err := v.store.LockRun(ctx, v.Session, v.Folder)
	if err != nil {
		return nil, err
	}
	theirs, err := v.store.LockRun(ctx, v.Parent, v.Original)
	if err != nil {
		return nil, errors.Join(err, mine.Release())
	}
	return func() {
		_ = theirs.Release() // these files have no unwritten data
		_ = mine.Release()
	}, nil
}

// Apply makes the changes of a comparison in the original, all of them, or none if one is in conflict. The caller still
// holds both folders. It records that as a step of Parent, which it returns; 0 if there was nothing to apply. After it
// failed or was killed it is called again, on another comparison.
func (c *Comparison) Apply(ctx context.Context, origin state.Origin) (state.StepNumber, error) {
	if err := c.conflict(); err != nil {
		return 0, err
	}
	staged := filepath.Join(c.view.home, stagedName)
	if err := removeAll(staged); err != nil { // left by a process that was killed
		return 0, failed("prepare to apply", err)
	}
	defer removeAll(staged)
	if err := c.stage(staged); err != nil {
		return 0, failed("copy the changed files", err)
	}
	for i := range c.Changes {
		if err := c.unmoved(&c.Changes[i]); err != nil {
			return 0, err
		}
	}
	if err := c.put(staged); err != nil {
		return 0, failed("apply the changes", err)
	}
	step, err := c.record(context.WithoutCancel(ctx), origin)
	if err != nil {
		return 0, err
	}
	return step, failed("note what was applied", c.rebase())
}

// conflict returns the error of changes that were made in the original, too.
func (c *Comparison) conflict() error {
	var names []string
	for i := range c.Changes {
		if x := &c.Changes[i]; x.Conflict != "" {
			names = append(names, fmt.Sprintf("%s (%s)", x.Path, x.Conflict))
		}
	}
	if len(names) == 0 {
		return nil
	}
	more := ""
	if n := len(names) - 10; n > 0 {
		names, more = names[:10], fmt.Sprintf(" and %d more", n)
	}
	return &state.Error{
		Code: CodeConflict,
		Message: fmt.Sprintf("changed in %s, too, since the private folder was made: %s%s; nothing was applied",
			c.view.Original, strings.Join(names, ", "), more),
		Hint: fmt.Sprintf("`xstate diff --files %s` shows both; name the PATHs to apply the others alone, "+
			"or make the file alike in %s first", c.view.Session, c.view.Folder),
	}
}

// unmoved fails where a file of the original has changed since the comparison.
func (c *Comparison) unmoved(x *Change) error {
	now := signature{}
	if info, err := c.theirs.Info(x.Path); err == nil {
		now = signatureOf(info)
	}
	if x.original.Kind == folder || x.original.Kind == nothing && now == (signature{}) || now == x.seen {
		return nil
	}
	return &state.Error{
		Code:    CodeConflict,
		Message: fmt.Sprintf("%s was changed in the meantime; nothing was applied", x.Path),
		Hint:    "`xstate apply " + c.view.Session + "` compares again",
	}
}

// stage copies the files that are to be moved, so that a rename is all that is left for each.
func (c *Comparison) stage(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	staged, err := beneath.Open(folder)
	if err != nil {
		return err
	}
	defer staged.Close()
	copier := &copying{dst: staged}
	for i := range c.Changes {
		if c.Changes[i].view.Kind != regular {
			continue
		}
		src, err := c.mine.File(c.Changes[i].Path)
		if err != nil {
			return err
		}
		made, err := copier.copyOpen(src, strconv.Itoa(i))
		_ = src.Close()
		if err == nil && (made == nil || made.Is != c.Changes[i].view) {
			err = fmt.Errorf("%s is being written", c.Changes[i].Path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// put makes the changes: it removes what is in a folder before the folder, and adds it after.
func (c *Comparison) put(in string) error {
	staged, err := beneath.Open(in)
	if err != nil {
		return err
	}
	defer staged.Close()
	for i := len(c.Changes) - 1; i >= 0; i-- {
		x := &c.Changes[i]
		if x.original.Kind == nothing || x.view.Kind == x.original.Kind {
			continue
		}
		err := c.theirs.Remove(x.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) &&
			(x.view.Kind != nothing || x.original.Kind != folder) { // what is left out of a view may be in a folder
			return err
		}
	}
	first := map[uint64]string{}
	for i := range c.Changes {
		if err := c.putOne(&c.Changes[i], staged, strconv.Itoa(i), first); err != nil {
			return err
		}
	}
	for i := len(c.Changes) - 1; i >= 0; i-- { // after what is in them was written
		if x := &c.Changes[i]; x.view.Kind == folder {
			if err := c.theirs.Chmod(x.Path, x.view.Mode); err != nil {
				return err
			}
		}
	}
	return nil
}

// putOne makes one change, of a regular file from one that was staged. first holds the first path of each file with
// several names.
func (c *Comparison) putOne(x *Change, staged *beneath.Folder, file string, first map[uint64]string) error {
	if x.view.Kind != nothing {
		if err := c.theirs.MkdirAll(path.Dir(x.Path), 0o777); err != nil {
			return err
		}
	}
	switch x.view.Kind {
	case folder:
		return c.theirs.MkdirAll(x.Path, 0o777)
	case link:
		target, temp := redirected(x.view.Target, x.Path, c.view.Folder, c.view.Original), x.Path+beneath.Temporary
		_ = c.theirs.Remove(temp)
		return errors.Join(c.theirs.Symlink(target, temp), c.theirs.Rename(temp, x.Path))
	case regular:
		if info, err := c.mine.Info(x.Path); err == nil && info.Links > 1 {
			if was := first[info.Inode]; was != "" {
				_ = c.theirs.Remove(x.Path)
				return c.theirs.Link(was, x.Path)
			}
			first[info.Inode] = x.Path
		}
		return replace(staged, file, c.theirs, x.Path)
	}
	return nil
}

// replace moves a file over another, at once, from another file system, too.
func replace(from *beneath.Folder, staged string, to *beneath.Folder, path string) error {
	err := beneath.Move(from, staged, to, path)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	src, err := from.File(staged)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := beneath.Described(src)
	if err != nil {
		return err
	}
	attributes := beneath.Attributes{Mode: info.Mode & modeBits, Time: info.Time}
	return to.Replace(path, attributes, func(c *beneath.Content) error { _, err := io.Copy(c, src); return err })
}

// applied returns the paths that are alike in both now and differ from the base: those of this call, and of one that
// was killed.
func (c *Comparison) applied() map[string]entry {
	found := map[string]entry{}
	for i := range c.Changes {
		found[c.Changes[i].Path] = c.Changes[i].view
	}
	for _, path := range c.same {
		found[path] = entry{}
		if info, err := c.mine.Info(path); err == nil {
			e, err := entryOf(c.mine, path, info)
			if err == nil && e.Kind == regular {
				e.Digest, err = digestOf(c.mine, path)
			}
			if err == nil {
				found[path] = e
			}
		}
	}
	return found
}

// record commits a step in the session of the original that says what was applied, and returns it. With it that session
// gets the records of the files that the private one's program wrote. Else they would pass for a user's edits there.
func (c *Comparison) record(ctx context.Context, origin state.Origin) (state.StepNumber, error) {
	store, applied := c.view.store, c.applied()
	if len(applied) == 0 {
		return 0, nil
	}
	head, _, err := store.Head(ctx, c.view.Session)
	if err != nil {
		return 0, err
	}
	what := &state.Application{From: c.view.Session, Step: head, Count: len(applied)}
	lines := ""
	for _, path := range slices.Sorted(maps.Keys(applied)) {
		d := digestIn(applied[path])
		lines += string(d) + " " + path + "\n"
		if len(what.Files) < state.MaxAppliedFiles {
			what.Files = append(what.Files, state.AppliedFile{Path: path, Digest: d})
		}
	}
	what.List = state.DigestOf([]byte(lines))
	from, to := map[string]state.FileRecord{}, map[string]state.FileRecord{}
	if _, err := store.SessionRecord(ctx, c.view.Session, query.RecordFiles, &from); err != nil {
		return 0, err
	}
	if _, err := store.SessionRecord(ctx, c.view.Parent, query.RecordFiles, &to); err != nil {
		return 0, err
	}
	for path, e := range applied {
		if r, ok := from[path]; ok && r.Left == digestIn(e) {
			to[path] = r
		}
	}
	draft := state.Draft{
		Kind: state.KindDeclare, Origin: origin, Applied: what, Records: map[string]any{query.RecordFiles: to},
	}
	for {
		head, _, err := store.Head(ctx, c.view.Parent)
		if err != nil {
			return 0, err
		}
		steps, err := store.Commit(ctx, c.view.Parent, head, []state.Draft{draft})
		if err == nil {
			return steps[0].Number, nil
		}
		if state.CodeOf(err) != state.CodeConflict { // not a concurrent edit of the program
			return 0, err
		}
	}
}

// digestIn returns the digest that a record of files has for what is at a path, see basestate.
func digestIn(e entry) state.Digest {
	switch e.Kind {
	case folder:
		return "directory"
	case link:
		return "symlink:" + state.Digest(e.Target)
	}
	return e.Digest
}

// rebase makes what was applied part of the base. Its signatures would be newer than the others, so it has none.
func (c *Comparison) rebase() error {
	for path, e := range c.applied() {
		if e.Kind == nothing {
			delete(c.base.Entries, path)
		} else {
			c.base.Entries[path] = baseEntry{Is: e}
		}
	}
	return c.base.write(filepath.Join(c.view.home, baseName))
}

// Paths returns the paths of the changes.
func (c *Comparison) Paths() (paths []string) {
	for i := range c.Changes {
		paths = append(paths, c.Changes[i].Path)
	}
	slices.Sort(paths)
	return paths
}
