package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/state"
)

// Pool holds an open store, and sessions whose interpreters stay from call to call. A session has one owner at a time;
// others wait in turn. Between calls the lock of a session is free, so other processes may run it.
type Pool struct {
	store  *xstate.Store
	budget int64

	mu       sync.Mutex
	sessions map[string]*warmSession
	runs     map[string]*run
	closed   bool
	measured time.Time
	due      bool // a session has grown since
	settling sync.WaitGroup
}

// warmSession is a session of a pool.
type warmSession struct {
	turn    chan struct{} // holds a token while the session has no owner
	session *xstate.Session
	used    time.Time
	owner   string // the call, named to callers that wait; guarded by Pool.mu like the next two
	settles bool   // the call is over, and what it left is being stored
	groups  []int
}

// mostIdle bounds how many sessions keep an interpreter, whatever memory they take.
const mostIdle = 32

// NewPool returns a pool with an open store, which it closes. budget is how many bytes of memory interpreters may take
// before idle ones are closed.
func NewPool(store *xstate.Store, budget int64) *Pool {
	return &Pool{store: store, budget: budget, sessions: map[string]*warmSession{}, runs: map[string]*run{}}
}

// Store returns the open store.
func (p *Pool) Store() *xstate.Store { return p.store }

// Lease is a session for the time of a call.
type Lease struct {
	*xstate.Session
	pool *Pool
	warm *warmSession
	rest func(context.Context) error
	once sync.Once
}

// Session waits for the caller's turn at a session, and leases it. If the pool has none that serves, open makes it. The
// wait is bounded as that for other processes is; see state.WithWait. call names the call, for those who wait.
func (p *Pool) Session(
	ctx context.Context, name, call string, o xstate.SessionOptions,
	open func(context.Context, string, xstate.SessionOptions) (*xstate.Session, error),
) (*Lease, error) {
	w, err := p.take(ctx, name, call)
	if err != nil {
		return nil, err
	}
	l := &Lease{pool: p, warm: w}
	if w.session != nil {
		serves, err := w.session.Reuse(ctx, o)
		if err == nil && serves {
			l.Session = w.session
			return l, nil
		}
		err = errors.Join(err, w.session.Close())
		if w.session = nil; err != nil {
			p.back(w)
			return nil, err
		}
	}
	if w.session, err = open(ctx, name, o); err != nil {
		w.session = nil
		p.back(w)
		return nil, err
	}
	l.Session = w.session
	return l, nil
}

// take makes the caller the owner of a session.
func (p *Pool) take(ctx context.Context, name, call string) (*warmSession, error) {
	p.mu.Lock()
	w := p.sessions[name]
	if w == nil {
		w = &warmSession{turn: make(chan struct{}, 1)}
		w.turn <- struct{}{}
		p.sessions[name] = w
	}
	p.mu.Unlock()
	limit := state.WaitOf(ctx, 0)
	for {
		wait := time.NewTimer(max(limit, 0))
		select {
		case <-w.turn:
			wait.Stop()
			return w, p.own(w, call)
		case <-ctx.Done():
			wait.Stop()
			return nil, ctx.Err()
		case <-wait.C:
		}
		select {
		case <-w.turn: // it came with the end of the wait
			return w, p.own(w, call)
		default:
		}
		p.mu.Lock()
		settles, owner := w.settles, w.owner
		p.mu.Unlock()
		if !settles {
			return nil, &state.Error{
				Code:    state.CodeBusy,
				Message: fmt.Sprintf("the session %q is being run by %s", name, owner),
				Hint:    "wait for it to end, or end it, and try again; `--wait` sets how long to wait",
			}
		}
		limit = max(limit, 50*time.Millisecond) // this does not count
	}
}

func (p *Pool) own(w *warmSession, call string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.owner, w.settles = call, false
	if p.closed {
		w.turn <- struct{}{}
		return &state.Error{Code: state.CodeClosed, Message: "the server is ending", Hint: "run the command again"}
	}
	return nil
}

// back lets the next one take its turn.
func (p *Pool) back(w *warmSession) {
	p.mu.Lock()
	w.owner, w.settles, w.used, p.due = "", false, time.Now(), true
	if w.groups = nil; w.session != nil {
		w.groups = w.session.Groups()
	}
	p.mu.Unlock()
	w.turn <- struct{}{}
}

// Settle writes to disk what the program left in open files, see Session.Settle. The caller still holds the session.
func (l *Lease) Settle(ended bool) error {
	rest, err := l.Session.Settle(ended)
	l.rest = rest
	return err
}

// Prepare has the session import libraries ahead of its next call, see xstate.Session.ImportLibraries.
func (l *Lease) Prepare() { l.rest = l.Session.ImportLibraries }

// Return ends the lease. The remaining results are stored after it returns, before the session's next lease.
func (l *Lease) Return() {
	l.once.Do(func() {
		p := l.pool
		p.mu.Lock()
		l.warm.settles = true
		p.mu.Unlock()
		p.settling.Go(func() {
			if l.rest != nil {
				_ = l.rest(context.Background()) // stores results, which are computed again if they are lost
			}
			p.store.State().Flush()
			p.back(l.warm)
			p.trim()
		})
	})
}

// Settled waits until what earlier calls of a session left is stored. It does not wait for a call that still runs.
func (p *Pool) Settled(ctx context.Context, name string) {
	for ctx.Err() == nil {
		p.mu.Lock()
		w := p.sessions[name]
		waits := w != nil && w.settles
		p.mu.Unlock()
		if !waits {
			return
		}
		select {
		case <-w.turn:
			w.turn <- struct{}{}
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// look trims after calls whose end came too early for another measurement, and where the machine is short of memory.
func (p *Pool) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && time.Since(p.measured) >= measureEvery && (p.due || len(p.sessions) > 0 && short()) {
		p.settling.Go(p.trim)
	}
}

// measureEvery bounds how often the memory of interpreters is measured: that takes some milliseconds.
const measureEvery = 2 * time.Second

// trim closes the least recently used idle sessions until the others fit the budget.
func (p *Pool) trim() {
	p.mu.Lock()
	if time.Since(p.measured) < measureEvery && len(p.sessions) <= mostIdle {
		p.mu.Unlock()
		return
	}
	p.measured, p.due = time.Now(), false
	p.mu.Unlock()
	for {
		sizes := memoryOf(p.groups())
		total, warm := int64(0), 0
		for _, n := range sizes {
			total += n
		}
		var idle []*warmSession
		p.mu.Lock()
		for _, w := range p.sessions {
			if len(w.groups) > 0 {
				warm++
				if w.owner == "" && !w.settles {
					idle = append(idle, w)
				}
			}
		}
		p.mu.Unlock()
		over := total > allowance(p.budget, total)
		if over {
			p.store.Trim()
		}
		if !over && warm <= mostIdle || len(idle) == 0 {
			return
		}
		oldest := slices.MinFunc(idle, func(a, b *warmSession) int { return a.used.Compare(b.used) })
		select {
		case <-oldest.turn:
			p.mu.Lock()
			oldest.settles = true // a caller that waits meanwhile waits for no other call
			p.mu.Unlock()
			p.end(oldest)
		default: // taken in the meantime
			return
		}
	}
}

// keptFree is the part of a machine's memory that idle interpreters leave to other programs: one in so many.
const keptFree = 10

// allowance returns how many bytes interpreters may take that take so many now: the budget, and less where the machine
// is short of memory. Other programs need it more than what is idle.
func allowance(budget, taken int64) int64 {
	free, all, ok := freeMemory()
	if !ok {
		return budget
	}
	return min(budget, max(0, taken+free-all/keptFree))
}

// short reports whether the machine is short of memory.
func short() bool {
	free, all, ok := freeMemory()
	return ok && free < all/keptFree
}

// end closes the session of an owner.
func (p *Pool) end(w *warmSession) {
	if w.session != nil {
		_ = w.session.Close() // it stores what is costly; what it cannot store is computed again
		w.session = nil
	}
	p.back(w)
}

func (p *Pool) groups() (all []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.sessions {
		all = append(all, w.groups...)
	}
	return all
}

// Close closes the sessions when their owners are done, and the store.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	all := p.sessions
	p.sessions = map[string]*warmSession{}
	p.mu.Unlock()
	for _, w := range all {
		<-w.turn
		if w.session != nil {
			_ = w.session.Close()
		}
		w.turn <- struct{}{} // a caller that waits learns it from its own turn
	}
	p.settling.Wait()
	return p.store.Close()
}

// run is a call that runs a program.
type run struct {
	api.ServedRun
	cancel context.CancelFunc
	feed   *Feed
}

// NewRunID draws the name of a run.
func NewRunID() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // it does not fail
	return hex.EncodeToString(b[:])
}

// Begin notes a run, so that Interrupt can end it and others follow what it adds to its feed. The caller calls end.
func (p *Pool) Begin(ctx context.Context, id, session, verb string) (_ context.Context, feed *Feed, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	feed = newFeed()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs[id] = &run{api.ServedRun{Run: id, Session: session, Verb: verb, Since: time.Now().UTC()}, cancel, feed}
	return ctx, feed, func() {
		p.mu.Lock()
		delete(p.runs, id)
		p.mu.Unlock()
		cancel()
	}
}

// Interrupt interrupts a run, and reports whether there is one of that name.
func (p *Pool) Interrupt(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.runs[id]
	if r != nil {
		r.cancel()
	}
	return r != nil
}

// Feed returns what the current run of a session reports; nil if it has none.
func (p *Pool) Feed(session string) *Feed {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.runs {
		if r.Session == session {
			return r.feed
		}
	}
	return nil
}

// Runs returns the current runs, the oldest first.
func (p *Pool) Runs() []api.ServedRun {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := []api.ServedRun{}
	for _, r := range p.runs {
		all = append(all, r.ServedRun)
	}
	slices.SortFunc(all, func(a, b api.ServedRun) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Run, b.Run))
	})
	return all
}

// Warm returns the sessions with a running interpreter, by name.
func (p *Pool) Warm() []api.ServedSession {
	sizes := memoryOf(p.groups())
	p.mu.Lock()
	defer p.mu.Unlock()
	all := []api.ServedSession{}
	for name, w := range p.sessions {
		if len(w.groups) == 0 && w.owner == "" {
			continue
		}
		x := api.ServedSession{Session: name, Used: w.used.UTC(), Busy: w.owner != ""}
		for _, g := range w.groups {
			x.Bytes += sizes[g]
		}
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b api.ServedSession) int { return cmp.Compare(a.Session, b.Session) })
	return all
}
