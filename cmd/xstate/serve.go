package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state"
)

type serveFlags struct {
	listen                   string
	idle                     patience
	memory                   byteSize
	background, status, stop bool
	e2b                      bool
}

func (a *app) serveVerb() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "keep interpreters warm between commands, and let other programs in",
		Long: `Serve serves one store to the processes of this user, on a socket in the store. While it runs, every
command uses it, and prints exactly what it prints without one. Sessions keep their interpreters, with all values, from
run to run. A server adds speed and no state: killing it loses nothing that a command has reported.

It ends by itself when it had nothing to do for a while. With --listen it answers HTTP on this machine, too, for callers
that show the token in STORE/token: as the Connect API and, with --e2b, as the E2B code interpreter (docs/api.md).`,
		Example: `  xstate serve --background
  xstate serve --status
  xstate serve --stop
  xstate serve --listen 127.0.0.1:0 --idle 1h --memory 4GB`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.listen, "listen", "", "also answer HTTP at `ADDRESS`, such as 127.0.0.1:8080; port 0 is any")
	flags.BoolVar(&f.e2b, "e2b", false,
		"also answer as the E2B code interpreter, for code in the folder of the store")
	flags.Var(&f.idle, "idle", "end after this `DURATION` without a call (default 10m)")
	flags.Var(&f.memory, "memory",
		"close idle interpreters when all take more than `SIZE` (default: half of the machine's memory)")
	a.sandboxFlag(flags, "serve")
	flags.BoolVar(&f.background, "background", false, "return when the server listens")
	flags.BoolVar(&f.status, "status", false, "show the server of the store, its sessions and runs")
	flags.BoolVar(&f.stop, "stop", false, "interrupt what runs, and end the server")
	return cmd
}

func (a *app) serve(ctx context.Context, f serveFlags) error {
	folder, err := a.here()
	if err != nil {
		return err
	}
	dir, found, err := a.storeDir(folder)
	switch {
	case err != nil:
		return err
	case a.server != nil && f.stop:
		defer a.server.Stop()
		if !a.ui.JSON {
			return nil // the client says so when it has ended
		}
		return a.printServer(a.serverDocument())
	case a.server != nil:
		return a.printServer(a.serverDocument())
	case f.status || f.stop:
		return a.askServer(ctx, dir, found, f)
	case f.background:
		return a.serveInBackground(ctx, dir, f)
	}
	return a.serveHere(ctx, dir, f)
}

// askServer has the server show itself, or end.
func (a *app) askServer(ctx context.Context, dir string, found bool, f serveFlags) error {
	if !found {
		return a.noStore(dir)
	}
	client := serve.Find(dir)
	if client == nil || !client.Alive(ctx) {
		return a.printServer(api.Server{Version: api.Version, Store: dir})
	}
	err := a.control(ctx, client)
	if refused := (*serve.RefusedError)(nil); errors.As(err, &refused) && refused.Ending &&
		serve.WaitGone(ctx, dir, serverEnd) {
		return a.printServer(api.Server{Version: api.Version, Store: dir})
	}
	if err == nil && f.stop && !serve.WaitGone(ctx, dir, 30*time.Second) {
		return &state.Error{
			Code:    api.CodeServed,
			Message: fmt.Sprintf("the server, process %d, has not ended yet", client.Info.PID),
			Hint:    fmt.Sprintf("wait, or kill it: kill -9 %d loses nothing that was reported", client.Info.PID),
		}
	}
	if err == nil && f.stop && !a.ui.JSON {
		a.ui.Print("process %d has stopped serving %s\n", client.Info.PID, a.fromHere(dir))
	}
	return err
}

// control has a server carry the command out.
func (a *app) control(ctx context.Context, client *serve.Client) error {
	a.forwarded.Store(true)
	exit, err := client.Control(ctx, a.call)
	refused := (*serve.RefusedError)(nil)
	switch {
	case err == nil && exit != 0:
		return outcome(exit)
	case !errors.As(err, &refused):
		return err
	}
	a.forwarded.Store(false)
	if refused.Silent {
		return client.Silent(err)
	}
	return &state.Error{
		Code:    state.CodeBusy,
		Message: fmt.Sprintf("process %d does not take the command", client.Info.PID),
		Hint:    "try again later",
		Err:     refused,
	}
}

func (a *app) serveInBackground(ctx context.Context, dir string, f serveFlags) error {
	if client := serve.Find(dir); client != nil && client.Alive(ctx) {
		if f == (serveFlags{background: true}) && a.bounds.asked == "" {
			return a.tellServer(dir, client.Info, " already")
		}
		return &state.Error{
			Code:    api.CodeServed,
			Message: fmt.Sprintf("process %d serves the store %s already, as it was told then", client.Info.PID, dir),
			Hint:    "`xstate serve --stop` ends it; then start one with these flags",
		}
	}
	var args []string
	if f.listen != "" {
		args = append(args, "--listen", f.listen)
	}
	if f.e2b {
		args = append(args, "--e2b")
	}
	if a.bounds.asked != "" {
		args = append(args, "--sandbox", string(a.bounds.asked))
	}
	if f.idle > 0 {
		args = append(args, "--idle", time.Duration(f.idle).String())
	}
	if f.memory > 0 {
		args = append(args, "--memory", fmt.Sprintf("%dB", int64(f.memory)))
	}
	client, err := a.startServer(ctx, dir, args...)
	if err != nil {
		return err
	}
	return a.tellServer(dir, client.Info, "")
}

// tellServer says which process serves a store.
func (w *printer) tellServer(dir string, info serve.Info, already string) error {
	if w.ui.JSON {
		return w.ui.Document(infoDocument(dir, info))
	}
	w.ui.Talk("process %d serves %s%s", info.PID, w.fromHere(dir), already)
	w.tellHTTP(info)
	return nil
}

// serveHere serves until the server ends.
func (a *app) serveHere(ctx context.Context, dir string, f serveFlags) error {
	becomeServer()
	var server *serve.Server
	environ, err := a.callLevel(filepath.Dir(dir))
	if err == nil {
		server, err = serve.Listen(ctx, serve.Options{
			Dir: dir, Version: buildVersion(), Idle: time.Duration(max(f.idle, 0)), Memory: int64(f.memory),
			Listen: f.listen, Log: logOf(a), Limit: timeFor,
		})
	}
	if err == nil {
		a.answerHTTP(ctx, server, environ, f.e2b)
	}
	waits := serve.Ready(err)
	if err != nil {
		return err
	}
	if !waits {
		a.ui.Talk("serves %s; an interrupt ends it", a.fromHere(dir))
		a.tellHTTP(server.Info())
	}
	return server.Serve(ctx, a.doer(server))
}

// becomeServer prepares this process, which began as a command.
func becomeServer() {
	debug.SetMemoryLimit(math.MaxInt64) // that of a command is too little for many
	debug.SetGCPercent(100)
	os.Unsetenv("TZ") // times are in the zone of each caller
}

func (w *printer) tellHTTP(info serve.Info) {
	if info.HTTP != "" {
		w.ui.Talk("answers HTTP at %s for who shows the token in the store", info.HTTP)
	}
}

func infoDocument(dir string, info serve.Info) api.Server {
	return api.Server{
		Version: api.Version, Store: dir, Running: true, PID: info.PID, Socket: info.Socket, HTTP: info.HTTP,
		XState: info.XState, Build: info.Build,
	}
}

func (a *app) serverDocument() api.Server {
	d := infoDocument(a.server.Pool.Store().State().Dir(), a.server.Info())
	d.Idle, d.Memory = a.server.Idle().Seconds(), a.server.Memory()
	d.Sessions, d.Runs = a.server.Pool.Warm(), a.server.Pool.Runs()
	return d
}

func (w *printer) printServer(d api.Server) error {
	if w.ui.JSON {
		return w.ui.Document(d)
	}
	if !d.Running {
		w.ui.Talk("no server serves %s", w.fromHere(d.Store))
		return nil
	}
	w.ui.Print("process %d serves %s, and ends after %s without a call\n", d.PID, w.fromHere(d.Store),
		time.Duration(d.Idle*float64(time.Second)))
	if d.HTTP != "" {
		w.ui.Print("HTTP: %s\n", d.HTTP)
	}
	var rows [][]string
	for _, s := range d.Sessions {
		what := "warm"
		if s.Busy {
			what = "in use"
		}
		rows = append(rows, []string{s.Session, what, term.Size(s.Bytes)})
	}
	for _, r := range d.Runs {
		rows = append(rows, []string{"run " + r.Run, r.Verb + " of " + r.Session, "since " +
			r.Since.In(w.zone()).Format(timeFormat)})
	}
	w.ui.Table(rows)
	return nil
}

// logOf is the log in which a server reports what became of it.
func logOf(a *app) *serverLog { return &serverLog{a} }

type serverLog struct{ a *app }

// Write implements io.Writer.
func (l *serverLog) Write(p []byte) (int, error) {
	l.a.ui.Say(time.Now().UTC().Format(time.RFC3339) + " xstate: " + string(p))
	return len(p), nil
}
