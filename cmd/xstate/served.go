package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/state"
)

// How verbs use what a server holds. Without a server, a verb opens the store and the session, and closes them.

// openStore opens a store, or takes the one that the server has open.
func (a *app) openStore(ctx context.Context, dir string, o state.Options) (*xstate.Store, error) {
	if a.server != nil && a.server.Serves(dir) {
		a.usedServed = true
		return a.server.Pool.Store(), nil
	}
	o.Wait = a.wait
	return xstate.Open(ctx, dir, xstate.Options{State: o})
}

func (a *app) closeStore(store *xstate.Store) error {
	if a.server != nil && store == a.server.Pool.Store() {
		return nil
	}
	return store.Close()
}

// noticesOf returns what the store noted since the verb opened it.
func (a *app) noticesOf(store *xstate.Store) []string {
	return store.State().Notices()[a.noticesBefore:]
}

// unusableCodes are codes of errors after which an open store may be of no more use.
var unusableCodes = []state.Code{state.CodeDamaged, state.CodeClosed}

// questions are the verbs that answer from the record, or plan, and execute nothing.
var questions = []string{"plan", "preflight", "why", "query", "log", "show", "diff", "graph", "calls", "blame",
	"credit", "evidence", "flow", "export", "artifact"}

// questionTime is how long a server looks for an answer. Runs have the limits of the policy and of their callers.
const questionTime = 10 * time.Minute

// timeFor is how long a call in a server may take; 0: as long as it wants.
func timeFor(verb string) time.Duration {
	if slices.Contains(questions, verb) {
		return questionTime
	}
	return 0
}

// noteDamage has the server of a call end if the store that it has open is damaged: the next one opens it again. An
// error from another store, or for lack of a store, says nothing about that one.
func (a *app) noteDamage(err error) {
	if a.server == nil || !a.usedServed {
		return
	}
	if slices.Contains(unusableCodes, state.CodeOf(err)) {
		a.server.Spent(err.Error())
	} else if found := a.noticesOf(a.server.Pool.Store()); len(found) > 0 {
		a.server.Spent(found[0])
	}
}

// openSession is how a session is opened that a run needs: an existing one, or else a new one.
type openSession func(context.Context, string, xstate.SessionOptions) (*xstate.Session, error)

// runnable opens a session to run it. In a server it is one whose interpreter may run already, and the verb waits for
// its turn.
func (a *app) runnable(
	ctx context.Context, store *xstate.Store, name string, o xstate.SessionOptions, open openSession,
) (*xstate.Session, error) {
	if err := a.bounded(ctx, store, name, &o); err != nil {
		return nil, err
	}
	if a.server == nil || store != a.server.Pool.Store() {
		return open(ctx, name, o)
	}
	if o.Workspace == "" {
		begun, err := store.State().Session(ctx, name)
		if err != nil {
			return nil, err
		}
		o.Workspace = begun.Workspace
	}
	began := time.Now()
	lease, err := a.server.Pool.Session(ctx, name, a.calledBy(), o, open)
	a.exported.Waited(ctx, time.Since(began))
	if err != nil {
		return nil, err
	}
	a.lease = lease
	return lease.Session, nil
}

// calledBy names the call for those who wait for it.
func (a *app) calledBy() string {
	command := "xstate " + strings.Join(a.call.Args, " ")
	if a.asks != nil {
		command = a.asks.Verb()
	}
	if a.call.PID == 0 {
		return "another call (" + command + ")"
	}
	return fmt.Sprintf("process %d (%s)", a.call.PID, command)
}

// closeSession ends the use of a session; it does no harm to do it again. One that the server keeps stays open.
func (a *app) closeSession(s *xstate.Session) error {
	if a.lease != nil && a.lease.Session == s {
		return a.lease.Settle(a.ends)
	}
	return s.Close()
}

// hold locks a session to run it, until end. The session's use ends before the lock does: the interpreter may have
// files open.
func (a *app) hold(ctx context.Context, s *xstate.Session) (end func(), err error) {
	release, err := s.Hold(ctx)
	if err != nil {
		return nil, err
	}
	return func() {
		_ = a.closeSession(s)
		release()
	}, nil
}

// end gives back what the call had of the server.
func (a *app) end() {
	if a.lease != nil {
		a.lease.Return()
	}
}
