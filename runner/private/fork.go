package private

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// making is the prefix of a view that is not complete.
const making = "making-"

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
	files, err := m.records(ctx)
	if err != nil {
		return nil, err
	}
	draft := state.Draft{Origin: origin, Records: map[string]any{query.RecordFiles: files}}
	if made.Session, err = store.ForkIn(ctx, name, made.Folder, from, draft); err != nil {
		return nil, errors.Join(err, removeAll(m.home))
	}
	return made, nil
}

// maker makes a view under a temporary name. It holds a lock on the folder, so that no collector takes it away.
type maker struct {
	store *state.Store
	name  string
	// The session that is forked, and its folder, which is copied.
	session, from string

	parent *View // the view of the forked session; nil: that is not private
	temp   string
	home   string
	inner  string // the path of the view in either
	lock   *state.Lock
	copied map[string]baseEntry // what the view holds
}

func newMaking(ctx context.Context, store *state.Store, name string, parent *state.Session) (*maker, error) {
	m := &maker{store: store, name: name, session: parent.Name, from: parent.Workspace, home: home(store, name)}
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
		return nil, errors.Join(err, removeAll(m.temp))
	}
	return m, nil
}

// copy fills the folder, and writes the base.
func (m *maker) copy() (*Made, error) {
	v := &View{Session: m.name, Original: m.from, Parent: m.session, store: m.store, home: m.temp}
	if m.parent != nil {
		v.Original, v.Parent = m.parent.Original, m.parent.Parent
	}
	if v.Original == filepath.Dir(v.Original) {
		return nil, &state.Error{Code: state.CodeRootFolder, Message: "the root folder has no private copy",
			Hint: "run the program in a folder of its own: `xstate run --workdir FOLDER FILE`"}
	}
	m.inner = innerPath(m.store, v.Original)
	v.Folder = filepath.Join(m.temp, m.inner)
	if err := v.linkNeighbours(); err != nil {
		return nil, failed("make a private folder", err)
	}
	c := &copying{
		from: m.from, to: v.Folder, store: m.store.Dir(), original: v.Original, leads: filepath.Join(m.home, m.inner),
	}
	if err := c.run(); err != nil {
		return nil, failed("make a private copy of "+m.from, err)
	}
	b := c.base
	m.copied = b.Entries
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
	return &Made{View: v, Files: c.files, Bytes: c.bytes, Shared: c.shared.Load()}, nil
}

// records returns what the new session knows of the files that its program writes. Of each file it is the record of the
// version of the program that left what was copied. Else a run would take that for an edit.
func (m *maker) records(ctx context.Context) (map[string]state.FileRecord, error) {
	family, err := m.store.Family(ctx, m.session)
	if err != nil {
		return nil, err
	}
	files := map[string]state.FileRecord{}
	if _, err := m.store.SessionRecord(ctx, m.session, query.RecordFiles, &files); err != nil {
		return nil, err
	}
	for _, version := range family {
		theirs := map[string]state.FileRecord{}
		if version.Workspace != m.from {
			continue
		}
		if _, err := m.store.SessionRecord(ctx, version.Name, query.RecordFiles, &theirs); err != nil {
			return nil, err
		}
		for path, r := range theirs {
			is := digestIn(m.copied[path].Is)
			if own, ok := files[path]; !filepath.IsAbs(path) && r.Left == is && (!ok || own.Left != is) {
				files[path] = r
			}
		}
	}
	return files, nil
}

// innerPath returns the path of a view in its home: that of the original from the folder above the one that holds the
// store, so that ".." leads to neighbours of the same names.
func innerPath(store *state.Store, original string) string {
	project := filepath.Dir(store.Dir())
	if rel := parents.Below(project, original); rel != "" {
		return filepath.Join(filepath.Base(project), rel)
	}
	return filepath.Base(original)
}

// linkNeighbours makes the folders above a view, up to the one that represents the folder that holds the store. In each
// it links to what the original has there.
func (v *View) linkNeighbours() error {
	if err := os.MkdirAll(filepath.Dir(v.Folder), 0o777); err != nil {
		return err
	}
	name, original := filepath.Base(v.Original), filepath.Dir(v.Original)
	for at := range parents.Up(filepath.Dir(v.Folder)) {
		if at == v.home {
			break
		}
		entries, err := os.ReadDir(original)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Name() == name || slices.Contains(notCopied, e.Name()) {
				continue
			}
			err := os.Symlink(filepath.Join(original, e.Name()), filepath.Join(at, e.Name()))
			if err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
		name, original = filepath.Base(original), filepath.Dir(original)
	}
	return nil
}

// publish gives the view its name. A folder without a session was left by a process that was killed.
func (m *maker) publish(v *View) error {
	if err := removeAll(m.home); err != nil {
		return failed("remove what was left of a private folder", err)
	}
	if err := os.Rename(m.temp, m.home); err != nil {
		return failed("name a private folder", err)
	}
	v.home, v.Folder = m.home, filepath.Join(m.home, m.inner)
	return nil
}

// end removes what was not published.
func (m *maker) end() {
	_ = removeAll(m.temp)
	_ = m.lock.Release()
}
