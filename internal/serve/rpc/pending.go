package rpc

import (
	"sync"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
)

// answered is what a client answered.
type answered struct {
	answer journal.Answer
	err    error
}

// pending are the calls that clients have not answered yet. Calls of a store have different numbers.
type pending struct {
	mu    sync.Mutex
	calls map[state.CallID]chan answered
}

// expect makes a call answerable until forget.
func (p *pending) expect(id state.CallID) (answer <-chan answered, forget func()) {
	ch := make(chan answered, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls == nil {
		p.calls = map[state.CallID]chan answered{}
	}
	p.calls[id] = ch
	return ch, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.calls[id] == ch {
			delete(p.calls, id)
		}
	}
}

// give answers a call, and reports whether the call still waits for it. The first answer counts.
func (p *pending) give(id state.CallID, x answered) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	ch := p.calls[id]
	delete(p.calls, id)
	if ch == nil {
		return false
	}
	ch <- x
	return true
}
