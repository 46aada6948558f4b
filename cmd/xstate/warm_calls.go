package main

import (
	"context"
	"os"
	"sync"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/verb"
)

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

// own returns the server of this process, which it starts if no other one serves the store. Only a run and exec make a
// store. It returns nil where the call finds the server of another process, or works alone.
func (w *warmCalls) own(call verb.Call) *serve.Server {
	w.mu.Lock()
	defer w.mu.Unlock()
	dir, found, err := w.storeDir(w.folder)
	if err != nil ||
		!found && !w.requestBegins(call.Request) ||
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
