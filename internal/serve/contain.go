package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
)

// Contain returns a Doer for the calls of the server, each of which is kept to itself.
func (s *Server) Contain(d Doer) *Containment {
	return &Containment{Doer: d, Limit: s.o.Limit, Log: s.o.Log}
}

// Containment is a Doer that keeps a call to itself. A panic becomes a failure of the call. A call with a limit that is
// not done in time is given up: it is cancelled and answered with CodeTooSlow. If it ignores that, it continues alone,
// and reaches neither the client nor what the client sent.
type Containment struct {
	Doer
	// Limit is how long a call of a verb may take; 0: as long as it wants. A nil one limits nothing.
	Limit func(verb string) time.Duration
	Log   io.Writer // remarks for people
}

// Do implements Doer.
func (c *Containment) Do(ctx context.Context, call Call) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g := &gate{open: true}
	asJSON := slices.Contains(call.Args, "--json") || slices.Contains(call.Args, "--json-lines")
	inner := call
	inner.Stdin = g.stream(&gated{gate: g, r: call.Stdin}, call.Stdin).(io.Reader)
	inner.Stdout = g.stream(&gated{gate: g, w: call.Stdout, answers: true}, call.Stdout).(io.Writer)
	inner.Stderr = g.stream(&gated{gate: g, w: call.Stderr}, call.Stderr).(io.Writer)
	done := make(chan int, 1)
	go func() {
		exit := api.ExitInternal
		defer func() {
			if p := recover(); p != nil {
				g.fail(call, asJSON, c.panicked(strings.Join(call.Args, " "), p))
			}
			done <- exit
		}()
		exit = c.Doer.Do(ctx, inner)
	}()
	late := c.timer(strings.Join(call.Args[:min(1, len(call.Args))], ""))
	defer late.stop()
	select {
	case exit := <-done:
		return exit
	case <-late.C:
	}
	e := c.gaveUp(strings.Join(call.Args, " "), late)
	g.fail(call, asJSON, e)
	return e.Class().ExitCode()
}

// Operate implements verb.Operations.
func (c *Containment) Operate(ctx context.Context, call verb.Call) (any, *api.Error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g := &gate{open: true}
	defer g.close() // no event follows the answer
	inner := call
	if call.Event != nil {
		inner.Event = func(e api.Event) {
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.open {
				call.Event(e)
			}
		}
	}
	what := strings.TrimSpace(call.Request.Verb() + " " + call.Request.About()) // the code may hold secrets
	type outcome struct {
		answer any
		failed *api.Error
	}
	done := make(chan outcome, 1)
	go func() {
		o := outcome{}
		defer func() {
			if p := recover(); p != nil {
				e := c.panicked(what, p)
				o = outcome{failed: &e}
			}
			done <- o
		}()
		o.answer, o.failed = c.Doer.Operate(ctx, inner)
	}()
	late := c.timer(call.Request.Verb())
	defer late.stop()
	select {
	case o := <-done:
		return o.answer, o.failed
	case <-late.C:
	}
	e := c.gaveUp(what, late)
	return nil, &e
}

// panicked notes a panic in a call and returns the error of the call.
func (c *Containment) panicked(call string, why any) api.Error {
	fmt.Fprintf(c.Log, "panic in %q: %v\n%s", call, why, debug.Stack())
	return api.Error{Code: api.CodeInternal, Message: fmt.Sprintf("internal error: %v", why),
		Hint: "this should not happen; please report it with the command and the program"}
}

// gaveUp notes that a call took too long and returns its error.
func (c *Containment) gaveUp(call string, late patience) api.Error {
	fmt.Fprintf(c.Log, "gave up %q after %s\n", call, late.limit)
	return api.Error{Code: api.CodeTooSlow, Message: fmt.Sprintf("no answer was found within %s", late.limit),
		Hint: "ask for less: one block, an earlier step, or with a limit"}
}

// patience is how long a call is waited for. Without a limit C is nil.
type patience struct {
	C     <-chan time.Time
	limit time.Duration
	stop  func() bool
}

func (c *Containment) timer(verb string) patience {
	p := patience{stop: func() bool { return true }}
	if c.Limit != nil {
		p.limit = c.Limit(verb)
	}
	if p.limit > 0 {
		t := time.NewTimer(p.limit)
		p.C, p.stop = t.C, t.Stop
	}
	return p
}

// gate separates a call from its streams. Once it is closed the call neither reads nor writes.
type gate struct {
	mu    sync.Mutex
	open  bool
	wrote bool // the beginning of an answer
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = false
}

var errGivenUp = errors.New("the call was given up")

// fail closes the gate, and says why, unless the call has begun its answer.
func (g *gate) fail(call Call, asJSON bool, e api.Error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open {
		return
	}
	g.open = false
	fmt.Fprintf(call.Stderr, "xstate: %s\nhint: %s\n", e.Message, e.Hint)
	switch {
	case g.wrote:
	case slices.Contains(call.Args, "--json-lines"):
		_ = json.NewEncoder(call.Stdout).Encode(api.Event{Version: api.Version, Event: "error", Error: &e})
	case asJSON:
		_ = json.NewEncoder(call.Stdout).Encode(api.Failure{Version: api.Version, Error: e}) // a client may be gone
	}
}

// gated is one stream behind a gate. One that is a descriptor of the client stays one: a verb looks whether it is a
// terminal.
type gated struct {
	*gate
	r       io.Reader
	w       io.Writer
	answers bool
}

type gatedDescriptor struct {
	*gated
	fd interface{ Fd() uintptr }
}

func (g *gatedDescriptor) Fd() uintptr { return g.fd.Fd() }

func (g *gate) stream(s *gated, of any) any {
	if d, ok := of.(interface{ Fd() uintptr }); ok {
		return &gatedDescriptor{s, d}
	}
	return s
}

// Read implements io.Reader. It does not hold the gate: it may wait for the client, and what it reads is the client's.
func (g *gated) Read(p []byte) (int, error) {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	if !open {
		return 0, errGivenUp
	}
	return g.r.Read(p)
}

// Write implements io.Writer.
func (g *gated) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open {
		return 0, errGivenUp
	}
	g.wrote = g.wrote || g.answers && len(p) > 0
	return g.w.Write(p)
}

// recovering answers a request whose handler panics with a failure. Without it the connection ends without a word.
func (s *Server) recovering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(p) // the handler wants the connection to end
			}
			fmt.Fprintf(s.o.Log, "panic in %s %s: %v\n%s", r.Method, r.URL.Path, p, debug.Stack())
			refuseHTTP(w, http.StatusInternalServerError, api.CodeInternal, "The request made the server fail.",
				"this should not happen; please report it with the request")
		}()
		next.ServeHTTP(w, r)
	})
}
