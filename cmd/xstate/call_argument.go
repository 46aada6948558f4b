package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state"
)

// inStore lets a verb use the store, whatever its sessions.
func (a *app) inStore(ctx context.Context, options state.Options, verb func(*xstate.Store) error) error {
	folder, err := a.folderOf()
	if err != nil {
		return err
	}
	dir, found, err := a.storeDir(folder)
	if err != nil {
		return err
	}
	if !found {
		return a.noStore(dir)
	}
	store, err := a.openStore(ctx, dir, options)
	if err != nil {
		return err
	}
	return errors.Join(verb(store), a.closeStore(store))
}

func parseCall(text string) (state.CallID, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		return 0, noCallNumber(text)
	}
	return state.CallID(n), nil
}

func noCallNumber(text string) error {
	return &usageError{err: fmt.Errorf("%q is no number of a call", text), hint: "`xstate calls` lists them"}
}

// callText is how many characters of arguments or a result a list shows.
const callText = 40

// shortJSON is JSON on one line of a list.
func shortJSON(text []byte) string {
	if text == nil {
		return "…"
	}
	return term.Cut(string(text), callText)
}
