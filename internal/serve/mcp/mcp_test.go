package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/internal/wording"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
)

// operations are those that a test writes.
type operations func(ctx context.Context, c verb.Call) (any, *api.Error)

func (f operations) Operate(ctx context.Context, c verb.Call) (any, *api.Error) { return f(ctx, c) }

// answering answers each call with a document, and records what is asked.
func answering(document any, asked *[]verb.Request) operations {
	return func(_ context.Context, c verb.Call) (any, *api.Error) {
		if asked != nil {
			*asked = append(*asked, c.Request)
		}
		return document, nil
	}
}

// connect returns the SDK's own client, connected over pipes with a server that Serve runs.
func connect(t *testing.T, d verb.Operations, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- Serve(context.Background(), d, Options{Folder: t.TempDir()}, inR, outW) }()
	client := sdk.NewClient(&sdk.Implementation{Name: "tester", Version: "1"}, o)
	session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: outR, Writer: inW}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		_ = inW.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve = %v at the end of its input, want nil", err)
		}
	})
	return session
}

// call calls a tool and returns the result with its text.
func call(t *testing.T, s *sdk.ClientSession, name string, arguments any) (*sdk.CallToolResult, string) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	text, ok := r.Content[0].(*sdk.TextContent)
	if !ok {
		t.Fatalf("the first content of %s is a %T, want text", name, r.Content[0])
	}
	return r, text.Text
}

func TestToolsAreDescribed(t *testing.T) {
	s := connect(t, answering(nil, nil), nil)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(list.Tools); n != 14 {
		t.Errorf("there are %d tools, want 14", n)
	}
	for _, x := range list.Tools {
		a := x.Annotations
		if a == nil || a.DestructiveHint == nil || a.OpenWorldHint == nil || a.Title == "" {
			t.Errorf("the hints of %s are not all set: %+v", x.Name, a)
			continue
		}
		if a.ReadOnlyHint && (*a.DestructiveHint || *a.OpenWorldHint) {
			t.Errorf("%s only reads, and is destructive or changes what is outside", x.Name)
		}
		if len(x.Description) < 80 || len(x.Description) > 500 {
			t.Errorf("the description of %s has %d bytes, want 80 to 500", x.Name, len(x.Description))
		}
	}
	all, err := json.Marshal(list)
	if err != nil || len(all) > 40<<10 {
		t.Errorf("the list of tools has %d bytes, want at most 40 kB; %v", len(all), err)
	}
	if !strings.Contains(s.InitializeResult().Instructions, "exec") {
		t.Error("the instructions do not mention exec")
	}
}

// TestArguments: a call that is not what a tool takes says what it takes, and the verb is not called.
func TestArguments(t *testing.T) {
	var calls []verb.Request
	s := connect(t, answering(api.Log{Session: "main"}, &calls), nil)
	for _, x := range []struct {
		tool, arguments, want string
	}{
		{"exec", `{}`, "usage: exec needs the argument code\nhint: exec takes code (string, required), session "},
		{"exec", `{"code": 3}`, "usage: code must be a string, and is 3"},
		{"exec", `{"cod": "x"}`, `usage: exec has no argument "cod"`},
		{"exec", `{"code": "x", "append": "yes"}`, `usage: append must be true or false, and is "yes"`},
		{"history", `{"limit": "5"}`, `usage: limit must be a whole number, 0 or more, and is "5"`},
		{"history", `{"limit": -1}`, "usage: limit must be a whole number, 0 or more, and is -1"},
		{"history", `{"limit": 1.5}`, "usage: limit must be a whole number, 0 or more, and is 1.5"},
		{"query", `{"list": "all"}`, `usage: list must be one of failed, unverified, volatile, and is "all"`},
		{"run", `{"timeout": true}`, "usage: timeout must be a number, 0 or more, and is true"},
		{"undo", `{"through":9}`, "usage: through needs step, the first of the range\n" +
			"hint: undo takes step 5 with through 9 for " +
			"the edits of the steps 5 to 9"},
		{"undo", `{"through": 4}`, "usage: through needs step"},
		{"show", `{"block": "a", "step": 4}`, "usage: block and step exclude each other"},
		{"show", `[1]`, "usage: the arguments of show must be a JSON object"},
	} {
		r, got := call(t, s, x.tool, json.RawMessage(x.arguments))
		if !r.IsError || !strings.HasPrefix(got, x.want) {
			t.Errorf("%s(%s) = %q, error %v; want an error that begins with %q", x.tool, x.arguments, got, r.IsError,
				x.want)
		}
	}
	if len(calls) > 0 {
		t.Errorf("operations were asked: %+v", calls)
	}
	call(t, s, "history", map[string]any{"session": nil, "limit": 3.0, "after": 12})
	three := 3
	want := []verb.Request{&verb.Log{InSession: verb.In("main"), Limit: &three, After: 12}}
	if d := cmp.Diff(want, calls); d != "" {
		t.Errorf("what history asks (-want +got):\n%s", d)
	}
}

// TestRequests: what each tool asks for its arguments.
func TestRequests(t *testing.T) {
	two, three, five, limit := state.StepNumber(2), state.StepNumber(3), state.StepNumber(5), 7
	in, by := verb.In("main"), state.Origin{Client: "tester"}
	for _, x := range []struct {
		tool, arguments string
		want            verb.Request
	}{
		{"exec", `{"code":"1","session":"s","replace":"-b","timeout":1.5,"agent":"a b"}`,
			&verb.Exec{InSession: verb.In("s"), Code: "1", Replace: "-b", Text: 12000,
				Timeout: 1500 * time.Millisecond, Origin: state.Origin{Agent: "a b", Client: "tester"}}},
		{"exec", `{"code":"1","append":true,"language":"bash","call_id":"c","reason":"r"}`,
			&verb.Exec{InSession: in, Code: "1", Append: true, Language: "bash", Text: 12000,
				Origin: state.Origin{CallID: "c", Reason: "r", Client: "tester"}}},
		{"edit", `{"patch":"p","run":true,"merge":false,"expect":"12"}`,
			&verb.Patch{InSession: in, Text: "p", Run: true, Expect: "12", Origin: by}},
		{"plan", `{"patch":"p","block":"b"}`, &verb.Patch{InSession: in, Text: "p", Block: "b", DryRun: true}},
		{"plan", `{"session":"a.py"}`, &verb.Plan{File: "a.py"}},
		{"plan", `{}`, &verb.Plan{InSession: in}},
		{"run", `{"session":"-a.py","restore_files":true}`,
			&verb.Run{File: "-a.py", RestoreFiles: true, Origin: by}},
		{"why", `{"block":"--json"}`, &verb.Why{InSession: in, Block: "--json"}},
		{"query", `{"at_step":5,"affected_by":"x"}`,
			&verb.Query{InSession: in, Moment: verb.Moment{AtStep: &five}, AffectedBy: "x"}},
		{"query", `{"list":"failed"}`, &verb.Query{InSession: in, Failed: true}},
		{"query", `{"where":"true","limit":7,"after":"n"}`,
			&verb.Query{InSession: in, Where: "true", Limit: &limit, After: "n"}},
		{"show", `{}`, &verb.Show{InSession: in}},
		{"show", `{"block":"b"}`, &verb.Query{InSession: in, Block: "b"}},
		{"show", `{"step":4}`, &verb.Query{InSession: in, Patch: "4"}},
		{"value", `{"name":"df","at_step":3}`,
			&verb.Query{InSession: in, Moment: verb.Moment{AtStep: &three}, Value: "df"}},
		{"undo", `{"step":5,"through":9,"by":"a"}`,
			&verb.Undo{InSession: in, Steps: "5..9", By: "a", Origin: by}},
		{"undo", `{"step":5,"dry_run":true}`, &verb.Undo{InSession: in, Steps: "5", DryRun: true, Origin: by}},
		{"approve", `{"call":3,"deny":true,"reason":"r"}`,
			&verb.Approve{Calls: []state.CallID{3}, Deny: true, Reason: "r", By: "tester"}},
		{"fork", `{"new":"-n","at_step":2}`,
			&verb.Fork{InSession: in, Moment: verb.Moment{AtStep: &two}, New: "-n", Origin: by}},
		{"replay", `{"from":2,"cached":true}`, &verb.Replay{InSession: in, From: &two, Cached: true}},
	} {
		var asked []verb.Request
		s := connect(t, answering(nil, &asked), nil)
		_, _ = s.CallTool(t.Context(), &sdk.CallToolParams{Name: x.tool, Arguments: json.RawMessage(x.arguments)})
		if d := cmp.Diff([]verb.Request{x.want}, asked); d != "" {
			t.Errorf("what %s(%s) asks (-want +got):\n%s", x.tool, x.arguments, d)
		}
	}
}

// TestErrors: an error of the engine is a result with its code, its sentence, and the hint, which has the words of the
// tools.
func TestErrors(t *testing.T) {
	for _, x := range []struct {
		failed api.Error
		want   string
	}{
		{api.Error{Code: "no-step", Message: "there is no step 9", Hint: "history lists them"},
			"no-step: there is no step 9\nhint: history lists them"},
		{api.Error{Code: "patch-absent", Message: "absent", Hint: "show it",
			Candidates: []patch.Candidate{{Line: 3, Score: 0.9, Text: "x = 1"}}},
			"patch-absent: absent\nhint: show it\nnear: line 3 (similarity 0.90)\nx = 1"},
		{api.Error{Code: "conflict", Message: "edited"}, "conflict: edited"},
	} {
		s := connect(t, operations(func(context.Context, verb.Call) (any, *api.Error) { return nil, &x.failed }), nil)
		r, got := call(t, s, "exec", map[string]any{"code": "1"})
		if !r.IsError || got != x.want || r.StructuredContent != nil {
			t.Errorf("result of %+v = %q, error %v, structured %v; want the error %q", x.failed, got, r.IsError,
				r.StructuredContent, x.want)
		}
		if e, _ := r.Meta["error"].(map[string]any); e["code"] == nil {
			t.Errorf("_meta of %+v = %v, want the error in it", x.failed, r.Meta)
		}
	}
	s := connect(t, answering(nil, nil), nil)
	if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "dance"}); err == nil {
		t.Error("an unknown tool is no error")
	}
}

// TestProgressAndCancellation: events become notifications, and a cancelled call interrupts the verb.
func TestProgressAndCancellation(t *testing.T) {
	interrupted := make(chan struct{})
	d := operations(func(ctx context.Context, c verb.Call) (any, *api.Error) {
		c.Event(api.Event{Event: "begin", Block: "fit"})
		c.Event(api.Event{Event: "end", Block: "fit", Seconds: 1.5})
		<-ctx.Done()
		close(interrupted)
		return nil, nil
	})
	said := make(chan string, 10)
	s := connect(t, d, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			said <- fmt.Sprint(r.Params.Progress, " ", r.Params.Message)
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		p := &sdk.CallToolParams{Name: "run"}
		p.SetProgressToken("p1")
		_, err := s.CallTool(ctx, p)
		done <- err
	}()
	for _, want := range []string{"1 block fit runs", "2 block fit ended, 1.50 s"} {
		if got := <-said; got != want {
			t.Errorf("progress = %q, want %q", got, want)
		}
	}
	cancel()
	<-interrupted
	if err := <-done; err == nil {
		t.Error("the cancelled call succeeded")
	}
}

// TestEndOfInput: at the end of its input Serve interrupts what runs, and waits for its end.
func TestEndOfInput(t *testing.T) {
	began, ended := make(chan struct{}), false
	d := operations(func(ctx context.Context, _ verb.Call) (any, *api.Error) {
		close(began)
		<-ctx.Done()
		ended = true
		return nil, nil
	})
	in, w := io.Pipe()
	go func() {
		fmt.Fprintln(w, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",`+
			`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		fmt.Fprintln(w, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		fmt.Fprintln(w, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run"}}`)
		<-began
		w.Close()
	}()
	if err := Serve(t.Context(), d, Options{}, in, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !ended {
		t.Error("Serve returned while a call ran")
	}
}

// TestCancelledUnanswered: a cancelled request gets no answer, and others do.
func TestCancelledUnanswered(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	d := operations(func(ctx context.Context, _ verb.Call) (any, *api.Error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return nil, nil
	})
	in, w := io.Pipe()
	out, answers := io.Pipe()
	go func() {
		fmt.Fprintln(w, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",`+
			`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		fmt.Fprintln(w, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		fmt.Fprintln(w, `{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"run"}}`)
		<-began
		fmt.Fprintln(w, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"two"}}`)
		<-ended
		fmt.Fprintln(w, `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
		w.Close()
	}()
	go func() {
		_ = Serve(t.Context(), d, Options{}, in, answers) // what it answers is judged
		answers.Close()
	}()
	data, err := io.ReadAll(out)
	if text := string(data); err != nil || strings.Contains(text, `"two"`) || !strings.Contains(text, `"id":1`) {
		t.Errorf("answers = %s, error %v, want that to request 1 and none to two", text, err)
	}
}

// TestGarbage: a line that is no message gets an error, and the session goes on. Only the protocol is printed.
func TestGarbage(t *testing.T) {
	lines := []string{
		"\x00\xff garbage", `{"jsonrpc":"2.0"`, "",
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
			`"clientInfo":{"name":"t","version":"1"}}}`,
		`[{"jsonrpc":"2.0","id":900,"method":"ping"}]`, "42", " \"text\"",
		`{"jsonrpc":"2.0","id":2,"method":"ping"}`,
	}
	in, w := io.Pipe()
	out, answers := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- Serve(t.Context(), answering(nil, nil), Options{}, in, answers); answers.Close() }()
	go fmt.Fprint(w, strings.Join(lines, "\n")+"\n")
	var refused, invalid, answered int
	d := json.NewDecoder(out)
	for answered < 2 || refused < 2 || invalid < 3 {
		var m struct {
			ID    *int `json:"id"`
			Error *struct {
				Code int `json:"code"`
			} `json:"error"`
		}
		if err := d.Decode(&m); err != nil {
			t.Fatal(err)
		}
		switch {
		case m.Error != nil && m.Error.Code == -32700:
			refused++
		case m.Error != nil && m.Error.Code == -32600:
			invalid++
		case m.Error == nil && m.ID != nil:
			answered++
		default:
			t.Fatalf("unexpected message %+v", m)
		}
	}
	w.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestHTTP: both generations of the protocol are served, and requests of other hosts and sites are refused.
func TestHTTP(t *testing.T) {
	server := httptest.NewServer(Handler(answering(api.Log{Session: "main"}, nil), Options{}))
	defer server.Close()
	for _, version := range []string{"2025-06-18", newest} {
		client := sdk.NewClient(&sdk.Implementation{Name: "tester", Version: "1"}, nil)
		s, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: server.URL},
			&sdk.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.InitializeResult().ProtocolVersion; got != version {
			t.Errorf("the protocol's version is %s, want %s", got, version)
		}
		if _, text := call(t, s, "history", nil); text != "session main, newest first" {
			t.Errorf("history = %q", text)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, x := range []struct{ method, host, origin, site string }{
		{"POST", "example.com", "", ""},
		{"POST", "", "https://example.com", ""},
		{"GET", "", "https://example.com", ""},
		{"POST", "", "null", ""},
		{"POST", "", "", "cross-site"},
	} {
		r, err := http.NewRequest(x.method, server.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		if x.host != "" {
			r.Host = x.host
		}
		for name, value := range map[string]string{"Origin": x.origin, "Sec-Fetch-Site": x.site,
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream"} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != http.StatusForbidden {
			t.Errorf("%+v: status %d, want %d", x, got.StatusCode, http.StatusForbidden)
		}
	}
}

// TestHTTPCancellation: a client of the newer protocol that goes away interrupts what it started.
func TestHTTPCancellation(t *testing.T) {
	began, interrupted := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(Handler(operations(func(ctx context.Context, _ verb.Call) (any, *api.Error) {
		close(began)
		<-ctx.Done()
		close(interrupted)
		return nil, nil
	}), Options{}))
	defer server.Close()
	client := sdk.NewClient(&sdk.Implementation{Name: "tester", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: server.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _ = s.CallTool(ctx, &sdk.CallToolParams{Name: "run"}) }()
	<-began
	cancel()
	<-interrupted
	_ = s.Close()
}

// toolsTable is the table of docs/mcp.md.
func toolsTable() string {
	var b strings.Builder
	b.WriteString("| tool | arguments | what it does |\n|---|---|---|\n")
	for _, x := range tools {
		var names []string
		for _, a := range x.arguments {
			name := "`" + a.name + "`"
			if a.required {
				name = "**" + name + "**"
			}
			names = append(names, name)
		}
		hints := "changes the session"
		if x.readOnly {
			hints = "reads only"
		} else if x.openWorld {
			hints = "executes code"
		}
		what, _, _ := strings.Cut(x.about, ". ")
		what = strings.TrimSuffix(what, ".")
		fmt.Fprintf(&b, "| `%s` | %s | %s (%s) |\n", x.name, strings.Join(names, ", "), what, hints)
	}
	return b.String()
}

// TestPage: docs/mcp.md has the table of tools. With -update it writes it.
func TestPage(t *testing.T) {
	const page, begin, end = "../../../docs/mcp.md", "<!-- tools -->\n", "<!-- end -->"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := bytes.Cut(data, []byte(begin))
	_, tail, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		t.Fatalf("%s lacks %s or %s", page, begin, end)
	}
	want := string(head) + begin + toolsTable() + end + string(tail)
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if string(data) != want {
		t.Errorf("%s is not up to date: go test ./internal/serve/mcp -run TestPage -update", page)
	}
}

// A call belongs to the span that its _meta names.
func TestSpanOfCall(t *testing.T) {
	var environ []string
	s := connect(t, operations(func(_ context.Context, c verb.Call) (any, *api.Error) {
		environ = c.Environ
		return api.Plan{}, nil
	}), nil)
	const span = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	_, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "plan", Arguments: map[string]any{},
		Meta: sdk.Meta{"traceparent": span}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(environ, "TRACEPARENT="+span) {
		t.Errorf("the environment of the call is %q, want the span %s", environ, span)
	}
}

// TestWords: the tools have what hints say of them.
func TestWords(t *testing.T) {
	said := wording.Tools.Names()
	if len(said) == 0 {
		t.Fatal("hints name no tools")
	}
	for name, arguments := range said {
		i := slices.IndexFunc(tools, func(x *tool) bool { return x.name == name })
		if i < 0 {
			t.Errorf("hints name the tool %s, which is not there", name)
			continue
		}
		for _, a := range arguments {
			if !slices.ContainsFunc(tools[i].arguments, func(x argument) bool { return x.name == a }) {
				t.Errorf("hints name the argument %s of %s, which it does not have", a, name)
			}
		}
	}
}
