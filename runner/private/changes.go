package private

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/state"
)

// Op says how a path of a view differs from its base.
type Op string

// How a path differs.
const (
	Added   Op = "added"
	Changed Op = "changed"
	Removed Op = "removed"
)

// Change is a path where a view differs from its base, and from the original as it is now.
type Change struct {
	Path     string // relative, with slashes
	Op       Op
	Kind     string // file, folder or link: what is in the view, or what was removed
	Conflict Op     // what happened to the path in the original since the view was made; "": nothing

	was, view, original entry
	seen                signature // signature of the file in the original
}

// Comparison is how a view differs.
type Comparison struct {
	Changes []Change
	Behind  []string // paths that changed in the original alone
	view    *View
	base    *base
	mine    *beneath.Folder // the view
	theirs  *beneath.Folder // the original
	same    []string        // paths that changed alike in both
}

// Compare compares a view with its base and with the original. The caller holds both, see Hold.
func (v *View) Compare() (*Comparison, error) {
	b, err := v.base()
	if err != nil {
		return nil, err
	}
	c := &Comparison{view: v, base: b}
	if c.mine, c.theirs, err = v.folders(); err != nil {
		return nil, failed("open the folders", err)
	}
	mine, err := v.look(b, c.mine, func(e *baseEntry) signature { return e.View })
	if err != nil {
		return nil, failed("look at "+v.Folder, err)
	}
	theirs, err := v.look(b, c.theirs, func(e *baseEntry) signature { return e.Original })
	if err != nil {
		return nil, failed("look at "+v.Original, err)
	}
	paths := map[string]bool{}
	for path := range b.Entries {
		paths[path] = true
	}
	for path := range mine {
		paths[path] = true
	}
	for path := range theirs {
		paths[path] = true
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		c.add(path, b.Entries[path].Is, mine[path], theirs[path])
	}
	c.keepFolders(theirs)
	return c, nil
}

// seen is what is at a path, with its signature.
type seen struct {
	entry
	signature
}

// look returns what is in the view, or in the original. Links of the original are those that a view would have.
func (v *View) look(b *base, in *beneath.Folder, then func(*baseEntry) signature) (map[string]seen, error) {
	all, err := list(in, v.store.Dir(), func(path string) bool {
		return !b.Shared[path] && filepath.Base(path) != ".git"
	})
	if err != nil {
		return nil, err
	}
	found := make(map[string]seen, len(all))
	for _, l := range all {
		if b.Shared[l.path] || l.closed || slices.Contains(strings.Split(l.path, "/"), ".git") {
			continue
		}
		e, err := entryOf(in, l.path, l.info)
		now := seen{e, signatureOf(l.info)}
		if err == nil && e.Kind == regular {
			if was, ok := b.Entries[l.path]; ok && then(&was).tells(now.signature, b.Taken) {
				now.Digest = was.Is.Digest
			} else {
				now.Digest, err = digestOf(in, l.path)
			}
		}
		if e.Kind == link && in.Path() == v.Original {
			now.Target = redirected(e.Target, l.path, v.Original, v.Folder)
		}
		if err := ignoreGone(err); err != nil {
			return nil, err
		}
		if e.Kind != nothing {
			found[l.path] = now
		}
	}
	return found, nil
}

// folders opens the view and the original.
func (v *View) folders() (mine, theirs *beneath.Folder, err error) {
	if mine, err = beneath.Open(v.Folder); err == nil {
		theirs, err = beneath.Open(v.Original)
	}
	return mine, theirs, err
}

func digestOf(in *beneath.Folder, path string) (state.Digest, error) {
	file, err := in.File(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	ref, err := state.RefOf(file)
	return ref.Digest, err
}

// add notes how a path differs.
func (c *Comparison) add(path string, was entry, view, original seen) {
	if slices.Contains(strings.Split(path, "/"), ".git") {
		return
	}
	switch {
	case view.entry == was:
		if original.entry != was {
			c.Behind = append(c.Behind, path)
		}
		return
	case view.entry == original.entry:
		c.same = append(c.same, path)
		return
	}
	found := Change{Path: path, Op: opOf(was, view.entry), Kind: string(view.Kind),
		was: was, view: view.entry, original: original.entry, seen: original.signature}
	if view.Kind == nothing {
		found.Kind = string(was.Kind)
	}
	if original.entry != was {
		found.Conflict = opOf(was, original.entry)
	}
	c.Changes = append(c.Changes, found)
}

func opOf(was, now entry) Op {
	switch {
	case was.Kind == nothing:
		return Added
	case now.Kind == nothing:
		return Removed
	}
	return Changed
}

// keepFolders makes a conflict of a folder that is to be no folder any more, and in which the original has new files.
func (c *Comparison) keepFolders(theirs map[string]seen) {
	for i := range c.Changes {
		x := &c.Changes[i]
		if x.original.Kind != folder || x.view.Kind == folder {
			continue
		}
		for path := range theirs {
			if _, old := c.base.Entries[path]; !old && strings.HasPrefix(path, x.Path+"/") {
				x.Conflict = Changed
			}
		}
	}
}

// mostText is the size up to which the text of a file is compared by lines.
const mostText = 1 << 20

// Texts returns what a file of the original is now, and what that of the view is. ok is false where one of them is no
// text, or a long one.
func (v *View) Texts(x *Change) (original, view string, ok bool) {
	mine, theirs, err := v.folders()
	if err != nil {
		return "", "", false
	}
	defer mine.Close()
	defer theirs.Close()
	original, ok = textOf(theirs, x.Path, x.original.Kind)
	view, also := textOf(mine, x.Path, x.view.Kind)
	return original, view, ok && also
}

func textOf(in *beneath.Folder, path string, k kind) (string, bool) {
	if k == nothing {
		return "", true
	}
	if info, err := in.Info(path); err != nil || k != regular || info.Size > mostText {
		return "", false
	}
	data, err := in.ReadFile(path)
	return string(data), err == nil && utf8.Valid(data) && !strings.ContainsRune(string(data), 0)
}

// Size returns the number of bytes of a file in the view.
func (v *View) Size(x *Change) int64 {
	in, err := beneath.Open(v.Folder)
	if err != nil {
		return 0
	}
	defer in.Close()
	info, err := in.Info(x.Path)
	if err != nil || !info.Regular() {
		return 0
	}
	return info.Size
}

// Modes returns the permissions in the original and in the view, if they differ.
func (x *Change) Modes() (original, view string, differ bool) {
	if x.original.Kind != x.view.Kind || x.original.Mode == x.view.Mode {
		return "", "", false
	}
	return fmt.Sprintf("%#o", x.original.Mode.Perm()), fmt.Sprintf("%#o", x.view.Mode.Perm()), true
}

// Only keeps the changes of these paths, and of what is below them. It fails if there is none.
func (c *Comparison) Only(paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	used := make([]bool, len(paths))
	c.Changes = slices.DeleteFunc(c.Changes, func(x Change) bool {
		keep := false
		for i, path := range paths {
			if path == "." || x.Path == path || strings.HasPrefix(x.Path, path+"/") {
				used[i], keep = true, true
			}
		}
		return !keep
	})
	for i, path := range paths {
		if !used[i] && !slices.Contains(c.same, path) {
			return &state.Error{
				Code:    CodeUnchanged,
				Message: fmt.Sprintf("there is no difference at %s", path),
				Hint:    "`xstate diff --files " + c.view.Session + "` lists the differences",
			}
		}
	}
	return nil
}

// CodeUnchanged is the code of errors about a path where a view does not differ.
const CodeUnchanged state.Code = "no-difference"
