package serve

import (
	"sync"
	"time"

	"github.com/xstate-engine/xstate/internal/api"
)

// mostFed is how many bytes of text a feed keeps; the oldest event goes first.
const mostFed = 1 << 20

// Feed is what a run reports while it lasts, for those who follow it. It is safe for use by several goroutines.
type Feed struct {
	mu      sync.Mutex
	list    []FeedEvent
	dropped int // events before those of the list
	bytes   int // that the texts of the list have
	more    chan struct{}
}

// FeedEvent is an event, with the time at which it was reported.
type FeedEvent struct {
	api.Event
	At time.Time
}

func newFeed() *Feed { return &Feed{more: make(chan struct{})} }

// Add adds an event, and wakes those who wait for one. Outputs that are not text keep no content.
func (f *Feed) Add(e api.Event) {
	if e.Output != nil && e.Output.Text == "" {
		e.Output = nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, FeedEvent{e, time.Now()})
	f.bytes += textOf(&e)
	for f.bytes > mostFed && len(f.list) > 1 {
		f.bytes -= textOf(&f.list[0].Event)
		f.list = f.list[1:]
		f.dropped++
	}
	close(f.more)
	f.more = make(chan struct{})
}

// textOf is how many bytes an event counts: those of its text, and some for itself.
func textOf(e *api.Event) int {
	const itself = 200
	if e.Output == nil {
		return itself
	}
	return itself + len(e.Output.Text)
}

// Since returns the events after the first n, as far as they are kept, how many there were in all, and what is closed
// when there are more.
func (f *Feed) Since(n int) (list []FeedEvent, all int, more <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	from := max(n-f.dropped, 0)
	return f.list[from:len(f.list):len(f.list)], f.dropped + len(f.list), f.more
}
