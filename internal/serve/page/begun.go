package page

import (
	"sync"

	"github.com/xstate-engine/xstate/internal/api"
)

// begun is what a browser began in a session: a run, or an edit with its run.
type begun struct {
	Verb   string
	Ended  bool
	Failed *api.Error // why it was not done

	mu      sync.Mutex
	changed chan struct{} // closed when there is another event, or it has ended
	events  []api.Event
}

func (b *begun) add(e api.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, e)
	close(b.changed)
	b.changed = make(chan struct{})
}

// since returns the events after the first n, and what is closed when there are more.
func (b *begun) since(n int) ([]api.Event, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.events[min(n, len(b.events)):], b.changed
}

func (b *begun) ended() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Ended
}
