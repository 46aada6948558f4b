package main

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/serve/mcp"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
)

func (a *app) mcpVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp [FOLDER]",
		Short: "serve an agent over the Model Context Protocol",
		Long: `Mcp serves one client of the Model Context Protocol over standard input and output, until the input ends:
an agent's host starts it. Its tools are verbs: exec, edit, plan, run, why, query, show, value, history, undo, fork,
replay. Sessions run in FOLDER (default: the working directory), and its store is the nearest .xstate/ at or above it.

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

// warmCalls carries out calls with interpreters that stay warm. If no server of the store runs, this process becomes
// one: others use it, too, and it ends with this process.
type warmCalls struct {
	*app
	folder string

	mu     sync.Mutex
	server *serve.Server // of this process; nil: there is none
	served chan struct{} // closed when it has ended
}

// Operate implements verb.Operations.
func (w *warmCalls) Operate(ctx context.Context, call verb.Call) (any, *api.Error) {
	if s := w.own(call); s != nil {
		call.PID = os.Getpid()
		if answer, failed, taken := s.Operate(ctx, w.doer(s), call); taken {
			return answer, failed
		}
	}
	return w.doer(nil).Operate(ctx, call)
}

// own returns the server of this process, which it starts if no other one serves the store. Only exec makes a store. It
// returns nil where the call finds the server of another process, or works alone.
func (w *warmCalls) own(call verb.Call) *serve.Server {
	w.mu.Lock()
	defer w.mu.Unlock()
	dir, found, err := w.storeDir(w.folder)
	if err != nil ||
		!found && (call.Request.Verb() != "exec" || w.findLanguage("", "", w.folder) != nil) ||
		w.debugged() {
		return nil
	}
	if client := serve.Find(dir); client != nil && client.Alive(context.Background()) {
		if w.server != nil && client.Info.PID == os.Getpid() {
			return w.server
		}
		return nil
	}
	w.finish() // it had nothing to do for long
	server, err := serve.Listen(context.Background(), serve.Options{Dir: dir, Version: buildVersion(), Limit: timeFor})
	if err != nil {
		return nil
	}
	becomeServer()
	served := make(chan struct{})
	w.server, w.served = server, served
	go func() {
		defer close(served)
		_ = server.Serve(context.Background(), w.doer(server)) // what it could not close is not acknowledged
	}()
	return server
}

// finish ends the server of this process, and waits until its interpreters are gone.
func (w *warmCalls) finish() {
	if w.server != nil {
		w.server.Stop()
		<-w.served
		w.server = nil
	}
}

func (w *warmCalls) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.finish()
}
