package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// manual is where the documentation is read.
const manual = "https://github.com/xstate-engine/xstate/tree/main/docs"

// status is what xstate does without a verb: it says which sessions there are, and what to do next.
func (a *app) status(ctx context.Context) error {
	folder, err := a.here()
	if err != nil {
		return err
	}
	dir, found, err := a.storeDir(folder)
	if err != nil {
		return err
	}
	d := api.Status{Version: api.Version, Sessions: []api.SessionStatus{}}
	if found {
		if d, err = a.sessionsIn(ctx, dir); err != nil {
			return err
		}
	}
	d.Next = nextCommands(d.Sessions, folder)
	if a.ui.JSON {
		return a.ui.Document(d)
	}
	a.printStatus(&d)
	return nil
}

// sessionsIn describes the sessions of a store, the one with the latest step first.
func (a *app) sessionsIn(ctx context.Context, dir string) (d api.Status, err error) {
	store, err := a.openStore(ctx, dir, state.Options{ReadOnly: true})
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, a.closeStore(store)) }()
	d = api.Status{Version: api.Version, Store: dir, Sessions: []api.SessionStatus{}}
	names, err := namesIn(ctx, store)
	if err != nil {
		return d, err
	}
	for _, name := range names {
		s, err := a.sessionStatus(ctx, store, name)
		if err != nil {
			return d, err
		}
		d.Sessions = append(d.Sessions, *s)
	}
	slices.SortStableFunc(d.Sessions, func(x, y api.SessionStatus) int { return y.Last.Time.Compare(x.Last.Time) })
	return d, nil
}

func (c caller) sessionStatus(ctx context.Context, store *xstate.Store, name string) (*api.SessionStatus, error) {
	file, err := fileOf(ctx, store, name)
	if err != nil {
		return nil, err
	}
	history, err := query.Open(ctx, store.State(), name)
	if err != nil {
		return nil, err
	}
	o := opened{caller: c, store: store, history: history, file: file}
	s := &api.SessionStatus{Session: name}
	if o.isProgram(file) {
		s.File = o.fromHere(file)
	}
	program, _, err := history.Program(ctx)
	if err != nil {
		return nil, err
	}
	s.Blocks = len(program)
	for _, b := range program {
		switch {
		case b.Before == nil || b.Before.RanAt < b.Before.Edited:
			s.NotRun++
		case b.Before.Waiting:
			s.Waiting = append(s.Waiting, b.ID)
		case b.Before.Failed():
			s.Failed = append(s.Failed, b.ID)
		}
	}
	last, err := history.Log(ctx, 0, 1)
	if err != nil {
		return nil, err
	}
	if len(last) > 0 {
		s.Last = last[0]
	}
	if blocks := o.blocks(); blocks != nil {
		edits, _, _, err := history.Compare(ctx, blocks)
		if err != nil {
			return nil, err
		}
		s.Edits = len(edits)
	}
	return s, nil
}

// nextCommands are at most three commands that make sense now.
func nextCommands(sessions []api.SessionStatus, folder string) []string {
	if len(sessions) == 0 {
		file := "FILE"
		if found := programs(folder); len(found) > 0 {
			file = term.Quoted(found[0])
			if i := slices.IndexFunc(found, func(n string) bool { return filepath.Ext(n) == ".py" }); i >= 0 {
				file = term.Quoted(found[i])
			}
		}
		return []string{"xstate run " + file, "xstate init --example", "xstate --help"}
	}
	s := sessions[0]
	name, run := term.Quoted(s.Session), "xstate run "+term.Quoted(s.File)
	if s.File != "" {
		name = term.Quoted(s.File)
	}
	if s.File == "" {
		run = "xstate run FILE --session " + name
	}
	switch {
	case s.Session == testSession:
		return []string{"xstate test", "xstate log " + name, "xstate --help"}
	case len(s.Waiting) > 0 && s.Edits == 0:
		return []string{"xstate calls --waiting " + name, "xstate approve CALL", run}
	case len(s.Failed) > 0 && s.Edits == 0:
		return []string{"xstate query " + name + " " + term.Quoted(string(s.Failed[0])), run, "xstate log " + name}
	case s.Edits > 0 || s.NotRun > 0:
		return []string{"xstate plan " + strings.TrimPrefix(run, "xstate run "), run, "xstate log " + name}
	}
	return []string{"xstate query " + name, "xstate log " + name, run}
}

func (w *printer) printStatus(d *api.Status) {
	if d.Store == "" {
		w.ui.Print("xstate runs a Python program block by block, and after an edit only what is affected.\n")
		w.ui.Print("There is no store here yet. To begin:\n")
	} else if len(d.Sessions) == 0 {
		w.ui.Print("The store %s has no session yet. To begin:\n", w.fromHere(d.Store))
	}
	var rows [][]string
	for _, s := range d.Sessions[:min(10, len(d.Sessions))] {
		rows = append(rows, []string{w.ui.Bold(s.Session), stateText(&s), fmt.Sprintf("step %d", s.Last.Number),
			s.Last.Time.In(w.zone()).Format(timeFormat)})
	}
	w.ui.Write(term.Columns(rows))
	if more := len(d.Sessions) - 10; more > 0 {
		w.ui.Print("and %d more\n", more)
	}
	if len(d.Sessions) > 0 {
		w.ui.Print("next:\n")
	}
	for _, command := range d.Next {
		w.ui.Print("  %s\n", command)
	}
	if len(d.Sessions) == 0 {
		w.ui.Print("Documentation: %s\n", manual)
	}
}

// stateText is the state of a session in a few words.
func stateText(s *api.SessionStatus) string {
	parts := []string{term.Plural(s.Blocks, "block")}
	if n := len(s.Failed); n > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", n))
	}
	if n := len(s.Waiting); n > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting", n))
	}
	if s.NotRun > 0 {
		parts = append(parts, fmt.Sprintf("%d not run", s.NotRun))
	}
	if s.Edits > 0 {
		parts = append(parts, term.Plural(s.Edits, "edit")+" of the file since")
	}
	if s.Session == testSession && s.Blocks == 0 {
		return "tests of the folder"
	}
	return strings.Join(parts, ", ")
}
