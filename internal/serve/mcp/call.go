package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/wording"
)

// as reads a document of one type.
func as[D any](text func(*D) *reply) func([]byte) (*reply, error) {
	return func(data []byte) (*reply, error) {
		d := new(D)
		if err := json.Unmarshal(data, d); err != nil {
			return nil, err
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

// server has the tools over a Doer.
type server struct {
	doer    serve.Doer
	options Options
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

// answer carries a request out and returns the verb's document.
func (s *server) answer(ctx context.Context, q *request, tell func(*event)) (json.RawMessage, *api.Error) {
	var remarks, document bounded
	stream := &lines{line: func(line []byte) {
		var e event
		if json.Unmarshal(line, &e) == nil && e.Event != "" {
			tell(&e)
		}
		document.Reset()
		document.Write(line) // the last one counts
	}}
	args := q.args
	if s.options.Store != "" {
		args = slices.Concat(args[:1], []string{withValue("store", s.options.Store)}, args[1:])
	}
	c := serve.Call{
		Args:    args,
		Folder:  s.options.Folder,
		Environ: slices.Concat(s.options.Environ, q.span),
		Stdin:   strings.NewReader(q.stdin),
		Stdout:  &document,
		Stderr:  &remarks,
		Door:    wording.Tools,
	}
	if q.events {
		c.Stdout = stream
	}
	exit := s.doer.Do(ctx, c)
	stream.end()
	if ctx.Err() != nil && document.Len() == 0 {
		return nil, &api.Error{Code: "interrupted", Message: "the call was cancelled"}
	}
	if document.over {
		return nil, &api.Error{Code: api.CodeTooLarge, Hint: "ask for less: one block, or with a limit",
			Message: fmt.Sprintf("the answer has more than %d bytes", maxAnswer)}
	}
	return result(document.Bytes(), exit, remarks.String())
}

// maxAnswer is the largest document that a tool reads, and the longest event, in bytes.
const maxAnswer = 64 << 20

// bounded keeps what is written to it, up to maxAnswer bytes.
type bounded struct {
	bytes.Buffer
	over bool // more was written
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.over = b.over || b.Len()+len(p) > maxAnswer; !b.over {
		b.Buffer.Write(p)
	}
	return len(p), nil
}

// result takes the answer out of what a verb printed: a document, the last event of a stream, or a failure.
func result(printed []byte, exit int, remarks string) (json.RawMessage, *api.Error) {
	var d struct {
		Event   string          `json:"event"`
		Session *string         `json:"session"`
		Exec    json.RawMessage `json:"exec"`
		Result  json.RawMessage `json:"result"`
		Error   *api.Error      `json:"error"`
	}
	if err := json.Unmarshal(printed, &d); err != nil {
		return nil, &api.Error{
			Code:    api.CodeInternal,
			Message: fmt.Sprintf("the verb printed no document (exit code %d): %s", exit, clip(remarks, 500)),
		}
	}
	switch {
	case d.Event == "done" && len(d.Exec) > 0:
		return d.Exec, nil
	case d.Event == "done" && len(d.Result) > 0:
		return d.Result, nil
	case d.Error != nil && d.Session == nil:
		return nil, d.Error
	case d.Event != "":
		return nil, &api.Error{Code: api.CodeInternal,
			Message: "the events of the verb ended early: " + clip(remarks, 500)}
	}
	return printed, nil
}

// event is what this package reads of an api.Event.
type event struct {
	Event   string  `json:"event"`
	Block   string  `json:"block"`
	Seconds float64 `json:"seconds"`
}

// lines calls line for each line that is written to it.
type lines struct {
	line func([]byte)
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.keep(p)
			return n, nil
		}
		l.keep(p[:i])
		if len(l.rest) > 0 {
			l.line(l.rest)
		}
		l.rest, p = l.rest[:0], p[i+1:]
	}
}

// keep adds to the line that is being written. The part beyond the bound is dropped, so the line is not JSON any more.
func (l *lines) keep(p []byte) {
	l.rest = append(l.rest, p[:min(len(p), maxAnswer+1-len(l.rest))]...)
}

// end ends a last line that has no line end.
func (l *lines) end() {
	if len(l.rest) > 0 {
		l.line(l.rest)
		l.rest = nil
	}
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
func (p *progress) event(e *event) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Event {
	case "begin":
		p.running, p.since = e.Block, time.Now()
		p.tell("block " + e.Block + " runs")
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
