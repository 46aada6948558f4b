package main

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
)

// unserved are the verbs that work alone: they use no store, need it for themselves, or are about the server.
var unserved = []string{"serve", "mcp", "kernel", "kernel install", "init", "bench", "check", "version", "completion",
	"man", "help", "policy", "policy check", "doctor", "evidence verify"}

// forward has the server of the store carry the call out, if there is one, and then returns its outcome. It returns nil
// if the verb is to work alone. The flags and the number of arguments are in order.
func (a *app) forward(cmd *cobra.Command, args []string) error {
	if a.server != nil || a.alone || !a.served(cmd) {
		return nil
	}
	ctx, exit := cmd.Context(), 0
	done, err := a.through(ctx, route{
		folder: a.folderFor(cmd, args), warm: a.wantsWarm(cmd.Name()),
		begins: func() bool { return a.begins(cmd, args) },
		send: func(s *serve.Client) (err error) {
			exit, err = s.Send(ctx, a.call)
			return err
		},
	})
	switch {
	case errors.Is(err, serve.ErrPipe):
		return outcome(exitPipe)
	case err == nil && done:
		return outcome(exit)
	}
	return err
}

// forwardRequest has the server of the store carry a call out, if there is one, and reports whether it did.
func (a *app) forwardRequest(
	ctx context.Context, call verb.Call,
) (answer any, failed *api.Error, done bool, err error) {
	if a.server != nil || a.debugged() {
		return nil, nil, false, nil
	}
	done, err = a.through(ctx, route{
		folder: a.folderOfRequest(call.Request), warm: a.wantsWarm(call.Request.Verb()),
		begins: func() bool { return a.requestBegins(call.Request) },
		send: func(s *serve.Client) (err error) {
			answer, failed, err = s.Operate(ctx, call)
			return err
		},
	})
	return answer, failed, done, err
}

// folderOfRequest is the folder whose store a request will use.
func (a *app) folderOfRequest(r verb.Request) string {
	session := r.About()
	switch r := r.(type) {
	case *verb.Run:
		session = cmp.Or(r.File, session)
	case *verb.Plan:
		session = cmp.Or(r.File, session)
	}
	folder, _ := a.folderFrom(session)
	return folder
}

// requestBegins reports whether a request will make the store: nothing is made where nothing can run.
func (a *app) requestBegins(r verb.Request) bool {
	switch r := r.(type) {
	case *verb.Run:
		return r.File != "" && a.runMayBegin(r.File, &runFlags{Run: *r}) == nil
	case *verb.Exec:
		return a.execMayBegin(r) == nil
	}
	return false
}

// route is how a call reaches the server of its store.
type route struct {
	folder string                    // whose store is meant
	warm   bool                      // the call leaves a warm interpreter behind, so a server is started for it
	begins func() bool               // it will make the store
	send   func(*serve.Client) error // with an error of serve.Client.Send
}

// through has the server of a store carry a call out, if there is one or the call wants one. It reports whether it did:
// if not, the call is to be carried out alone.
func (a *app) through(ctx context.Context, r route) (done bool, err error) {
	dir, found, err := a.storeDir(r.folder)
	if err != nil || !found && !(r.warm && r.begins()) {
		return false, nil // the verb reports it
	}
	client := serve.Find(dir)
	switch {
	case client != nil && client.Same(): // if it does not answer, that is known soon enough
	case r.warm:
		client = a.ensureServer(ctx, dir)
	case client != nil && client.Alive(ctx):
		a.ui.Talk("the server of the store is another xstate (%s), so this command works alone", client.Info.XState)
		return false, nil
	default:
		return false, nil
	}
	if client == nil {
		return false, nil
	}
	a.forwarded.Store(true)
	err = r.send(client)
	var refused *serve.RefusedError
	if errors.As(err, &refused) && refused.Ending && r.warm && serve.WaitGone(ctx, dir, serverEnd) {
		if client = a.ensureServer(ctx, dir); client != nil {
			err = r.send(client)
		}
	}
	if errors.As(err, &refused) {
		a.forwarded.Store(false)
		if !refused.Ending {
			a.ui.Talk("the server of the store is not used: %s", refused.Reason)
		}
		return false, nil
	}
	return true, err
}

// serverEnd is how long a server may take to end that is asked for nothing.
const serverEnd = 5 * time.Second

// exitPipe is the exit code by which a shell reports a write to a closed pipe: 128 and SIGPIPE.
const exitPipe = 128 + 13

// debugged reports whether the environment asks for what is of one process.
func (a *app) debugged() bool { return a.env("XSTATE_DEBUG")+a.env("XSTATE_VERIFY") != "" }

// served reports whether a server may carry a verb out.
func (a *app) served(cmd *cobra.Command) bool {
	if a.debugged() || cmd.Flags().Changed("watch") { // each run of a watch is a separate call
		return false
	}
	words := strings.Fields(cmd.CommandPath())[1:]
	return len(words) == 0 ||
		!slices.Contains(unserved, strings.Join(words, " ")) && !strings.HasPrefix(words[0], "__")
}

// folderFor is the folder whose store a verb will use.
func (a *app) folderFor(cmd *cobra.Command, args []string) string {
	switch verb := cmd.Name(); {
	case (verb == "run" || verb == "plan") && len(args) > 0:
		path, _ := a.abs(args[0])
		return filepath.Dir(path)
	case verb == "patch" && len(args) > 0 && a.session == "":
		folder, _ := a.folderFrom(args[0])
		return folder
	}
	folder, _ := a.folderFrom(a.session)
	return folder
}

// wantsWarm reports whether a verb leaves a warm interpreter behind: those that run programs do, except on machines
// that are there for one job.
func (a *app) wantsWarm(verb string) bool {
	if verb != "exec" && verb != "run" {
		return false
	}
	if says := a.env("XSTATE_WARM"); says != "" {
		return !isNo(says)
	}
	ci := a.env("CI")
	return ci == "" || isNo(ci)
}

// isNo reports whether the value of a variable says no.
func isNo(text string) bool {
	return slices.Contains([]string{"0", "false", "no", "off"}, strings.ToLower(text))
}

// begins reports whether a verb that wants a warm interpreter will make the store: nothing is made where nothing can
// run.
func (a *app) begins(cmd *cobra.Command, args []string) bool {
	may := a.mayBegin[cmd.Name()]
	return may != nil && may(args) == nil
}

// ensureServer returns a client of the store's server, which it starts if there is none, or in place of one of another
// build that has nothing to do. It returns nil if the verb is to work alone.
func (a *app) ensureServer(ctx context.Context, dir string) *serve.Client {
	client := serve.Find(dir)
	if client != nil && client.Alive(ctx) {
		if client.Same() {
			return client
		}
		if !client.Retire(ctx) {
			a.ui.Talk("the server of the store is another xstate (%s) and has calls to carry out; this one works alone",
				client.Info.XState)
			return nil
		}
	}
	client, err := a.startServer(ctx, dir)
	if state.CodeOf(err) == api.CodeNoServer { // other errors are those of the store, which the verb reports
		a.ui.Talk("works without a server: %s", a.errorDocument(err).Message)
	}
	return client
}

// startServer starts a server of a store, which it makes if there is none.
func (a *app) startServer(ctx context.Context, dir string, flags ...string) (*serve.Client, error) {
	store, err := xstate.Open(ctx, dir, xstate.Options{State: state.Options{Wait: a.wait}})
	if err != nil {
		return nil, err
	}
	a.notices(store) // the server will find nothing any more
	if err := store.Close(); err != nil {
		return nil, err
	}
	return serve.Start(ctx, dir, a.environ, append([]string{"serve", "--store", dir}, flags...)...)
}
