package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/state"
)

func (a *app) initVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "make a store that programs below share",
		Long: `Init makes a store (.xstate/) in a directory. Programs in it and below then keep their sessions and
results there. Without init, run makes a store beside each file. A store keeps itself out of git.`,
		Example: `  xstate init
  xstate init ~/work/analyses`,
		Args: takes(0, 1, "one DIR"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.init(cmd.Context(), args) },
	}
}

func (a *app) init(ctx context.Context, args []string) error {
	folder := "."
	if len(args) > 0 {
		folder = args[0]
	}
	dir, err := filepath.Abs(filepath.Join(folder, xstate.StoreName))
	if err != nil {
		return err
	}
	if a.store != "" {
		if dir, _, err = a.storeDir(folder); err != nil {
			return err
		}
	}
	made := !isStore(dir)
	store, err := xstate.Open(ctx, dir, xstate.Options{State: state.Options{Wait: a.wait}})
	if err != nil {
		return err
	}
	if err := store.Close(); err != nil {
		return err
	}
	if a.ui.json {
		return a.ui.document(api.Init{Version: api.Version, Store: dir, Made: made})
	}
	if made {
		a.ui.talk("made the store %s", dir)
	} else {
		a.ui.talk("the store %s exists already", dir)
	}
	return nil
}
