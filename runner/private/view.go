package private

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/state"
)

// CodeNotPrivate is the code of errors about a session without a private folder.
const CodeNotPrivate state.Code = "not-private"

// folderName is the folder of a store that holds the views.
const folderName = "private"

// View is the private folder of a session.
type View struct {
	Session  string
	Folder   string // absolute
	Original string // the folder that it is a view of, absolute
	Parent   string // the session in Original from which this one was forked, perhaps by way of other private ones

	store *state.Store
	home  string // the folder of the store that holds this view
}

// homeOf returns the folder in a store that a workspace is the view of; "" if it is not a view.
func homeOf(store *state.Store, workspace string) string {
	rel, err := filepath.Rel(filepath.Join(store.Dir(), folderName), workspace)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return ""
	}
	first, _, _ := strings.Cut(rel, string(filepath.Separator))
	return filepath.Join(store.Dir(), folderName, first)
}

// Of returns the view of a session; nil if the session has none.
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
			Hint:    "`xstate fork --private NEW --session " + session + "` makes one that has",
		}
	}
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(v.Folder); errors.Is(err, fs.ErrNotExist) {
		return nil, &state.Error{
			Code:    state.CodeNoWorkspace,
			Message: fmt.Sprintf("the private folder of %q was removed", session),
			Hint:    "`xstate fork --private NEW --session " + v.Parent + "` makes another",
			Err:     err,
		}
	}
	return v, nil
}

// Holding returns the session whose view holds a path; "" if there is none.
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
		if homeOf(store, s.Workspace) == home && parents.Below(s.Workspace, path) != "" &&
			!sharing(all, s, home, store) {
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

// In returns where a path of the original lies in the view. A path elsewhere stays.
func (v *View) In(path string) string {
	if homeOf(v.store, path) != "" {
		return path
	}
	if rel := parents.Below(v.Original, path); rel != "" && filepath.IsAbs(path) {
		return filepath.Join(v.Folder, rel)
	}
	return path
}

// removeAll removes a folder of the store in which a program may have taken permissions away.
func removeAll(path string) error {
	in, err := beneath.Open(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	return in.RemoveAll(filepath.Base(path))
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
