package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/serve/mcp"
	"github.com/xstate-engine/xstate/state"
)

func (a *app) mcpVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "mcp [FOLDER]",
		Short: "serve an agent over the Model Context Protocol",
		Long: `Mcp serves one client of the Model Context Protocol over standard input and output, until the input ends:
an agent's host starts it. Its tools are verbs: exec, edit, plan, run, why, query, show, value, history, undo, fork,
replay. Sessions run in FOLDER (default: the working directory), and its store is the nearest .xstate/ at or above it.

Interpreters stay warm between calls. Where a server of the store runs (xstate serve), its are used.`,
		Example: `  xstate mcp
  xstate mcp ~/work/analysis`,
		Args: takes(0, 1, "a FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.mcp(cmd.Context(), args, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}

func (a *app) mcp(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if a.ui.json {
		return &usageError{
			err:  errors.New("--json is not for xstate mcp: its output is the protocol"),
			hint: "leave it out",
		}
	}
	folder, err := a.here()
	if err == nil && len(args) > 0 {
		folder, err = a.abs(args[0])
	}
	if err != nil {
		return err
	}
	if info, bad := a.stat(folder); bad != nil || !info.IsDir() {
		return &state.Error{
			Code:    codeNoFile,
			Message: "there is no folder " + folder,
			Hint:    "name the folder in which the program is to run: xstate mcp FOLDER",
		}
	}
	return mcp.Serve(ctx, a.doer(a.server), mcp.Options{Folder: folder, Environ: a.environ, Version: buildVersion()}, in, out)
}
