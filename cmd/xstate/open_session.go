package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner/private"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// opened is a session that there is, with its store.
type opened struct {
	caller
	app     *app
	store   *xstate.Store
	history *query.History
	session *xstate.Session // nil: the record alone is asked
	file    string          // the session's file; it may be gone
	begins  bool            // nothing is recorded of it yet
	remove  string          // a folder that goes with it
}

// named returns the block of the present program that an argument names, see query.Shown. If it names no block, the
// verb says so.
func (o *opened) named(ctx context.Context, argument string) (xstate.BlockID, error) {
	blocks, _, err := o.history.Blocks(ctx)
	return query.Shown(xstate.BlockID(argument), blocks), err
}

func (o *opened) Close() {
	if o.session != nil {
		_ = o.app.closeSession(o.session)
	}
	_ = o.app.closeStore(o.store)
	if o.remove != "" {
		_ = os.RemoveAll(o.remove) // a folder of the system's for what is temporary
	}
}

// head is the last step.
func (o *opened) head(ctx context.Context) (xstate.StepNumber, error) {
	n, _, err := o.store.State().Head(ctx, o.history.Name())
	return n, err
}

// blocks are those of the session's file as it is now; nil when there is none that can be read.
func (o *opened) blocks() []patch.Block { return o.blocksIn(o.file) }

// blocksIn returns the blocks of a file; nil when it cannot be read.
func (c caller) blocksIn(file string) []patch.Block {
	src, err := c.readSource(file)
	if err != nil {
		return nil
	}
	blocks, err := src.blocks()
	if err != nil {
		return nil
	}
	return blocks
}

// open opens the record of the session that the user names, or of the only one. Nothing of it can execute.
func (a *app) open(ctx context.Context) (*opened, error) {
	return a.openBy(ctx, state.Options{ReadOnly: true}, "", nil)
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
func (a *app) lookAt(ctx context.Context, m verb.Moment, verb func(*opened, xstate.StepNumber) error) error {
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

// testSession is the name of the session that a test makes in a store that has none.
const testSession = "tests"

// openToPlan opens it for a plan, which remembers what it learns of interpreters and files if it can.
func (a *app) openToPlan(ctx context.Context, python string) (*opened, error) {
	a.bounds.executes = true
	o, err := a.openWith(ctx, state.Options{}, python)
	if state.CodeOf(err) == state.CodeReadOnly {
		return a.openWith(ctx, state.Options{ReadOnly: true}, python)
	}
	return o, err
}

func (a *app) openWith(ctx context.Context, options state.Options, python string) (*opened, error) {
	return a.openBy(ctx, options, python,
		func(store *xstate.Store, name string, o xstate.SessionOptions) (*xstate.Session, error) {
			if a.runs {
				return a.runnable(ctx, store, name, o, store.Existing)
			}
			if a.bounds.executes {
				if err := a.bounded(ctx, store, name, &o); err != nil {
					return nil, err
				}
			}
			return store.Existing(ctx, name, o)
		})
}

// openBy is openWith that opens the session in a way of the caller's. Without one it opens the record alone.
func (a *app) openBy(
	ctx context.Context, options state.Options, python string,
	open func(*xstate.Store, string, xstate.SessionOptions) (*xstate.Session, error),
) (*opened, error) {
	folder, err := a.folderOf()
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
	store, err := a.openStore(ctx, dir, options)
	if err != nil {
		return nil, err
	}
	name, err := a.choose(ctx, store)
	file := ""
	if err == nil {
		file, err = fileOf(ctx, store, name)
	}
	o := &opened{caller: a.caller, app: a, store: store, file: file}
	if err == nil && open == nil {
		o.history, err = query.Open(ctx, store.State(), name)
	} else if err == nil {
		so := xstate.SessionOptions{Python: python, Environ: a.environ, Tools: a.tools}
		if isSource(file) {
			so.File = file // as a run of it has
		}
		if o.session, err = open(store, name, so); err == nil {
			o.history = o.session.History()
		}
	}
	if err == nil {
		return o, nil
	}
	return nil, errors.Join(err, a.closeStore(store))
}

// recorded opens the session of no file that --session names, to run or to plan it.
func (a *app) recorded(ctx context.Context, python, verb string) (*opened, error) {
	if slices.Contains(programKinds, filepath.Ext(a.session)) {
		return nil, &usageError{
			err:  errors.New("the session " + a.session + " is that of a file"),
			hint: "name the file: xstate " + verb + " " + a.session,
		}
	}
	return a.openBy(ctx, state.Options{}, python,
		func(store *xstate.Store, name string, o xstate.SessionOptions) (*xstate.Session, error) {
			return a.runnable(ctx, store, name, o, store.Existing)
		})
}

// folderOf is the folder whose store is meant: that of the program's file, if one is named, or the working directory.
func (a *app) folderOf() (string, error) { return a.folderFrom(a.session) }

func (c caller) folderFrom(session string) (string, error) {
	path, err := c.abs(session)
	if info, bad := os.Stat(filepath.Dir(path)); slices.Contains(programKinds, filepath.Ext(session)) && bad == nil &&
		info.IsDir() {
		return filepath.Dir(path), err
	}
	return c.here()
}

func (a *app) noStore(dir string) error {
	if a.store != "" {
		return &state.Error{
			Code:    state.CodeNoStore,
			Message: "there is no store in " + a.store,
			Hint:    "check `--store`; `xstate run FILE --store DIR` makes one there",
		}
	}
	return &state.Error{Code: state.CodeNoStore, Message: "there is no store at or above " + filepath.Dir(dir),
		Hint: "`xstate run FILE` makes one beside the file; `--store DIR` names one elsewhere"}
}

// choose returns the name of the session that is meant.
func (a *app) choose(ctx context.Context, store *xstate.Store) (string, error) {
	if a.session != "" {
		return a.sessionOf(ctx, store, a.session)
	}
	names, err := namesIn(ctx, store)
	switch {
	case err != nil:
		return "", err
	case len(names) == 1:
		return names[0], nil
	case len(names) == 0:
		return "", &state.Error{
			Code:    state.CodeNoSession,
			Message: "the store has no session yet",
			Hint:    "`xstate run FILE` makes one",
		}
	}
	if programs := slices.DeleteFunc(slices.Clone(names), isOfFolder); len(programs) == 1 {
		return programs[0], nil
	}
	if a.family { // any of them will do
		if family, err := store.State().Family(ctx, names[0]); err != nil || len(family) == len(names) {
			return names[0], err
		}
	}
	e := &state.Error{
		Code:    api.CodeWhich,
		Message: fmt.Sprintf("the store has %d sessions: %s", len(names), listed10(names)),
		Hint:    "name one with `--session`",
	}
	if a.naming != nil {
		e.Hint = "name one: " + a.naming(names[0])
	}
	return "", e
}

// sessionOf returns the name of the session whose file is so called, or which is. A file that exists is meant before a
// session of another file with the same name from elsewhere.
func (c caller) sessionOf(ctx context.Context, store *xstate.Store, called string) (string, error) {
	names, err := namesIn(ctx, store)
	if err != nil {
		return called, err
	}
	e := &state.Error{
		Code:    state.CodeNoSession,
		Message: fmt.Sprintf("there is no session %q", called),
		Hint:    listHint(names),
	}
	if path, err := c.abs(called); err == nil {
		name := sessionName(store.State().Dir(), path)
		if slices.Contains(names, name) {
			return name, nil
		}
		if held, err := private.Holding(ctx, store.State(), path); held != "" || err != nil {
			return held, err
		}
		if c.isProgram(called) {
			e.Message, e.Hint = called+" has no session yet", "`xstate run "+term.Quoted(called)+"` makes it"
			return called, e
		}
	}
	if slices.Contains(names, called) {
		return called, nil
	}
	return "", e
}

// isOfFolder reports whether a session is for the tests or the checks of a folder. It is never a program's default
// session.
func isOfFolder(name string) bool { return name == testSession || name == checkSession }

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
		return "`xstate run FILE` makes one"
	}
	return "the store has " + listed10(names)
}

// listed10 is a list of at most ten names.
func listed10(names []string) string {
	if len(names) > 10 {
		return strings.Join(names[:10], ", ") + fmt.Sprintf(" and %d more", len(names)-10)
	}
	return strings.Join(names, ", ")
}

// sessionNames returns the sessions of the store; none if it cannot be read.
func (a *app) sessionNames(ctx context.Context) []string {
	_, names := a.storeNames(ctx)
	return names
}

// called are the sessions as people name them from here: a file below by its path.
func (a *app) called(ctx context.Context) []string {
	dir, names := a.storeNames(ctx)
	for i, name := range names {
		if file := sessionFile(dir, name); a.isProgram(file) && !filepath.IsAbs(a.fromHere(file)) {
			names[i] = a.fromHere(file)
		}
	}
	return names
}

func (a *app) storeNames(ctx context.Context) (dir string, names []string) {
	folder, err := a.here()
	if err != nil {
		return "", nil
	}
	dir, found, err := a.storeDir(folder)
	if err != nil || !found {
		return "", nil
	}
	store, err := a.openStore(state.WithWait(ctx, -1), dir, state.Options{ReadOnly: true})
	if err != nil {
		return "", nil
	}
	defer a.closeStore(store)
	names, _ = namesIn(ctx, store)
	return dir, names
}

// step returns the step that is meant.
func (o *opened) step(ctx context.Context, m verb.Moment) (xstate.StepNumber, error) {
	switch {
	case m.AtStep != nil && m.At != "":
		return 0, &usageError{err: errors.New("`--at-step` and `--at` exclude each other"), hint: "use one of them"}
	case m.AtStep != nil:
		return *m.AtStep, nil
	case m.At != "":
		t, err := parseTime(m.At, o.zone())
		if err != nil {
			return 0, err
		}
		return o.store.State().StepBefore(ctx, o.history.Name(), t)
	}
	return o.head(ctx)
}

// prepare has a server import the libraries of a session that was made from o, and has the file path or none, while its
// first edit is thought about. If that fails, the first run does it.
func (a *app) prepare(ctx context.Context, o *opened, made state.Session, path string) {
	if a.server == nil || o.store != a.server.Pool.Store() {
		return
	}
	so := xstate.SessionOptions{Environ: a.environ, Tools: a.tools, Workspace: made.Workspace}
	err := error(nil)
	if path != "" {
		so, err = a.optionsOf(ctx, o.store, path)
	}
	if err == nil {
		err = a.setPolicy(ctx, o.store, made.Name, &so)
	}
	if err != nil {
		return
	}
	if lease, err := a.server.Pool.Session(ctx, made.Name, a.calledBy(), so, o.store.Existing); err == nil {
		lease.Prepare()
		lease.Return()
	}
}

// optionsOf are those that a run of the program in a file opens its session with.
func (a *app) optionsOf(ctx context.Context, store *xstate.Store, path string) (xstate.SessionOptions, error) {
	src, err := a.readSource(path)
	if err != nil {
		return xstate.SessionOptions{}, err
	}
	return a.sessionOptions(ctx, store, src, "", "", nil)
}
