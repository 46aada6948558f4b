package mcp

import (
	"context"
	"sync"
)

// turns lets one exec of a session be carried out at a time, with what is done after it.
type turns struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // by session; holds one value while it is
}

// take waits for the turn of a session. It returns nil if ctx ends first.
func (t *turns) take(ctx context.Context, session string) (end func()) {
	t.mu.Lock()
	if t.busy == nil {
		t.busy = map[string]chan struct{}{}
	}
	busy := t.busy[session]
	if busy == nil {
		busy = make(chan struct{}, 1)
		t.busy[session] = busy
	}
	t.mu.Unlock()
	select {
	case busy <- struct{}{}:
		return func() { <-busy }
	case <-ctx.Done():
		return nil
	}
}
