package web

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/runner/sandbox/proxy"
	"github.com/xstate-engine/xstate/state"
)

var userKey = []byte("the key of the user")

// argumentsOf returns what names a request.
func argumentsOf(t *testing.T, method, address, body string, headers ...string) Arguments {
	t.Helper()
	r, err := http.NewRequest(method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return arguments(r, []byte(body), userKey)
}

// TestOneRequest: what varies from request to request, and shapes no answer, makes no other call.
func TestOneRequest(t *testing.T) {
	aws := "AWS4-HMAC-SHA256 Credential=AKIA/%s/eu-west-1/s3/aws4_request, SignedHeaders=host, Signature=%s"
	form := func(boundary string) Arguments {
		return argumentsOf(t, "POST", "https://x.org/up", "--"+boundary+"\r\nfile\r\n--"+boundary+"--",
			"Content-Type", "multipart/form-data; boundary="+boundary)
	}
	for name, pair := range map[string][2]Arguments{
		"agent": {argumentsOf(t, "GET", "https://x.org/", "", "User-Agent", "a", "X-Stainless-Retry-Count", "1"),
			argumentsOf(t, "GET", "https://X.org:443", "", "Traceparent", "00-1-2-3")},
		"boundary": {form("8f1c"), form("77aa")},
		"signature": {argumentsOf(t, "GET", "https://x.org/", "", "Authorization", fmt.Sprintf(aws, "20260101", "ab")),
			argumentsOf(t, "GET", "https://x.org/", "", "Authorization", fmt.Sprintf(aws, "20270101", "cd"))},
	} {
		if d := cmp.Diff(pair[0], pair[1]); d != "" {
			t.Errorf("%s: two calls of one request:\n%s", name, d)
		}
	}
}

// TestOtherRequest: whatever may shape an answer makes another call.
func TestOtherRequest(t *testing.T) {
	seen := map[string]string{}
	for name, a := range map[string]Arguments{
		"plain":     argumentsOf(t, "GET", "https://x.org/a", ""),
		"method":    argumentsOf(t, "HEAD", "https://x.org/a", ""),
		"scheme":    argumentsOf(t, "GET", "http://x.org/a", ""),
		"port":      argumentsOf(t, "GET", "https://x.org:8443/a", ""),
		"query":     argumentsOf(t, "GET", "https://x.org/a?b=1", ""),
		"accept":    argumentsOf(t, "GET", "https://x.org/a", "", "Accept", "text/csv"),
		"range":     argumentsOf(t, "GET", "https://x.org/a", "", "Range", "bytes=1-"),
		"identity":  argumentsOf(t, "GET", "https://x.org/a", "", "Authorization", "Bearer one-one-one"),
		"other":     argumentsOf(t, "GET", "https://x.org/a", "", "Authorization", "Bearer two-two-two"),
		"cookie":    argumentsOf(t, "GET", "https://x.org/a", "", "Cookie", "session=1"),
		"unknown":   argumentsOf(t, "GET", "https://x.org/a", "", "X-Tenant", "7"),
		"key":       argumentsOf(t, "GET", "https://x.org/a?api_key=hidden-hidden", ""),
		"other key": argumentsOf(t, "GET", "https://x.org/a?api_key=secret-secret", ""),
		"body":      argumentsOf(t, "POST", "https://x.org/a", "1", "Content-Type", "application/json"),
		"text":      argumentsOf(t, "POST", "https://x.org/a", "1"),
		"binary":    argumentsOf(t, "POST", "https://x.org/a", "\xff"),
	} {
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		canonical, err := journal.Canonical(text)
		if err != nil {
			t.Fatal(err)
		}
		if was, twice := seen[string(canonical)]; twice {
			t.Errorf("%s and %s are one call: %s", name, was, canonical)
		}
		seen[string(canonical)] = name
		for _, hidden := range []string{"one-one", "two-two", "session", "hidden-hidden", "secret-secret"} {
			if strings.Contains(string(canonical), hidden) {
				t.Errorf("the record of %s holds %q: %s", name, hidden, canonical)
			}
		}
	}
}

func TestClasses(t *testing.T) {
	chat := `"model":"m","messages":[{"role":"user","content":"x"}]`
	s := New(Options{Key: userKey, Tools: map[string]policy.Tool{
		"http POST x.org/search*":  {Class: "read", Scope: "index"},
		"http POST x.org/search/a": {Class: "idempotent"},
		"http * y.org":             {AtLeast: "irreversible"},
		"other":                    {Class: "pure"},
	}})
	for _, test := range []struct {
		method, address, body string
		class                 journal.Class
		scope                 string
	}{
		{"GET", "https://x.org/a", "", journal.Read, "x.org"},
		{"HEAD", "https://x.org:8443/a", "", journal.Read, "x.org:8443"},
		{"PUT", "https://x.org/a", "1", journal.Idempotent, "x.org"},
		{"DELETE", "https://x.org/a", "", journal.Idempotent, "x.org"},
		{"PATCH", "https://x.org/a", "1", journal.Irreversible, "x.org"},
		{"POST", "https://x.org/a", "1", journal.Irreversible, "x.org"},
		{"POST", "https://x.org/search?q=1", "1", journal.Read, "index"},
		{"POST", "https://x.org/search/a", "1", journal.Idempotent, "index"},
		{"GET", "https://y.org/a", "", journal.Irreversible, "y.org"},
		{"POST", "https://api.x.org/v1/chat/completions", "{" + chat + "}", journal.Read, "api.x.org"},
		{"POST", "https://api.x.org/v1/chat/completions", `{"temperature":0,` + chat + "}", journal.Pure, "api.x.org"},
		{"POST", "https://api.x.org/v1/responses", `{"model":"m","input":"x","seed":1}`, journal.Pure, "api.x.org"},
		{"POST", "https://api.x.org/v1/messages", `{"max_tokens":9,` + chat + "}", journal.Read, "api.x.org"},
		{"POST", "https://api.x.org/v1/embeddings", `{"model":"m","input":["x"]}`, journal.Pure, "api.x.org"},
		// What looks like a path of models, and is none.
		{"POST", "https://chat.org/channels/1/messages", `{"content":"hello"}`, journal.Irreversible, "chat.org"},
		{"POST", "https://chat.org/responses", `{"model":"survey"}`, journal.Irreversible, "chat.org"},
	} {
		a := argumentsOf(t, test.method, test.address, test.body, "Content-Type", "application/json")
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		got := s.Define(journal.Tool{Name: ToolName}, text)
		if got.Class != test.class || got.Scope != test.scope {
			t.Errorf("%s %s is %s of %s, want %s of %s", test.method, test.address, got.Class, got.Scope, test.class,
				test.scope)
		}
	}
}

func TestUsage(t *testing.T) {
	s := New(Options{Models: map[string]policy.Model{"fast": {Model: "m", Input: 2, Output: 10}}})
	for kind, body := range map[string]string{
		"application/json": `{"model":"m","usage":{"prompt_tokens":100,"completion_tokens":20}}`,
		"text/event-stream": "data: {\"model\":\"m\",\"choices\":[]}\n\n" +
			"data: {\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":20}}\n\ndata: [DONE]\n\n",
		"text/event-stream; charset=utf-8": "event: message_start\ndata: {\"message\":{\"model\":\"m\",\"usage\":" +
			"{\"input_tokens\":100,\"output_tokens\":1}}}\n\ndata: {\"usage\":{\"output_tokens\":20}}\n\n",
	} {
		got, model := usageOf(s.models, []byte(body), map[string][]string{"content-type": {kind}})
		if want := (state.Usage{InputTokens: 100, OutputTokens: 20, MicroUSD: 400}); got != want || model != "m" {
			t.Errorf("usage of %s = %v of %q, want %v of m", kind, got, model, want)
		}
	}
}

func TestSealed(t *testing.T) {
	a, err := seal(userKey, []byte("session=1"))
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := seal(userKey, []byte("session=1")); string(a) != string(b) {
		t.Error("equal cookies are encrypted to other bytes")
	}
	if got, err := unseal(userKey, a); err != nil || string(got) != "session=1" {
		t.Errorf("unseal = %q, %v", got, err)
	}
	if _, err := unseal([]byte("another user"), a); err == nil {
		t.Error("another user can read the cookies")
	}
}

// program stands for a node: it numbers its calls, and makes them by a journal.
type program struct {
	j       *journal.Journal
	mu      sync.Mutex
	numbers map[state.Digest]int
}

func (p *program) Tools(context.Context) []kernel.ToolInfo { return nil }

func (p *program) Call(ctx context.Context, r kernel.CallRequest, _ kernel.CallVia) kernel.CallReply {
	c, err := p.j.Prepare(ctx, journal.Request{Kind: journal.Kind(r.Kind), Tool: r.Tool, Args: r.Args},
		func(string) state.Digest { return "" })
	if err != nil {
		return kernel.CallReply{Error: &state.CallError{Message: err.Error()}}
	}
	if c.Counted() {
		p.mu.Lock()
		c.Number = p.numbers[c.Key]
		p.numbers[c.Key]++
		p.mu.Unlock()
	}
	result, err := p.j.Do(ctx, c)
	reply := kernel.CallReply{Result: result.JSON}
	var waits *journal.Suspended
	var coded *state.Error
	switch {
	case errors.As(err, &waits):
		reply.Suspended, reply.Error = true, &state.CallError{Code: journal.CodeWaiting, Message: err.Error()}
	case errors.As(err, &coded):
		reply.Error = &state.CallError{Code: coded.Code, Message: coded.Message}
	case err != nil:
		reply.Error = &state.CallError{Message: err.Error()}
	}
	return reply
}

// site is a server whose requests are recorded.
type site struct {
	server *httptest.Server
	source *Source
	j      *journal.Journal
	store  *state.Store
	mu     sync.Mutex
	asked  map[string]int
}

func newSite(t *testing.T, handler http.HandlerFunc) *site {
	t.Helper()
	s := &site{asked: map[string]int{}, source: New(Options{Key: userKey})}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked[r.Method+" "+r.URL.Path]++
		s.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(s.server.Close)
	var err error
	s.store, err = state.Open(t.Context(), filepath.Join(t.TempDir(), ".xstate"), state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.store.Close() })
	s.j = journal.New(s.store, journal.Options{Sources: []journal.Source{s.source}, Lineage: 1})
	return s
}

// visit is one run of a program that makes requests.
type visit struct{ front *httptest.Server }

func (s *site) visit(t *testing.T) *visit {
	t.Helper()
	handle := s.source.Exchange(&program{j: s.j, numbers: map[state.Digest]int{}})
	up := proxy.Upstream{RoundTripper: &http.Transport{DisableCompression: true}, Pass: func(string) {}}
	v := &visit{httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Scheme, r.URL.Host = "http", s.server.Listener.Addr().String()
		r.Host = r.URL.Host
		handle(w, r, up)
	}))}
	t.Cleanup(v.front.Close)
	return v
}

// ask makes a request, and returns all that comes.
func (v *visit) ask(t *testing.T, method, path, body string, headers ...string) string {
	t.Helper()
	r, err := http.NewRequest(method, v.front.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	reply, err := v.front.Client().Do(r)
	if err != nil {
		return "broken"
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return fmt.Sprintf("%d broken after %q", reply.StatusCode, text)
	}
	return fmt.Sprintf("%d %s %s %s", reply.StatusCode, reply.Header.Get("Content-Type"),
		reply.Header.Get("Set-Cookie"),
		text)
}

// TestServedAgain: the second run of a program gets byte for byte what the first one got, and no server is asked.
func TestServedAgain(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "x/y")
		w.Header().Set("Set-Cookie", "session=very-secret")
		w.Header().Set("X-Request-Id", "drawn")
		switch r.URL.Path {
		case "/binary":
			fmt.Fprint(w, "\x00\xff\x80")
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
		case "/moved":
			w.Header().Set("Location", "/binary")
			w.WriteHeader(http.StatusNoContent)
		case "/stream":
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 3 {
				fmt.Fprintf(w, "data: %d\n\n", i)
				w.(http.Flusher).Flush()
			}
		default:
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s", r.Header.Get("Authorization"), base64.StdEncoding.EncodeToString(body))
		}
	}
	run := func(v *visit) (all []string) {
		for _, path := range []string{"/a", "/binary", "/missing", "/moved", "/stream", "/a"} {
			all = append(all, v.ask(t, "GET", path, ""))
		}
		return append(all, v.ask(t, "POST", "/order", "one"), v.ask(t, "POST", "/order", "one"),
			v.ask(t, "GET", "/a", "", "Authorization", "me"))
	}
	s := newSite(t, handler)
	first := run(s.visit(t))
	again := s.visit(t)
	if d := cmp.Diff(first, run(again)); d != "" {
		t.Errorf("the record is another answer (-first +second):\n%s", d)
	}
	if want := "200 x/y session=very-secret \x00\xff\x80"; first[1] != want {
		t.Errorf("the answer = %q, want %q", first[1], want)
	}
	if s.asked["GET /a"] != 3 || s.asked["POST /order"] != 2 || s.asked["GET /stream"] != 1 {
		t.Errorf("after two runs the server was asked %v", s.asked)
	}
	if got := again.ask(t, "GET", "/a", "", "Authorization", "you"); !strings.HasSuffix(got, "you ") {
		t.Errorf("another identity got %q", got)
	}
	err := s.store.Calls(t.Context(), 1, func(c *state.Call) bool {
		for _, part := range []state.Content{c.Args, c.Result} {
			if text, err := s.store.Read(part); err != nil || strings.Contains(string(text), "very-secret") {
				t.Errorf("the record of call %d holds a cookie: %s, %v", c.ID, text, err)
			}
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLost: the program gets what came. What is safe is asked again; what is not waits for a person, who says what
// happened.
func TestLost(t *testing.T) {
	mended := false
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case mended:
			fmt.Fprint(w, "mended")
		case r.URL.Path == "/busy":
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, "busy")
		case r.URL.Path == "/down":
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, "down")
		case r.URL.Path == "/broken":
			panic(http.ErrAbortHandler)
		case r.URL.Path == "/half":
			fmt.Fprint(w, "half")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	v := s.visit(t)
	ask := func(method, path, want string) {
		t.Helper()
		if got := v.ask(t, method, path, ""); got != want {
			t.Errorf("%s %s = %q, want %q", method, path, got, want)
		}
	}
	const plain = " text/plain; charset=utf-8  "
	ask("GET", "/busy", "429"+plain+"busy")
	ask("GET", "/down", "500"+plain+"down")
	ask("GET", "/broken", "broken")
	ask("GET", "/half", `200 broken after "half"`)
	ask("POST", "/busy", "429"+plain+"busy")
	waits := v.ask(t, "POST", "/down", "")
	if !strings.Contains(waits, "did the call of POST http://") {
		t.Fatalf("POST /down = %q, want that it waits", waits)
	}
	var id state.CallID
	err := s.store.Calls(t.Context(), 1, func(c *state.Call) bool {
		if c.State == state.CallWaiting {
			id = c.ID
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	mended = true
	v = s.visit(t)
	for _, path := range []string{"/busy", "/down", "/broken", "/half"} {
		ask("GET", path, "200"+plain+"mended")
	}
	ask("POST", "/busy", "200"+plain+"mended")
	ask("POST", "/down", waits)
	if s.asked["POST /down"] != 1 {
		t.Errorf("what may have happened was repeated: %v", s.asked)
	}
	_, _, err = journal.Decide(t.Context(), s.store, journal.Decision{Call: id, Choice: journal.ChoiceHappened,
		Result: json.RawMessage(`{"order":7}`), At: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	v = s.visit(t)
	ask("POST", "/down", `200 application/json  {"order":7}`)
}

// TestLargeAnswer: what is too large to be recorded reaches the program as a whole.
func TestLargeAnswer(t *testing.T) {
	part := strings.Repeat("x", 1<<20)
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(33<<20))
		for range 33 {
			fmt.Fprint(w, part)
		}
	})
	if got := s.visit(t).ask(t, "GET", "/", ""); !strings.HasSuffix(got, part) || len(got) < 33<<20 {
		t.Errorf("the program got %d bytes, want %d and a head", len(got), 33<<20)
	}
}
