package page

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/state"
)

// begun is what a browser began in a session: a run, or an edit with its run.
type begun struct {
	mu     sync.Mutex
	over   bool
	failed string           // why it was not done
	last   state.StepNumber // of the session when it failed; 0: not known
	block  string           // that it was to edit; "": it is no edit
	source string           // which it was to give to the block
}

// end notes that it has ended; failed is nil if it was done. last is the last step of the session then.
func (b *begun) end(failed *api.Error, last state.StepNumber) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over, b.last = true, last
	if failed != nil {
		b.failed = strings.TrimSpace(failed.Message + ". " + failed.Hint)
	}
}

// failure returns why it was not done, and for an edit what was not recorded. Once the session has a later step than
// when it failed, it is of no more interest: nil.
func (b *begun) failure(now state.StepNumber) *notDone {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed == "" || b.last != 0 && now > b.last {
		return nil
	}
	return &notDone{b.failed, b.block, b.source}
}

// notDone is what a browser began in vain, and why.
type notDone struct{ Why, Block, Source string }

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
