package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/state"
)

type initFlags struct{ example bool }

func (a *app) initVerb() *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "make a store that programs below share",
		Long: `Init makes a store (.xstate/) in a directory. Programs in it and below then keep their sessions and
results there. Without init, run makes a store beside each file. A store keeps itself out of git.

With --example it also writes a small program with data, an edit to apply and a page that says what to try, into DIR
(default xstate-example). It overwrites nothing.`,
		Example: `  xstate init
  xstate init ~/work/analyses
  xstate init --example`,
		Args: takes(0, 1, "one DIR"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.init(cmd.Context(), args, f) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	cmd.Flags().BoolVar(&f.example, "example", false, "also write a small program to try")
	return cmd
}

func (a *app) init(ctx context.Context, args []string, f initFlags) error {
	folder := "."
	if f.example {
		folder = exampleFolder
	}
	if len(args) > 0 {
		folder = args[0]
	}
	var names []string
	if f.example {
		var err error
		if names, err = a.layOut(folder); err != nil {
			return err
		}
	}
	dir, err := a.abs(filepath.Join(folder, xstate.StoreName))
	if err != nil {
		return err
	}
	if a.store != "" {
		if dir, _, err = a.storeDir(a.path(folder)); err != nil {
			return err
		}
	}
	made := !isStore(dir)
	store, err := a.openStore(ctx, dir, state.Options{})
	if err != nil {
		return err
	}
	if err := a.closeStore(store); err != nil {
		return err
	}
	if a.ui.JSON {
		return a.ui.Document(api.Init{Version: api.Version, Store: dir, Made: made, Files: names})
	}
	if made {
		a.ui.Talk("made the store %s", dir)
	} else {
		a.ui.Talk("the store %s exists already", dir)
	}
	if f.example {
		a.tellExample(folder, names)
	}
	return nil
}
