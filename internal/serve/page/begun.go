package page

import (
	"strings"
	"sync"

	"github.com/xstate-engine/xstate/internal/api"
)

// begun is what a browser began in a session: a run, or an edit with its run.
type begun struct {
	mu      sync.Mutex
	events  []api.Event
	changed chan struct{} // closed when there is another event, or it has ended
	over    bool
	failed  string // why it was not done
}

func newBegun() *begun { return &begun{changed: make(chan struct{})} }

func (b *begun) add(e api.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, e)
	b.tell()
}

// end notes that it has ended; failed is nil if it was done.
func (b *begun) end(failed *api.Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	if failed != nil {
		b.failed = strings.TrimSpace(failed.Message + ". " + failed.Hint)
	}
	b.tell()
}

func (b *begun) tell() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// since returns the events after the first n, and what is closed when there are more.
func (b *begun) since(n int) ([]api.Event, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.events[n:], b.changed
}

// outcome reports whether it has ended, and why it was not done. Nothing was begun in nil.
func (b *begun) outcome() (over bool, failed string) {
	if b == nil {
		return true, ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.over, b.failed
}
