package remote

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/state"
)

// health decides whether a store is asked at all. One that cannot be reached, or is slow, is left alone after
// maxFailures in a row, and is tried again after a pause. So the engine loses two answers' time, and not two for each
// node. The local store remembers it for later processes.
type health struct {
	now     func() time.Time
	local   *state.Store
	address string

	mu       sync.Mutex
	failures int       // in a row
	until    time.Time // before that, the store is left alone
	last     error     // of the last failure
}

const (
	maxFailures = 2
	pause       = time.Minute
)

// errLeftAlone reports that a store was not asked.
var errLeftAlone = errors.New("the cache did not answer before, so it is left alone for a minute")

// errSlow is the last failure of a store that does not answer.
var errSlow = errors.New("it did not answer in time")

// errMissing reports that a blob is missing, which says nothing about the store.
var errMissing = errors.New("the blob is missing")

// memoSpace is that of the memos that say until when a store is left alone, by its address.
const memoSpace = "remote-until"

func newHealth(now func() time.Time, local *state.Store, address string) *health {
	h := &health{now: now, local: local, address: address}
	if text, ok := h.local.Memo(memoSpace, h.address); ok && h.until.UnmarshalText(text) == nil &&
		h.until.After(h.now()) {
		h.failures = maxFailures - 1
	}
	return h
}

// call runs one request with a bound on its time. A request that does not heed its context is left behind.
func call[T any](ctx context.Context, h *health, most time.Duration, request func(context.Context) (T, error)) (
	answer T, err error,
) {
	if h.isLeftAlone() {
		return answer, errLeftAlone
	}
	type reply struct {
		answer T
		err    error
	}
	bounded, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	done := make(chan reply, 1)
	go func() {
		answer, err := request(bounded)
		done <- reply{answer, err}
	}()
	select {
	case r := <-done:
		answer, err = r.answer, r.err
	case <-bounded.Done():
		err = bounded.Err()
	}
	if ctx.Err() != nil {
		return answer, ctx.Err() // of the caller, which says nothing about the store
	}
	h.note(err)
	return answer, err
}

// note notes how a request ended.
func (h *health) note(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil || errors.Is(err, ErrReadOnly) || errors.Is(err, errMissing) {
		h.failures = 0
		return
	}
	if h.last = err; errors.Is(err, context.DeadlineExceeded) {
		h.last = errSlow
	}
	if h.failures++; h.failures < maxFailures {
		return
	}
	h.until, h.failures = h.now().Add(pause), maxFailures-1 // after the pause one more failure is enough
	if text, err := h.until.MarshalText(); err == nil {
		_ = h.local.PutMemo(memoSpace, h.address, text) // without it, the next process asks
	}
}

func (h *health) isLeftAlone() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now().Before(h.until)
}

// failure returns the last error of the store; nil if it had none.
func (h *health) failure() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}
