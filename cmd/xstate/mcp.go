package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/serve/mcp"
	"github.com/xstate-engine/xstate/state"
)

func (a *app) mcpVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp [FOLDER]",
		Short: "serve an agent over the Model Context Protocol",
		Long: `Mcp serves one client of the Model Context Protocol over standard input and output, until the input ends:
an agent's host starts it. Its tools are verbs: exec, edit, plan, run, why, query, show, value, history, undo, approve,
fork, replay. Sessions run in FOLDER (default: the working directory), and its store is the nearest .xstate/ at or above
it.

Interpreters stay warm between calls: those of the store's server, if one runs (xstate serve), otherwise its own, which
end with it. docs/mcp.md shows how hosts are set up.`,
		Example: `  xstate mcp
  xstate mcp ~/work/analysis`,
		Args: takes(0, 1, "a FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.mcp(cmd.Context(), args, cmd.InOrStdin(), a.call.Stdout)
		},
	}
	a.sandboxFlag(cmd.Flags(), "mcp")
	return cmd
}

func (a *app) mcp(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if a.ui.JSON {
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
			Code:    api.CodeNoFile,
			Message: "there is no folder " + folder,
			Hint:    "name the folder in which the program is to run: `xstate mcp FOLDER`",
		}
	}
	environ, err := a.callLevel(folder)
	if err != nil {
		return err
	}
	warm := &warmCalls{app: a, folder: folder}
	defer warm.end()
	return mcp.Serve(ctx, warm, mcp.Options{Folder: folder, Environ: environ, Version: buildVersion()}, in, out)
}
