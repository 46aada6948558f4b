package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
)

// source is a program's file, read.
type source struct {
	name string // as the user wrote it
	path string // absolute
	data []byte
}

// blocks parses the file.
func (s *source) blocks() ([]patch.Block, error) {
	p, err := patch.Parse(s.name, s.data)
	if err != nil {
		return nil, err
	}
	return p.Blocks, nil
}

// readSource reads a program's file.
func readSource(name string) (*source, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &state.Error{Code: codeNoFile, Message: "there is no file " + name, Hint: similar(path)}
	case err != nil:
		return nil, &state.Error{Code: codeUnreadable, Message: fmt.Sprintf("%s cannot be read: %v", name, reason(err)), Hint: "check the path and its permissions", Err: err}
	case info.IsDir():
		return nil, &state.Error{Code: codeNotAFile, Message: name + " is a directory", Hint: programsIn(path, name)}
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeNamedPipe == 0:
		return nil, &state.Error{Code: codeNotAFile, Message: name + " is not a regular file", Hint: "name a program: a .py, .ipynb or .md file"}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, &state.Error{Code: codeUnreadable, Message: fmt.Sprintf("%s cannot be read: %v", name, reason(err)), Hint: "check the permissions of the file", Err: err}
	}
	return &source{name: name, path: path, data: data}, nil
}

// reason is what the system says, without the path that the message names already.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

var programKinds = []string{".py", ".ipynb", ".md", ".markdown"}

// similar hints at files whose names begin or end like that of the one that is not there.
func similar(path string) string {
	base := filepath.Base(path)
	stem := strings.TrimSuffix(base, filepath.Ext(base))
	var near []string
	for _, n := range programs(filepath.Dir(path)) {
		if strings.EqualFold(n, base) || strings.TrimSuffix(n, filepath.Ext(n)) == stem || strings.HasPrefix(n, stem) || strings.HasPrefix(stem, strings.TrimSuffix(n, filepath.Ext(n))) {
			near = append(near, n)
		}
	}
	if len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return "check the path; xstate run FILE takes a .py, .ipynb or .md file"
}

func programsIn(path, name string) string {
	found := programs(path)
	if len(found) == 0 {
		return "name a program: a .py, .ipynb or .md file"
	}
	if len(found) > 5 {
		found = append(found[:5], "…")
	}
	return "name a program in it: " + strings.Join(found, ", ")
}

func programs(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var found []string
	for _, e := range entries {
		if !e.IsDir() && slices.Contains(programKinds, filepath.Ext(e.Name())) {
			found = append(found, e.Name())
		}
	}
	return found
}

// storeDir returns the store for files in folder, and whether it is there.
func (a *app) storeDir(folder string) (dir string, found bool, err error) {
	if a.store == "" {
		if dir, ok := xstate.FindStore(folder); ok {
			return dir, true, nil
		}
		return filepath.Join(folder, xstate.StoreName), false, nil
	}
	dir, err = filepath.Abs(a.store)
	if err != nil {
		return "", false, err
	}
	if isStore(dir) {
		return dir, true, nil
	}
	if inner := filepath.Join(dir, xstate.StoreName); isStore(inner) || filepath.Base(dir) != xstate.StoreName && !emptyOrMissing(dir) {
		return inner, isStore(inner), nil // a folder with other things in it: the store goes below
	}
	return dir, false, nil
}

func isStore(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "history.db"))
	return err == nil
}

func emptyOrMissing(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err != nil || len(entries) == 0
}

// sessionName names the session of a file: by its path from the folder that holds the store, as a path with slashes.
func sessionName(storeDir, path string) string {
	rel, err := filepath.Rel(filepath.Dir(storeDir), path)
	if err != nil || !filepath.IsLocal(rel) {
		return filepath.ToSlash(path)
	}
	return filepath.ToSlash(rel)
}

// sessionFile is the inverse of sessionName.
func sessionFile(storeDir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(storeDir), filepath.FromSlash(name))
}

// opened is a session that there is, with its store.
type opened struct {
	store   *xstate.Store
	session *xstate.Session
	file    string // the session's file; it may be gone
}

func (o *opened) Close() {
	o.session.Close()
	o.store.Close()
}

// head is the last step.
func (o *opened) head(ctx context.Context) (xstate.StepNumber, error) {
	n, _, err := o.store.State().Head(ctx, o.session.Name())
	return n, err
}

// blocks are those of the session's file as it is now; nil when there is none that can be read.
func (o *opened) blocks() []patch.Block {
	src, err := readSource(o.file)
	if err != nil {
		return nil
	}
	blocks, err := src.blocks()
	if err != nil {
		return nil
	}
	return blocks
}

// open opens the session that the user names, or the only one, for looking at it.
func (a *app) open(ctx context.Context) (*opened, error) {
	return a.openWith(ctx, state.Options{ReadOnly: true}, "")
}

// look lets a verb look at the session that the user names, or the only one.
func (a *app) look(ctx context.Context, verb func(*opened) error) error {
	o, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer o.Close()
	return verb(o)
}

// lookAt is look at one step, by default the last.
func (a *app) lookAt(ctx context.Context, m moment, verb func(*opened, xstate.StepNumber) error) error {
	return a.look(ctx, func(o *opened) error {
		n, err := o.step(ctx, m)
		if err != nil {
			return err
		}
		return verb(o, n)
	})
}

// change lets a verb change the session that the user names, or the only one.
func (a *app) change(ctx context.Context, verb func(*opened) error) error {
	o, err := a.openWith(ctx, state.Options{}, "")
	if err != nil {
		return err
	}
	defer o.Close()
	return verb(o)
}

// openToPlan opens it for a plan, which remembers what it learns of interpreters and files where it can.
func (a *app) openToPlan(ctx context.Context, python string) (*opened, error) {
	o, err := a.openWith(ctx, state.Options{}, python)
	if state.CodeOf(err) == state.CodeReadOnly {
		return a.openWith(ctx, state.Options{ReadOnly: true}, python)
	}
	return o, err
}

func (a *app) openWith(ctx context.Context, options state.Options, python string) (*opened, error) {
	folder, err := a.folder, error(nil)
	if folder == "" {
		folder, err = os.Getwd()
	}
	if err != nil {
		return nil, err
	}
	dir, found, err := a.storeDir(folder)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, a.noStore(dir)
	}
	options.Wait = a.wait
	store, err := xstate.Open(ctx, dir, xstate.Options{State: options})
	if err != nil {
		return nil, err
	}
	name, err := a.choose(ctx, store)
	if err == nil {
		file, so := sessionFile(dir, name), xstate.SessionOptions{Python: python}
		if filepath.Ext(file) == ".py" {
			so.File = file // as a run of it has
		}
		var session *xstate.Session
		if session, err = store.Existing(ctx, name, so); err == nil {
			return &opened{store, session, file}, nil
		}
	}
	return nil, errors.Join(err, store.Close())
}

func (a *app) noStore(dir string) error {
	if a.store != "" {
		return &state.Error{Code: state.CodeNoStore, Message: "there is no store in " + a.store, Hint: "check --store; xstate run FILE --store DIR makes one there"}
	}
	return &state.Error{Code: state.CodeNoStore, Message: "there is no store at or above " + filepath.Dir(dir),
		Hint: "xstate run FILE makes one beside the file; --store DIR names one elsewhere"}
}

// choose returns the name of the session that is meant.
func (a *app) choose(ctx context.Context, store *xstate.Store) (string, error) {
	if a.session != "" {
		return sessionOf(ctx, store, a.session)
	}
	names, err := namesIn(ctx, store)
	switch {
	case err != nil:
		return "", err
	case len(names) == 1:
		return names[0], nil
	case len(names) == 0:
		return "", &state.Error{Code: state.CodeNoSession, Message: "the store has no session yet", Hint: "xstate run FILE makes one"}
	}
	if a.family { // any of them will do
		if family, err := store.Family(ctx, names[0]); err != nil || len(family) == len(names) {
			return names[0], err
		}
	}
	return "", &state.Error{Code: codeWhich, Message: fmt.Sprintf("the store has %d sessions", len(names)), Hint: listHint(names)}
}

// sessionOf returns the name of the session that is called so, or whose file is.
func sessionOf(ctx context.Context, store *xstate.Store, called string) (string, error) {
	names, err := namesIn(ctx, store)
	if err != nil || slices.Contains(names, called) {
		return called, err
	}
	if path, err := filepath.Abs(called); err == nil && slices.Contains(names, sessionName(store.State().Dir(), path)) {
		return sessionName(store.State().Dir(), path), nil
	}
	return "", &state.Error{Code: state.CodeNoSession, Message: fmt.Sprintf("there is no session %q", called), Hint: listHint(names)}
}

func namesIn(ctx context.Context, store *xstate.Store) ([]string, error) {
	all, err := store.State().Sessions(ctx)
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names, err
}

func listHint(names []string) string {
	if len(names) == 0 {
		return "xstate run FILE makes one"
	}
	list := names
	more := ""
	if len(list) > 10 {
		list, more = list[:10], fmt.Sprintf(" and %d more", len(names)-10)
	}
	return "name one with --session: " + strings.Join(list, ", ") + more
}

// sessionNames are for completion.
func (a *app) sessionNames(ctx context.Context) []string {
	folder, err := os.Getwd()
	if err != nil {
		return nil
	}
	dir, found, err := a.storeDir(folder)
	if err != nil || !found {
		return nil
	}
	store, err := xstate.Open(ctx, dir, xstate.Options{State: state.Options{ReadOnly: true, Wait: -1}})
	if err != nil {
		return nil
	}
	defer store.Close()
	names, _ := namesIn(ctx, store)
	return names
}
