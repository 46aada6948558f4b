package page

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/internal/api"
)

// begun is what a browser began in a session: a run, or an edit with its run.
type begun struct {
	mu     sync.Mutex
	over   bool
	failed string // why it was not done
}

// end notes that it has ended; failed is nil if it was done.
func (b *begun) end(failed *api.Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	if failed != nil {
		b.failed = strings.TrimSpace(failed.Message + ". " + failed.Hint)
	}
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

// audit is a replay or a bisection that a browser began. It outlives the request.
type audit struct {
	*begun
	What  string // for people
	Since time.Time
	stop  context.CancelFunc
	done  any       // the document, when it is over
	at    api.Event // the last
}

// reach notes how far it is.
func (a *audit) reach(e api.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = e
}

// reached returns how far it is.
func (a *audit) reached() api.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.at
}
