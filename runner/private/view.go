package private

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/state"
)

// CodeNotPrivate is the code of errors about a session without a private folder.
const CodeNotPrivate state.Code = "not-private"

// folderName is the folder of a store that holds the views.
const folderName = "private"

// making is the prefix of a view that is not complete.
const making = "making-"

// View is the private folder of a session.
type View struct {
	Session  string
	Folder   string // absolute
	Original string // the folder that it is a view of, absolute
	Parent   string // the session in Original from which this one was forked, perhaps by way of other private ones

	store *state.Store
	home  string // the folder of the store that holds this view
}

// homeOf returns the folder in a store that a workspace is the view of; "" where it is none.
func homeOf(store *state.Store, workspace string) string {
	rel, err := filepath.Rel(filepath.Join(store.Dir(), folderName), workspace)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return ""
	}
	first, _, _ := strings.Cut(rel, string(filepath.Separator))
	return filepath.Join(store.Dir(), folderName, first)
}

// Of returns the view of a session; nil where the session has none.
func Of(ctx context.Context, store *state.Store, session string) (*View, error) {
	s, err := store.Session(ctx, session)
	if err != nil {
		return nil, err
	}
	v := &View{Session: session, Folder: s.Workspace, store: store, home: homeOf(store, s.Workspace)}
	for v.home != "" && s.From != nil {
		if s, err = store.Session(ctx, s.From.Session); err != nil {
			return nil, err
		}
		if homeOf(store, s.Workspace) == "" {
			v.Original, v.Parent = s.Workspace, s.Name
			return v, nil
		}
	}
	return nil, nil
}

// Needed is Of for a session that must have a view.
func Needed(ctx context.Context, store *state.Store, session string) (*View, error) {
	v, err := Of(ctx, store, session)
	if err == nil && v == nil {
		return nil, &state.Error{
			Code:    CodeNotPrivate,
			Message: fmt.Sprintf("the session %q has no private folder", session),
			Hint:    "xstate fork --private NEW --session " + session + " makes one that has",
		}
	}
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(v.Folder); errors.Is(err, fs.ErrNotExist) {
		return nil, &state.Error{
			Code:    state.CodeNoWorkspace,
			Message: fmt.Sprintf("the private folder of %q was removed", session),
			Hint:    "xstate fork --private NEW --session " + v.Parent + " makes another",
			Err:     err,
		}
	}
	return v, nil
}

// Holding returns the session whose view holds a path; "" where there is none.
func Holding(ctx context.Context, store *state.Store, path string) (string, error) {
	home := homeOf(store, path)
	if home == "" {
		return "", nil
	}
	all, err := store.Sessions(ctx)
	if err != nil {
		return "", err
	}
	for _, s := range all { // forks that share the folder came later
		if homeOf(store, s.Workspace) == home && within(s.Workspace, path) != "" && !sharing(all, s, home, store) {
			return s.Name, nil
		}
	}
	return "", nil
}

// sharing reports whether a session was forked from another one in the same view.
func sharing(all []state.Session, s state.Session, home string, store *state.Store) bool {
	return s.From != nil && slices.ContainsFunc(all, func(p state.Session) bool {
		return p.Name == s.From.Session && homeOf(store, p.Workspace) == home
	})
}

// within returns the path from folder to path, "." for folder itself; "" where path lies elsewhere.
func within(folder, path string) string {
	if rel, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return ""
}

// In returns where a path of the original lies in the view. A path elsewhere stays.
func (v *View) In(path string) string {
	if homeOf(v.store, path) != "" {
		return path
	}
	if rel := within(v.Original, path); rel != "" && filepath.IsAbs(path) {
		return filepath.Join(v.Folder, rel)
	}
	return path
}

// plainName is a name of a session that can be that of a folder.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$`)

// home returns where the view of a new session goes.
func home(store *state.Store, session string) string {
	if !plainName.MatchString(session) || strings.HasPrefix(session, making) {
		session = string(state.DigestOf([]byte(session)))[:16]
	}
	return filepath.Join(store.Dir(), folderName, session)
}

// Made is what Fork made.
type Made struct {
	*View
	Session state.Session
	Files   int   // that were copied
	Bytes   int64 // in them
	Shared  bool  // the file system shares the blocks of the copies with the original
}

// Fork makes a session that begins with the history of another up to a step, and a view for it, of the folder in which
// that one runs. prepare may change the view before anybody can find it. Nothing may run in that folder meanwhile.
func Fork(
	ctx context.Context, store *state.Store, name string, from state.ForkPoint, origin state.Origin,
	prepare func(*View) error,
) (*Made, error) {
	parent, err := store.Session(ctx, from.Session)
	if err != nil {
		return nil, err
	}
	lock, err := store.LockCopy(ctx, name, parent.Workspace)
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	if _, err := store.Session(ctx, name); err == nil {
		return nil, state.SessionExists(name)
	} else if state.CodeOf(err) != state.CodeNoSession {
		return nil, err
	}
	m, err := newMaking(ctx, store, name, &parent)
	if err != nil {
		return nil, err
	}
	defer m.end()
	made, err := m.copy()
	if err != nil {
		return nil, err
	}
	if prepare != nil {
		if err := prepare(made.View); err != nil {
			return nil, err
		}
	}
	if err := m.publish(made.View); err != nil {
		return nil, err
	}
	if made.Session, err = store.ForkIn(ctx, name, made.Folder, from, origin); err != nil {
		return nil, errors.Join(err, removeAll(m.home))
	}
	return made, nil
}

// maker makes a view under a temporary name. It holds a lock on the folder, so that no collector takes it away.
type maker struct {
	store  *state.Store
	name   string
	from   string // the folder that is copied
	parent *View  // of the session that is forked; nil: that is not private
	temp   string
	home   string
	lock   *state.Lock
}

func newMaking(ctx context.Context, store *state.Store, name string, parent *state.Session) (*maker, error) {
	m := &maker{store: store, name: name, from: parent.Workspace, home: home(store, name)}
	var err error
	if m.parent, err = Of(ctx, store, parent.Name); err != nil {
		return nil, err
	}
	views := filepath.Join(store.Dir(), folderName)
	if err := os.MkdirAll(views, 0o777); err != nil {
		return nil, failed("make the folder for private folders", err)
	}
	if m.temp, err = os.MkdirTemp(views, making); err != nil {
		return nil, failed("make a private folder", err)
	}
	if m.lock, _, err = state.LockFolder(m.temp); err != nil {
		return nil, errors.Join(err, os.RemoveAll(m.temp))
	}
	return m, nil
}

// copy fills the folder, and writes the base.
func (m *maker) copy() (*Made, error) {
	v := &View{
		Session: m.name, Folder: filepath.Join(m.temp, filepath.Base(m.from)), Original: m.from, store: m.store, home: m.temp,
	}
	if m.parent != nil {
		v.Original, v.Parent = m.parent.Original, m.parent.Parent
	}
	c := &copying{
		from: m.from, to: v.Folder, store: m.store.Dir(), original: v.Original,
		leads: filepath.Join(m.home, filepath.Base(m.from)),
	}
	if err := c.run(); err != nil {
		return nil, failed("make a private copy of "+m.from, err)
	}
	b := c.base
	if m.parent != nil {
		was, err := m.parent.base()
		if err != nil {
			return nil, err
		}
		b = was.inherited(b)
	}
	if err := b.write(filepath.Join(m.temp, baseName)); err != nil {
		return nil, failed("write what the folder was", err)
	}
	return &Made{View: v, Files: c.files, Bytes: c.bytes, Shared: c.shared.Load() && c.bytes > 0}, nil
}

// publish gives the view its name. What is there without a session was left by a process that was killed.
func (m *maker) publish(v *View) error {
	if err := removeAll(m.home); err != nil {
		return failed("remove what was left of a private folder", err)
	}
	if err := os.Rename(m.temp, m.home); err != nil {
		return failed("name a private folder", err)
	}
	v.home, v.Folder = m.home, filepath.Join(m.home, filepath.Base(v.Folder))
	return nil
}

// end removes what was not published.
func (m *maker) end() {
	_ = removeAll(m.temp)
	_ = m.lock.Release()
}

// removeAll removes a folder in which a program may have taken permissions away.
func removeAll(folder string) error {
	if os.RemoveAll(folder) == nil {
		return nil
	}
	_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(folder)
}

// failed is the error of something that the file system did not do.
func failed(what string, err error) error {
	var own *state.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return err
	case state.IsDiskFull(err):
		return state.DiskFull(what, err)
	case errors.Is(err, fs.ErrNotExist):
		return &state.Error{Code: state.CodeNoWorkspace, Message: what + " is not possible",
			Hint: "check the folder and try again", Err: err}
	}
	return &state.Error{Code: state.CodeIO, Message: what + " is not possible",
		Hint: "check the disk and the permissions of the folder", Err: err}
}
