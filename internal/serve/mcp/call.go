package mcp

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/internal/wording"
)

// as words a document of one type.
func as[D any](text func(*D) *reply) func(any) (*reply, error) {
	return func(document any) (*reply, error) {
		d := verb.As[D](document)
		if d == nil {
			return nil, fmt.Errorf("the operation answered with %T", document)
		}
		return text(d), nil
	}
}

// Options are what every call of a server has in common.
type Options struct {
	Folder  string   // where the calls are made; absolute
	Store   string   // the store of all sessions; "": the one at or above the file of a session
	Environ []string // the environment of the calls, NAME=value
	Version string   // the version of xstate
}

// server has the tools over operations.
type server struct {
	operations verb.Operations
	options    Options
	*sdk.Server
	base   context.Context // its end interrupts all calls
	calls  sync.WaitGroup
	turns  turns
	secret []byte // signs what clients bring back
}

// foreign is the error for a session whose file is not in the folder of the server, also over links. The agent works
// there and nowhere else, whatever its program may do.
func (s *server) foreign(session string) *api.Error {
	path := session
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.options.Folder, path)
	}
	if serve.Within(s.options.Folder, path) {
		return nil
	}
	return &api.Error{Code: api.CodeForbidden, Hint: "name a session, or a program's file in that folder",
		Message: fmt.Sprintf("the session %q is outside of the folder that is served, %s", session, s.options.Folder)}
}

// answer carries a request out and returns the document. span has variables of the environment.
func (s *server) answer(
	ctx context.Context, ask verb.Request, span []string, event func(api.Event),
) (document any, failed *api.Error) {
	document, failed = s.operations.Operate(ctx, verb.Call{
		Request: ask, Store: s.options.Store, Folder: s.options.Folder,
		Environ: slices.Concat(s.options.Environ, span), Door: wording.Tools, Event: event,
	})
	if ctx.Err() != nil && document == nil {
		return nil, cancelled()
	}
	return document, failed
}

func cancelled() *api.Error {
	return &api.Error{Code: api.CodeInterrupted, Message: "the call was cancelled"}
}

// beat is how often a client hears of a block that takes long: clients give up on silent calls.
const beat = 5 * time.Second

// progress reports to a client how far a call is. Its methods may be called at any time.
type progress struct {
	send func(n float64, message string)

	mu      sync.Mutex
	n       float64
	running string // the block that runs
	since   time.Time
	ticker  *time.Ticker
	done    chan struct{}
}

// newProgress returns nil where the client did not ask for progress.
func newProgress(ctx context.Context, r *sdk.CallToolRequest) *progress {
	token := r.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	p := &progress{ticker: time.NewTicker(beat), done: make(chan struct{})}
	p.send = func(n float64, message string) {
		_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: token, Progress: n, Message: message,
		}) // a client that is gone cancels ctx
	}
	go p.beats()
	return p
}

func (p *progress) beats() {
	for {
		select {
		case <-p.done:
			return
		case <-p.ticker.C:
			p.mu.Lock()
			message := "waiting for the interpreter"
			if p.running != "" {
				message = fmt.Sprintf("block %s runs, %s", p.running, time.Since(p.since).Round(time.Second))
			}
			p.tell(message)
			p.mu.Unlock()
		}
	}
}

// tell sends one more notification. The caller holds mu.
func (p *progress) tell(message string) {
	p.n++
	p.send(p.n, message)
}

// event reports the begin and the end of a block.
func (p *progress) event(e api.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Event {
	case "begin":
		p.running, p.since = string(e.Block), time.Now()
		p.tell("block " + p.running + " runs")
	case "end":
		p.running = ""
		p.tell(fmt.Sprintf("block %s ended, %s", e.Block, duration(e.Seconds)))
	}
}

func (p *progress) end() {
	if p != nil {
		p.ticker.Stop()
		close(p.done)
	}
}
