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
	"sync"
	"time"

	"github.com/xstate-engine/xstate/internal/api"
)

const exitRefused, exitInternal = 3, 5 // as the command line has them

// Contain returns a Doer for the calls of the server, each of which is kept to itself.
func (s *Server) Contain(d Doer) *Containment {
	return &Containment{Doer: d, Limit: s.o.Limit, Log: s.o.Log}
}

// Containment is a Doer that keeps a call to itself. A panic becomes a failure of the call. A call with a limit that is
// not done in time is given up: it is cancelled and answered with CodeTooSlow. If it ignores that, it continues alone,
// and reaches neither the client nor what the client sent.
type Containment struct {
	Doer
	// Limit is how long a call with these arguments may take; 0: as long as it wants. A nil one limits nothing.
	Limit func(args []string) time.Duration
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
		exit := exitInternal
		defer func() {
			if p := recover(); p != nil {
				fmt.Fprintf(c.Log, "panic in %q: %v\n%s", call.Args, p, debug.Stack())
				g.fail(call, asJSON, api.Error{Code: api.CodeInternal, Message: fmt.Sprintf("internal error: %v", p),
					Hint: "this should not happen; please report it with the command and the program"})
			}
			done <- exit
		}()
		exit = c.Doer.Do(ctx, inner)
	}()
	var late <-chan time.Time
	limit := time.Duration(0)
	if c.Limit != nil {
		limit = c.Limit(call.Args)
	}
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case exit := <-done:
		return exit
	case <-late:
	}
	fmt.Fprintf(c.Log, "gave up %q after %s\n", call.Args, limit)
	g.fail(call, asJSON, api.Error{Code: api.CodeTooSlow, Message: fmt.Sprintf("no answer was found within %s", limit),
		Hint: "ask for less: one block, an earlier step, or with a limit"})
	return exitRefused
}

// gate separates a call from its streams. Once it is closed the call neither reads nor writes.
type gate struct {
	mu    sync.Mutex
	open  bool
	wrote bool // the beginning of an answer
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
