package kernel

import (
	"context"
	"sync"

	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
)

// Recording makes calls of the requests that a program sends over HTTP. They belong to the node that runs.
type Recording struct {
	Authority *sandbox.Authority // whose certificates the program is to trust
	Exchange  func(Calls) sandbox.Handler
}

// Trusts returns the authority; nil: nothing is recorded.
func (r *Recording) Trusts() *sandbox.Authority {
	if r == nil {
		return nil
	}
	return r.Authority
}

// exchanges are the requests of one node.
type exchanges struct {
	Calls
	stop func()        // stops the node
	over chan struct{} // closed when it has ended

	mu     sync.Mutex
	ended  bool
	open   map[context.Context]func() // those that have no outcome, and what gives them up
	closed sync.WaitGroup
}

// Call makes the call of a request. One that waits for a decision stops its node, and returns after it.
func (x *exchanges) Call(ctx context.Context, r CallRequest, via CallVia) CallReply {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	x.mu.Lock()
	if x.ended {
		x.mu.Unlock()
		return CallReply{Error: &state.CallError{Code: codeNoBlock, Message: "a request was made while no block runs"}}
	}
	x.open[ctx] = cancel
	x.closed.Add(1)
	x.mu.Unlock()
	reply := x.Calls.Call(ctx, r, via)
	x.mu.Lock()
	delete(x.open, ctx)
	x.mu.Unlock()
	x.closed.Done()
	if reply.Suspended {
		x.stop()
		<-x.over // the program has nothing to do with an answer
	}
	return reply
}

// end returns when all requests have an outcome, and reports whether some were still going on. Those of a node that
// failed are given up: see callChannel.end.
func (x *exchanges) end(failed bool) (left bool) {
	x.mu.Lock()
	x.ended, left = true, len(x.open) > 0
	if failed {
		for _, cancel := range x.open {
			cancel()
		}
	}
	x.mu.Unlock()
	x.closed.Wait()
	close(x.over)
	return left
}
