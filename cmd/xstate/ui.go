package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/serve"
)

type uiFlags struct{ edit, print bool }

func (a *app) uiVerb() *cobra.Command {
	var f uiFlags
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "look at the sessions of the store in a browser",
		Long: `Ui opens a page in the browser: the program with its outputs, why each block ran, the graph, the steps,
values, and calls that wait. While it is open it follows what happens, whichever process does it.

The server of the store shows it, on this machine alone; ui starts one if there is none. The address is good once, for
one browser. Such a browser may look. With --edit it may also run and edit programs, take steps back and decide about
calls.`,
		Example: `  xstate ui
  xstate ui --edit
  xstate ui --print`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.openPage(cmd.Context(), f) },
	}
	cmd.Flags().BoolVar(&f.edit, "edit", false, "let the browser change sessions")
	cmd.Flags().BoolVar(&f.print, "print", false, "print the address, and open no browser")
	return cmd
}

// openPage has the server invite a browser, and opens it.
func (a *app) openPage(ctx context.Context, f uiFlags) error {
	folder, err := a.here()
	if err != nil {
		return err
	}
	dir, found, err := a.storeDir(folder)
	switch {
	case err != nil:
		return err
	case a.server != nil:
		return a.invite(dir, f)
	case !found:
		return a.noStore(dir)
	}
	client := serve.Find(dir)
	alive := client != nil && client.Alive(ctx)
	if alive && !client.Same() && client.Retire(ctx) {
		alive = false // the next command would have ended it, and with it the page
	}
	if !alive {
		if client, err = a.startServer(ctx, dir); err != nil {
			return err
		}
	}
	return a.control(ctx, client)
}

// invite prints an address for one browser, and opens it.
func (a *app) invite(dir string, f uiFlags) error {
	address, err := a.server.ListenHTTP()
	if err != nil {
		return err
	}
	address += a.server.Page.Invite(f.edit)
	if a.ui.JSON {
		return a.ui.Document(api.Page{Version: api.Version, Store: dir, Address: address, Edit: f.edit})
	}
	if !f.print && a.view(address) == nil {
		a.ui.Talk("opens %s", address)
		return nil
	}
	a.ui.Print("%s\n", address)
	return nil
}
