package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/runner/sandbox/proxy"
)

// Options configures New.
type Options struct {
	Key []byte // the user's key: it digests identities, and encrypts cookies
	// Tools are the declarations of the user, by the names of their tables: "http POST api.example.com/search*".
	Tools  map[string]policy.Tool
	Models map[string]policy.Model // for their prices
}

// Source sends the requests of programs on. It is a journal.Source.
type Source struct {
	key      []byte
	declared []declaration
	models   map[string]policy.Model
}

// New returns a source.
func New(o Options) *Source { return &Source{o.Key, declarations(o.Tools), o.Models} }

// Name names the source.
func (s *Source) Name() string { return ToolName }

// Tools returns the one tool. Its Define says what a request does.
func (s *Source) Tools(context.Context) ([]journal.Tool, error) {
	return []journal.Tool{{Name: ToolName, Live: true,
		Description: "a request that the program sends over HTTP, see docs/calls.md"}}, nil
}

// Close has nothing to close.
func (s *Source) Close() error { return nil }

// Define says what a request does: its class, and its scope.
func (s *Source) Define(t journal.Tool, args json.RawMessage) journal.Tool {
	var a Arguments
	u := &url.URL{}
	if json.Unmarshal(args, &a) == nil {
		if parsed, err := url.Parse(a.URL); err == nil {
			u = parsed
		}
	}
	t.Class, t.Scope, t.Timeout = classOf(&a, u), u.Host, -1 // programs set their own time limits
	t.Title = a.Method + " " + a.URL
	name := a.Method + " " + u.Host + cmp.Or(u.EscapedPath(), "/")
	for _, d := range s.declared { // the most exact one is the last
		if !d.pattern.MatchString(name) {
			continue
		}
		t.Class = journal.Class(cmp.Or(d.Class, string(t.Class)))
		t.Scope, t.Undo = cmp.Or(d.Scope, t.Scope), cmp.Or(d.Undo, t.Undo)
		t.Lifetime, t.Timeout = cmp.Or(d.Lifetime, t.Lifetime), cmp.Or(d.Timeout, t.Timeout)
		if d.Price > 0 {
			t.Price = int64(d.Price * 1e6)
		}
	}
	for _, d := range s.declared {
		if d.pattern.MatchString(name) {
			t.Class = journal.Class(policy.StricterClass(string(t.Class), d.AtLeast))
		}
	}
	return t
}

// declaration is what a user declares of requests.
type declaration struct {
	policy.Tool
	text    string
	pattern *regexp.Regexp
}

// declarations returns the declarations about requests, the most exact one last.
func declarations(tools map[string]policy.Tool) (all []declaration) {
	for name, t := range tools {
		text, is := strings.CutPrefix(name, ToolName+" ")
		if !is {
			continue
		}
		if !strings.Contains(text, "/") {
			text += "/*"
		}
		pattern := strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, ".*")
		all = append(all, declaration{t, text, regexp.MustCompile("^" + pattern + "$")})
	}
	slices.SortFunc(all, func(a, b declaration) int {
		return cmp.Or(cmp.Compare(len(a.text), len(b.text)), cmp.Compare(a.text, b.text))
	})
	return all
}

// classOf returns the class of a request without a declaration.
func classOf(a *Arguments, u *url.URL) journal.Class {
	switch a.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return journal.Read
	case http.MethodPut, http.MethodDelete:
		return journal.Idempotent
	case http.MethodPost:
		return modelClass(a, u)
	}
	return journal.Irreversible
}

// modelClass returns the class of a POST. The paths of models alone do not show it: others take messages as well. A
// model that draws its answer is not pure: a program that asks five times wants five answers.
func modelClass(a *Arguments, u *url.URL) journal.Class {
	var body struct {
		Model       string
		Messages    []json.RawMessage
		Input       json.RawMessage
		Prompt      json.RawMessage
		MaxTokens   int `json:"max_tokens"`
		Temperature *float64
		Seed        *int64
	}
	if a.Body == nil || json.Unmarshal(a.Body.JSON, &body) != nil || body.Model == "" {
		return journal.Irreversible
	}
	draws := journal.Read
	if body.Seed != nil || body.Temperature != nil && *body.Temperature == 0 {
		draws = journal.Pure
	}
	folder, last := path.Split(u.Path)
	switch {
	case last == "embeddings" && body.Input != nil:
		return journal.Pure
	case last == "completions" && (body.Prompt != nil || path.Base(folder) == "chat" && body.Messages != nil),
		last == "responses" && body.Input != nil, last == "messages" && body.Messages != nil && body.MaxTokens > 0:
		return draws
	}
	return journal.Irreversible
}

// Call sends the request on that a program makes at this moment.
func (s *Source) Call(ctx context.Context, a journal.Attempt) (journal.Answer, error) {
	l, _ := ctx.Value(liveKey{}).(*live)
	if l == nil {
		return journal.Answer{}, fmt.Errorf("%w: only a request over the network calls this tool", journal.ErrNotSent)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	answer, err := s.send(ctx, l, a)
	l.err = err
	return answer, err
}

// Exchange returns what answers the requests of a program by its calls.
func (s *Source) Exchange(calls kernel.Calls) proxy.Handler {
	return func(w http.ResponseWriter, r *http.Request, up proxy.Upstream) {
		body, err := io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
		if err != nil {
			panic(http.ErrAbortHandler) // the program went away
		}
		if len(body) > MaxBody {
			passOn(w, r, io.MultiReader(strings.NewReader(string(body)), r.Body), up)
			return
		}
		args, err := json.Marshal(arguments(r, body, s.key))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		l := &live{w: w, request: r, body: body, up: up}
		ctx := context.WithValue(r.Context(), liveKey{}, l)
		reply := calls.Call(ctx, kernel.CallRequest{Kind: string(journal.KindTool), Tool: ToolName, Args: args},
			kernel.CallVia{})
		l.mu.Lock() // the source may still end
		defer l.mu.Unlock()
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // the connection may serve others
		l.finish(reply, s.key)
	}
}

// send makes one attempt.
func (s *Source) send(ctx context.Context, l *live, a journal.Attempt) (journal.Answer, error) {
	r := l.request.Clone(ctx)
	r.RequestURI, r.Header = "", onward(l.request.Header)
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(l.body)), int64(len(l.body)), nil
	if len(l.body) == 0 && r.Method != http.MethodPost && r.Method != http.MethodPut && r.Method != http.MethodPatch {
		r.Body = http.NoBody
	}
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(l.body)), nil }
	for name, value := range a.Headers {
		r.Header.Set(name, value)
	}
	reply, err := l.up.RoundTrip(r)
	if err != nil {
		return journal.Answer{}, l.broken(err)
	}
	defer reply.Body.Close()
	answer, err := answerOf(reply, s.key)
	if err != nil {
		return journal.Answer{}, err
	}
	if err := l.receive(reply, &answer, s.key); err != nil {
		return journal.Answer{}, err
	}
	if err := counts(reply.StatusCode); err != nil {
		l.lost = &answer
		return journal.Answer{}, err
	}
	result, err := json.Marshal(answer)
	if err != nil {
		return journal.Answer{}, err
	}
	usage, model := usageOf(s.models, answer.Body.Bytes(), answer.Headers)
	return journal.Answer{Result: result, Usage: usage, Model: model}, nil
}

// counts returns an error if a status is not a lasting answer. The first ones say that the server did not even try.
func counts(status int) error {
	text := fmt.Sprintf("the server answered %d %s", status, http.StatusText(status))
	switch {
	case status == http.StatusTooManyRequests || status == http.StatusTooEarly || status == http.StatusRequestTimeout:
		return fmt.Errorf("%w: %s", journal.ErrNotSent, text)
	case status >= http.StatusInternalServerError:
		return errors.New(text)
	}
	return nil
}
