package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
)

// instructions explain the tools to an agent. Hosts put them into the model's context.
const instructions = `xstate runs a program block by block, in Python, JavaScript, TypeScript or Bash, and keeps its
state between calls.
- exec executes code as a notebook does. Variables, imports and functions stay for later calls.
- To correct a block, exec the whole block again: it takes the place of the old one. Say replace or append to decide.
- After a change only the blocks that it affects run again. The results always equal a run of the whole program from
  the top, so never re-run what did not change, and never reload data only because you edited something.
- A block that fails defines nothing; blocks that need it are blocked until it is corrected. Correct it and exec again.
- Blocks have names, which replies show; "# %% NAME" as the first line of code gives a block its name ("// %% NAME" in
  JavaScript). edit with "*** Delete File: NAME" deletes a block.
- Print what you need to see. Long output is cut; a link names the resource that holds all of it.
- To look without executing: show (the program), value (a variable), query (dependencies, failures, earlier steps),
  why (why a block ran or did not), plan (what an edit would run).
- Every edit and run is a step: history lists them, undo takes edits back, fork begins another session to try a way.
- A call of a tool by the program may wait for a decision: its block is waiting. Ask your user; approve decides.
- A session is one program. "main" is the default; a program's file (analysis.py) names the session of that file.`

func newServer(base context.Context, d verb.Operations, o Options) *server {
	s := &server{operations: d, options: o, base: base, secret: make([]byte, 32)}
	_, _ = rand.Read(s.secret) // it does not fail
	xstate := &sdk.Implementation{Name: "xstate", Title: "xstate", Version: o.Version}
	s.Server = sdk.NewServer(xstate, &sdk.ServerOptions{
		Instructions: instructions,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}},
	})
	s.AddReceivingMiddleware(contained)
	for _, t := range tools {
		schema := outputSchema(t.documents)
		s.AddTool(t.describe(schema), s.handler(t, schema))
	}
	s.AddResourceTemplate(outputTemplate, s.readResource)
	s.AddResourceTemplate(textTemplate, s.readResource)
	return s
}

// contained makes a panic in the handling of a message an error of that message. The library handles messages in its
// own goroutines, where a panic would end the process.
func contained(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (result sdk.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				result, err = nil, fmt.Errorf("internal error: %v", p)
			}
		}()
		return next(ctx, method, r)
	}
}

// describe is a tool as clients see it. All four hints are set, because their defaults say the worst.
func (t *tool) describe(output *jsonschema.Schema) *sdk.Tool {
	return &sdk.Tool{
		Name: t.name, Title: t.title, Description: t.about,
		InputSchema: encoded(inputSchema(t.arguments)), OutputSchema: encoded(output),
		Annotations: &sdk.ToolAnnotations{
			Title: t.title, ReadOnlyHint: t.readOnly, IdempotentHint: t.idempotent,
			DestructiveHint: &t.destructive, OpenWorldHint: &t.openWorld,
		},
	}
}

// span returns the variables of the span that a call belongs to, which its _meta names as W3C Trace Context does.
func span(meta sdk.Meta) []string {
	parent, _ := meta["traceparent"].(string)
	state, _ := meta["tracestate"].(string)
	if parent == "" || strings.ContainsRune(parent+state, 0) {
		return nil
	}
	return []string{"TRACEPARENT=" + parent, "TRACESTATE=" + state}
}

// handler carries out the calls of a tool.
func (s *server) handler(t *tool, schema *jsonschema.Schema) sdk.ToolHandler {
	return func(ctx context.Context, r *sdk.CallToolRequest) (result *sdk.CallToolResult, err error) {
		defer func() {
			if p := recover(); p != nil {
				e := api.Error{Code: api.CodeInternal, Message: fmt.Sprintf("internal error: %v", p)}
				result, err = failed(&e), nil
			}
		}()
		s.calls.Add(1)
		defer s.calls.Done()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.base, cancel)()

		client := ""
		if c := r.ClientInfo(); c != nil {
			client = c.Name
		}
		in, bad := t.read(r.Params.Arguments, client)
		if bad != nil {
			return failed(bad), nil
		}
		q, bad := t.request(in)
		if bad == nil {
			bad = cmp.Or(s.foreign(in.session()), s.foreign(in.text("new")))
		}
		if bad != nil {
			return failed(bad), nil
		}
		p := newProgress(ctx, r)
		defer p.end()
		var follow func(api.Event)
		if p != nil && q.events {
			follow = p.event
		}
		before, _ := s.unseal(r.Params.RequestState, t.name, r.Params.Arguments)
		if bad := s.decide(ctx, r, before); bad != nil {
			return failed(s.told(ctx, bad)), nil
		}
		document, bad := s.carryOut(ctx, in, q.ask, span(r.Params.Meta), follow)
		if bad != nil {
			return failed(s.told(ctx, bad)), nil
		}
		if asks := s.ask(r, t.name, before, document); asks != nil {
			return asks, nil
		}
		return reported(&q, document, schema)
	}
}

// carryOut carries out a call. Calls of exec of one session take turns.
func (s *server) carryOut(
	ctx context.Context, in *input, ask verb.Request, span []string, follow func(api.Event),
) (document any, bad *api.Error) {
	if _, ok := ask.(*verb.Exec); ok {
		end := s.turns.take(ctx, in.session())
		if end == nil {
			return nil, cancelled()
		}
		defer end()
	}
	return s.answer(ctx, ask, span, follow)
}

// told adds the sessions that exist to the error for one that does not.
func (s *server) told(ctx context.Context, e *api.Error) *api.Error {
	if e.Code != "no-session" {
		return e
	}
	document, _ := s.answer(ctx, &verb.Status{}, nil, nil)
	status := verb.As[api.Status](document)
	if status == nil || len(status.Sessions) == 0 {
		return e
	}
	var names []string
	for _, x := range status.Sessions {
		names = append(names, x.Session)
	}
	e.Message += "; there are: " + strings.Join(names, ", ")
	return e
}

// reported makes the result of a document: text, pictures and links, and the document itself, which is shortened if it
// is long.
func reported(q *request, document any, schema *jsonschema.Schema) (*sdk.CallToolResult, error) {
	if q.answer != nil {
		document = q.answer(document)
	}
	text, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	if len(text) > maxAnswer {
		return failed(&api.Error{Code: api.CodeTooLarge, Hint: "ask for less: one block, or with a limit",
			Message: fmt.Sprintf("the answer has more than %d bytes", maxAnswer)}), nil
	}
	r, err := q.read(document)
	if err != nil {
		return nil, err
	}
	result := &sdk.CallToolResult{Content: r.contents()}
	value, cut, err := fit(text, func(media, _ string) string { return "[" + media + " left out]" })
	if err != nil {
		return nil, err
	}
	if cut {
		result.Meta = sdk.Meta{"shortened": true}
	}
	result.StructuredContent = complete(schema, value)
	return result, nil
}

// maxAnswer is the largest document that a tool answers with, in bytes.
const maxAnswer = 64 << 20

// newest is the first version of the protocol without sessions.
const newest = "2026-07-28"

// sessionIdle is how long a session of the older protocol lasts without a request.
const sessionIdle = time.Hour

// Handler serves streamable HTTP. The version in a request's header decides between the two generations of the
// protocol. It refuses requests that a page of another site makes, and on a loopback address those for another host.
func Handler(d verb.Operations, o Options) http.Handler {
	s := newServer(context.Background(), d, o)
	of := func(*http.Request) *sdk.Server { return s.Server }
	older := sdk.NewStreamableHTTPHandler(of, &sdk.StreamableHTTPOptions{SessionTimeout: sessionIdle})
	newer := sdk.NewStreamableHTTPHandler(of, &sdk.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true,
	})
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case crossing(r):
			http.Error(w, "cross-origin request refused", http.StatusForbidden)
		case r.Header.Get("Mcp-Protocol-Version") >= newest:
			newer.ServeHTTP(w, r)
		default:
			older.ServeHTTP(w, r)
		}
	}))
}

// crossing reports whether a page of another host made a request. The protection of net/http lets all GET requests
// through; here GET opens a stream of messages.
func crossing(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host != r.Host
}

// Serve speaks the protocol with one client, over its standard input and output, until in ends. Then it interrupts what
// still runs, and returns when that has ended.
func Serve(ctx context.Context, d verb.Operations, o Options, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := newServer(ctx, d, o)
	w := &shared{w: out, requested: map[string]bool{}}
	err := s.Run(ctx, &sdk.IOTransport{Reader: messages(in, w), Writer: w})
	cancel()
	s.calls.Wait()
	// The client closed its end, perhaps while the last answer was on its way.
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
