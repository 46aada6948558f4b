//lint:file-ignore SA1019 servers of today ask for samples in this way

package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// startTime is how long a server may take until it lists its tools. npx may have to download it first.
const startTime = 2 * time.Minute

// server is one of the Model Context Protocol.
type server struct {
	name   string
	config policy.MCP
	o      Options
	models *models // that answer what the server samples

	turn chan struct{} // held by who connects
	mu   sync.Mutex
	link *link // nil: there is none yet, or it ended
	over bool  // Close was called
}

// link is a connection to a server, with the tools that it listed.
type link struct {
	session *mcp.ClientSession
	child   *child // nil: the server is at an address
	tools   []journal.Tool
	changed bool          // the server said that its tools are others now
	ended   chan struct{} // closed with the connection
	samples spending      // spent on samples of a model, for the server
	orders  orders
}

func newServer(name string, config policy.MCP, o Options, m *models) *server {
	return &server{name: name, config: config, o: o, models: m, turn: make(chan struct{}, 1)}
}

func (s *server) Name() string { return s.name }

// Tools returns the tools of the server, which it starts if it does not run.
func (s *server) Tools(ctx context.Context) ([]journal.Tool, error) {
	l, err := s.connected(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return l.tools, nil
}

// Connected reports whether the server was asked and runs.
func (s *server) Connected() bool { return s.current() != nil }

// connected returns a connection that lasts, with an up-to-date list of tools.
func (s *server) connected(ctx context.Context) (*link, error) {
	if l := s.current(); l != nil {
		return l, nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if l := s.current(); l != nil { // another call made it
		return l, nil
	}
	// The connection outlives the call that makes it.
	begun, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), startTime,
		fmt.Errorf("it did not list its tools within %s", startTime))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	l, err := s.open(begun)
	if err != nil {
		return nil, fmt.Errorf("the server %s: %w", s.name, err)
	}
	return l, nil
}

// current returns the connection if it serves.
func (s *server) current() *link {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil || s.link.changed {
		return nil
	}
	select {
	case <-s.link.ended:
		return nil
	default:
		return s.link
	}
}

// open connects, unless there is a connection, and lists the tools.
func (s *server) open(ctx context.Context) (*link, error) {
	s.mu.Lock()
	l, over := s.link, s.over
	s.mu.Unlock()
	if over {
		return nil, errors.New("the session is closed")
	}
	if l == nil || l.isEnded() {
		l.close()
		var err error
		if l, err = s.connect(ctx); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	l.changed = false // what changes from here on is listed again
	s.mu.Unlock()
	tools, err := l.list(ctx, s.config.Timeout)
	if err != nil {
		err = l.explain(ctx, err)
		l.close()
		return nil, err
	}
	s.mu.Lock()
	l.tools, s.link = tools, l
	over = s.over
	s.mu.Unlock()
	if over {
		l.close()
	}
	return l, nil
}

func (l *link) isEnded() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// connect starts the server, or calls its address.
func (s *server) connect(ctx context.Context) (*link, error) {
	l := &link{ended: make(chan struct{})}
	transport, err := s.transport(l)
	if err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "xstate", Version: "1"}, s.clientOptions(l))
	l.session, err = client.Connect(ctx, transport, nil)
	if err != nil {
		err = l.explain(ctx, err)
		l.close()
		return nil, err
	}
	go func() {
		_ = l.session.Wait()
		close(l.ended)
	}()
	return l, nil
}

func (s *server) clientOptions(l *link) *mcp.ClientOptions {
	o := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			s.mu.Lock()
			l.changed = true
			s.mu.Unlock()
		},
		// No user watches a program run. A program asks people by explicit calls.
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
	}
	if len(s.models.named) > 0 {
		o.CreateMessageHandler = func(ctx context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult,
			error) {
			return s.models.sample(ctx, r.Params, &l.samples)
		}
	}
	return o
}

func (s *server) transport(l *link) (mcp.Transport, error) {
	if s.config.URL != "" {
		headers, err := expand(s.config.Headers, &s.o)
		if err != nil {
			return nil, err
		}
		return &mcp.StreamableClientTransport{Endpoint: s.config.URL, MaxEventSize: verbatimLimit, MaxRetries: 2,
			HTTPClient: headerClient(s.config.URL, headers, &l.orders)}, nil
	}
	var err error
	if l.child, err = startChild(s.config, &s.o); err != nil {
		return nil, err
	}
	return &mcp.IOTransport{Reader: verbatim(l.orders.along(l.child.out), false, true), Writer: l.child.in,
		MaxLineLength: verbatimLimit}, nil
}

// list asks the server for its tools.
func (l *link) list(ctx context.Context, timeout time.Duration) (all []journal.Tool, err error) {
	version := ""
	if r := l.session.InitializeResult(); r != nil && r.ServerInfo != nil {
		version = r.ServerInfo.Version
	}
	l.orders.listen()
	for t, err := range l.session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if len(all) == 10_000 {
			return nil, errors.New("it lists more than 10000 tools")
		}
		tool, err := toolOf(t, version)
		if err != nil {
			return nil, err
		}
		tool.Timeout = timeout
		all = append(all, tool)
	}
	order := l.orders.heard()
	for i := range all {
		all[i].Order = append([]string{}, order[all[i].Name]...)
	}
	return all, nil
}

// toolOf describes a tool of a server. Its version is that of the server, with a digest of what the tool takes and
// returns: a tool that takes something else is another one.
func toolOf(t *mcp.Tool, version string) (tool journal.Tool, err error) {
	tool = journal.Tool{Name: t.Name, Description: strings.TrimSpace(t.Description), Class: journal.Irreversible}
	for _, x := range []struct {
		schema any
		into   *json.RawMessage
	}{{t.InputSchema, &tool.Input}, {t.OutputSchema, &tool.Output}} {
		if x.schema == nil {
			continue
		}
		text, err := json.Marshal(x.schema)
		if err != nil {
			return tool, err
		}
		if *x.into, err = journal.Canonical(text); err != nil {
			return tool, fmt.Errorf("the schema of %s: %w", t.Name, err)
		}
	}
	if a := t.Annotations; a != nil && a.ReadOnlyHint {
		tool.Class = journal.Read
	} else if a != nil && a.IdempotentHint {
		tool.Class = journal.Idempotent
	}
	schemas := state.DigestOf(fmt.Appendf(nil, "input %s\noutput %s\n", tool.Input, tool.Output))
	tool.Version = strings.TrimSpace(version + " " + string(schemas[:min(16, len(schemas))]))
	return tool, nil
}

// Call calls a tool once.
func (s *server) Call(ctx context.Context, a journal.Attempt) (journal.Answer, error) {
	l, err := s.connected(ctx)
	if err != nil {
		return journal.Answer{}, notSent{err}
	}
	meta := mcp.Meta{"idempotencyKey": a.IdempotencyKey}
	for name, value := range a.Headers {
		meta[name] = value
	}
	result, err := l.session.CallTool(ctx, &mcp.CallToolParams{Meta: meta, Name: a.Tool.Name, Arguments: a.Args})
	if err != nil {
		return protocolError(l.explain(ctx, err))
	}
	answer, err := answerOf(result)
	answer.Usage = l.samples.take()
	return answer, err
}

// protocolError is the outcome of a call that the server itself answered with an error. It refuses arguments; a request
// that it does not understand did not reach the tool. After other errors the effect is unknown.
func protocolError(err error) (journal.Answer, error) {
	var answered *jsonrpc.Error
	if !errors.As(err, &answered) {
		return journal.Answer{}, err
	}
	switch answered.Code {
	case jsonrpc.CodeInvalidParams:
		said, err := json.Marshal(answered.Message)
		return journal.Answer{Result: said, Refused: true}, err
	case jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidRequest, jsonrpc.CodeParseError:
		return journal.Answer{}, notSent{err}
	}
	return journal.Answer{}, err
}

// answerOf is the JSON that a program gets of a result: the structured content if there is any, else the one text, else
// a list of contents.
func answerOf(r *mcp.CallToolResult) (a journal.Answer, err error) {
	a.Refused = r.IsError
	var value any
	switch {
	case r.StructuredContent != nil && !r.IsError:
		value = structuredOf(r.StructuredContent)
	case len(r.Content) == 1:
		if text, ok := r.Content[0].(*mcp.TextContent); ok {
			value = text.Text
			break
		}
		value = r.Content[0]
	default:
		list := []any{}
		for _, c := range r.Content {
			if text, ok := c.(*mcp.TextContent); ok {
				list = append(list, text.Text)
			} else {
				list = append(list, c)
			}
		}
		value = list
	}
	a.Result, err = json.Marshal(value)
	return a, err
}

// explain adds to an error what the server wrote last, which is where most say what is wrong.
func (l *link) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	var answered *jsonrpc.Error
	if l.child == nil || errors.As(err, &answered) {
		return err
	}
	if ctx.Err() == nil { // the connection is gone, and the server with it: its last words are to be heard
		select {
		case <-l.child.gone:
		case <-time.After(insists):
		}
	}
	if said := l.child.said(); said != "" {
		return fmt.Errorf("%w; it wrote: %s", err, said)
	}
	return err
}

// close ends a connection and its process.
func (l *link) close() {
	if l == nil {
		return
	}
	if l.child != nil {
		l.child.end()
	}
	if l.session != nil { // after its process: Close would wait for a server that hangs
		_ = l.session.Close()
	}
}

// Close ends the server. A later call does nothing.
func (s *server) Close() error {
	s.mu.Lock()
	l := s.link
	s.over, s.link = true, nil
	s.mu.Unlock()
	l.close()
	return nil
}
