package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	_ "github.com/xstate-engine/xstate/cmd/xstate/early"
	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/telemetry"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/wording"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run carries out a call of this process; it returns the exit code.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := interruptible(context.Background())
	defer stop()
	folder, _ := os.Getwd() // a verb that needs it reports that it is gone
	exported := telemetry.New(os.Getenv, buildVersion())
	defer func() {
		if err := exported.Close(); err != nil {
			fmt.Fprintf(term.Escaper{Writer: errOut}, "xstate: telemetry was not exported: %v\n", err)
		}
	}()
	return commands{exported: exported}.Do(ctx, serve.Call{
		Args: args, Folder: folder, Environ: os.Environ(), Stdin: in, Stdout: out, Stderr: errOut,
	})
}

// interruptible returns a context that the first interrupt cancels, as does the end of the terminal; the second ends
// the process at once.
func interruptible(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	forget := context.AfterFunc(ctx, stop)
	return ctx, func() { forget(); stop() }
}

// commands carries out calls of verbs in this process.
type commands struct {
	server   *serve.Server        // whose calls they are; nil where a call is this process's own
	exported *telemetry.Telemetry // nil: none is
}

// app returns what the verbs share for a call that came by a door.
func (c commands) app(call serve.Call, door wording.Door) *app {
	from := callerOf(call, door)
	a := &app{
		printer: printer{caller: from, ui: term.New(from.env, from.door, call.Stdout, call.Stderr)},
		call:    call, server: c.server, doer: func(s *serve.Server) serve.Doer { return commands{s, c.exported} },
		exported: c.exported,
	}
	if c.server != nil {
		a.noticesBefore = len(c.server.Pool.Store().State().Notices())
	}
	return a
}

// Do implements serve.Doer.
func (c commands) Do(ctx context.Context, call serve.Call) (code int) {
	a := c.app(call, wording.CommandLine)
	defer a.end()
	a.ui.Lines = slices.Contains(call.Args, "--json-lines") // also for errors found before the flags are read
	a.ui.JSON = a.ui.Lines || slices.Contains(call.Args, "--json")
	defer func() {
		if r := recover(); r != nil {
			code = fail(a.ui, fmt.Errorf("internal error: %v", r))
		}
	}()
	stopTalk := context.AfterFunc(ctx, func() {
		if a.ui.ErrTerminal && !a.forwarded.Load() {
			a.ui.Talk("stopping what runs; interrupt again to end at once")
		}
	})
	defer stopTalk()
	root := a.root()
	root.SetArgs(append([]string{}, call.Args...)) // not nil, which means those of this process
	root.SetIn(call.Stdin)
	root.SetOut(term.Escaper{Writer: call.Stdout})
	root.SetErr(term.Escaper{Writer: call.Stderr})
	err := root.ExecuteContext(ctx)
	a.noteDamage(err)
	if err != nil && !a.parsed {
		err = usage(err)
	}
	return fail(a.ui, err)
}
