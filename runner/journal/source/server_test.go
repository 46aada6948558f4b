package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// serverVariable makes the binary of the tests a server of one behaviour. Programs get variables that begin so.
const serverVariable = "XSTATE_TEST_SERVER"

func TestMain(m *testing.M) {
	if how := os.Getenv(serverVariable); how != "" {
		badServer(how)
		return
	}
	os.Exit(m.Run())
}

// badServer serves on standard input and output, and does what servers should not do.
func badServer(how string) {
	fmt.Fprintf(os.Stderr, "serving %s as %d\n", how, os.Getpid())
	switch how {
	case "mute": // it reads, and answers nothing
		select {}
	case "fails":
		fmt.Fprintln(os.Stderr, "no such thing as a license")
		os.Exit(3)
	case "noise":
		for {
			fmt.Println(`"` + strings.Repeat("x", 1<<16))
		}
	case "greets":
		fmt.Printf("INFO starting\n\n  [1/2] loading\nready {}\n")
	case "deaf": // it does not end with its input
		go func() { select {} }()
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "bad", Version: "1"}, nil)
	input := json.RawMessage(`{"type":"object"}`)
	add := func(name, output string, answer func(context.Context) (*mcp.CallToolResult, error)) {
		tool := &mcp.Tool{Name: name, InputSchema: input}
		if output != "" {
			tool.OutputSchema = json.RawMessage(output)
		}
		s.AddTool(tool, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return answer(ctx)
		})
	}
	text := func(s string) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}, nil
	}
	add("pid", "", func(context.Context) (*mcp.CallToolResult, error) { return text(strconv.Itoa(os.Getpid())) })
	add("prices", "", func(context.Context) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: json.RawMessage(exactly)}, nil
	})
	add("hang", "", func(ctx context.Context) (*mcp.CallToolResult, error) { select {} })
	add("die", "", func(context.Context) (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "panic: out of cheese")
		os.Exit(2)
		return nil, nil
	})
	add("forbidden", `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`,
		func(context.Context) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"n":"many"}`)}, nil
		})
	add("huge", "", func(context.Context) (*mcp.CallToolResult, error) { return text(strings.Repeat("a", 100<<20)) })
	add("child", "", func(context.Context) (*mcp.CallToolResult, error) { // that outlives what started it
		cmd := exec.Command("sleep", "600")
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return text(strconv.Itoa(cmd.Process.Pid))
	})
	add("grow", "", func(context.Context) (*mcp.CallToolResult, error) {
		add("grown", "", func(context.Context) (*mcp.CallToolResult, error) { return text("here") })
		return text("ok")
	})
	if how == "other" {
		input = json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}}}`)
		add("pid", "", func(context.Context) (*mcp.CallToolResult, error) { return text("other") })
	}
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil || how == "deaf" {
		select {}
	}
}

// bad is a policy with a server of a behaviour.
func bad(t *testing.T, how string) policy.Calls {
	t.Setenv(serverVariable, how)
	return policy.Calls{
		MCP: map[string]policy.MCP{"bad": {Command: []string{os.Args[0]}}},
		Tools: map[string]policy.Tool{"pid": {Class: "read"}, "child": {Class: "read"}, "forbidden": {Class: "read"},
			"hang": {Timeout: time.Second}},
	}
}

// alive reports whether a process runs.
func alive(pid string) bool {
	n, err := strconv.Atoi(strings.Trim(pid, `"`))
	if err != nil {
		return false
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n))
	if err == nil { // one that nobody has waited for is dead, too
		_, rest, _ := strings.Cut(string(status), ") ")
		return !strings.HasPrefix(rest, "Z")
	}
	return !errors.Is(err, os.ErrNotExist) && syscall.Kill(n, 0) == nil
}

func TestBadServer(t *testing.T) {
	r := newRig(t, bad(t, "yes"))
	first, err := r.call(t, "pid", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ tool, want string }{
		{"bad.hang", "no answer within 1s"},
		{"bad.die", "panic: out of cheese"},
	} {
		_, err := r.call(t, x.tool, `{}`)
		var waits *journal.Suspended
		if !errors.As(err, &waits) || !strings.Contains(waits.Call.Err.Message, x.want) {
			t.Errorf("%s: %v, want that a person decides, because of: %s", x.tool, err, x.want)
		}
	}
	next, err := r.call(t, "pid", `{"again":1}`)
	if err != nil || string(next.JSON) == string(first.JSON) || alive(string(first.JSON)) {
		t.Errorf("after the server died: %s, %v, want another process than %s", next.JSON, err, first.JSON)
	}
	if _, err := r.call(t, "forbidden", `{}`); state.CodeOf(err) != journal.CodeResult {
		t.Errorf("what the schema forbids: %v, want %s", err, journal.CodeResult)
	}
	got, err := r.call(t, "huge", `{}`)
	var waits *journal.Suspended
	if !errors.As(err, &waits) || waits.Call.Err.Code != journal.CodeResult {
		t.Errorf("100 MB: %.200s, %.200v, want it refused, and a person asked", got.JSON, err)
	}
	sleeper, err := r.call(t, "child", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.call(t, "bad.grown", `{}`); state.CodeOf(err) != journal.CodeNoTool {
		t.Errorf("a tool that is not there yet: %v", err)
	}
	if _, err := r.call(t, "grow", `{}`); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the server's notice of a tool is noted, which may come after its answer", func() bool {
		_, err := r.call(t, "grown", `{}`)
		if err != nil && state.CodeOf(err) != journal.CodeNoTool {
			t.Fatal(err)
		}
		return err == nil
	})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for what, pid := range map[string]string{"the server": string(next.JSON), "its child": string(sleeper.JSON)} {
		await.Until(t, what+" has ended after Close", func() bool { return !alive(pid) }) // a signal takes its time
	}
}

// TestBadStart: a server that does not come up is an error that says why, and no call was sent to it.
func TestBadStart(t *testing.T) {
	for how, want := range map[string]string{
		"fails": "no such thing as a license", "noise": "bad cannot be asked", "mute": "did not list its tools",
	} {
		t.Run(how, func(t *testing.T) {
			r := newRig(t, bad(t, how))
			long := await.Long
			if how == "mute" {
				long = time.Second
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), long, errors.New("it did not list its tools"))
			defer cancel()
			_, err := r.Prepare(ctx,
				journal.Request{Kind: journal.KindTool, Tool: "bad.pid", Args: json.RawMessage(`{}`)},
				func(string) state.Digest { return "" })
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("a server that %s: %v, want %q", how, err, want)
			}
		})
	}
	r := newRig(t, policy.Calls{MCP: map[string]policy.MCP{"gone": {Command: []string{"no-such-program"}}}})
	if _, err := r.call(t, "x", `{}`); err == nil ||
		!strings.Contains(err.Error(), "no program no-such-program on PATH") {
		t.Errorf("a program that is not there: %v", err)
	}
}

// TestDeafServer: a server that does not end with its input is killed.
func TestDeafServer(t *testing.T) {
	r := newRig(t, bad(t, "deaf"))
	pid, err := r.call(t, "pid", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Close(), r.Close()); err != nil || alive(string(pid.JSON)) {
		t.Errorf("Close: %v, and the server is alive: %v", err, alive(string(pid.JSON)))
	}
	if _, err := r.call(t, "pid", `{"after":1}`); err == nil {
		t.Error("a call after Close has an answer")
	}
}

// TestOtherSchema: a tool that takes something else is another tool, so its call happens again.
func TestOtherSchema(t *testing.T) {
	r := newRig(t, bad(t, "yes"))
	if got, err := r.call(t, "pid", `{}`); err != nil || got.Served {
		t.Fatal(got, err)
	}
	same := r.again(t, bad(t, "yes"))
	if got, err := same.call(t, "pid", `{}`); err != nil || !got.Served {
		t.Errorf("the same server again: served %v, %v", got.Served, err)
	}
	other := r.again(t, bad(t, "other"))
	other.wantJSON(t, "pid", `{}`, `"other"`)
}

// TestServerGone: what is recorded is served without the server that answered it. Nothing else is.
func TestServerGone(t *testing.T) {
	r := newRig(t, bad(t, "yes"))
	first, err := r.call(t, "pid", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	gone := bad(t, "fails")
	r = r.again(t, gone)
	if got, err := r.call(t, "pid", `{}`); err != nil || !got.Served || string(got.JSON) != string(first.JSON) {
		t.Errorf("without its server: %s, %v, want the record %s", got.JSON, err, first.JSON)
	}
	got, err := r.call(t, "hang", `{}`)
	if err == nil || got.Call.State != state.CallLost || !strings.Contains(err.Error(), "no such thing as a license") {
		t.Errorf("a new call without the server: %v, %q, want it lost, and nobody asked", err, got.Call.State)
	}
}

// TestServerOverHTTP: headers hold secrets, which go to the server's host alone and into no record.
func TestServerOverHTTP(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "far", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "pid", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "far"}}}, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	var elsewhere, seen []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		elsewhere = append(elsewhere, q.Header.Get("Authorization"))
		http.Error(w, "no", http.StatusNotFound)
	}))
	t.Cleanup(other.Close)
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if seen = append(seen, q.Header.Get("Authorization")); q.URL.Path == "/moved" {
			http.Redirect(w, q, other.URL, http.StatusTemporaryRedirect)
			return
		}
		handler.ServeHTTP(w, q)
	}))
	t.Cleanup(far.Close) // after the connections to it
	const token = "hunter2hunter2"
	config := func(path string) policy.Calls {
		return policy.Calls{MCP: map[string]policy.MCP{"far": {URL: far.URL + path,
			Headers: map[string]string{"Authorization": "Bearer $FAR_TOKEN"}}}}
	}
	r := newRig(t, config("/mcp"), "FAR_TOKEN="+token)
	r.wantJSON(t, "pid", `{}`, `"far"`)
	if len(seen) == 0 || seen[0] != "Bearer "+token {
		t.Errorf("the server got %q", seen)
	}
	r = newRig(t, config("/moved"), "FAR_TOKEN="+token)
	_, err := r.call(t, "pid", `{}`)
	if err == nil || strings.Contains(err.Error(), token) || len(elsewhere) == 0 || strings.Join(elsewhere, "") != "" {
		t.Errorf("a redirect: %v, and the other host got %q", err, elsewhere)
	}
	r = newRig(t, config("/mcp"))
	if _, err = r.call(t, "pid", `{}`); err == nil ||
		!strings.Contains(err.Error(), "the variable FAR_TOKEN is not set") {
		t.Errorf("without the variable: %v", err)
	}
}

// TestOrder: arguments have the order in which the server names them, over each way to reach it.
func TestOrder(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "far", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "move", InputSchema: json.RawMessage(
		`{"type":"object","properties":{"source":{"type":"string"},"destination":{"enum":[{"a":[1]}]},"and":{}}}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })
	want := []string{"source", "destination", "and"}
	for name, options := range map[string]*mcp.StreamableHTTPOptions{"events": nil, "JSON": {JSONResponse: true}} {
		far := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, options))
		t.Cleanup(far.Close)
		r := newRig(t, policy.Calls{MCP: map[string]policy.MCP{"far": {URL: far.URL}}})
		if found := r.Tools(t.Context()); len(found) != 1 || !slices.Equal(found[0].Order, want) {
			t.Errorf("as %s: %+v, want the order %q", name, found, want)
		}
	}
	var here orders
	here.listen()
	said := `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"properties":{"z":{},"b":{}}}}]}}`
	slow := iotest.OneByteReader(strings.NewReader("{}\n" + said))
	if _, err := io.ReadAll(here.along(io.NopCloser(slow))); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string][]string{"a": {"z", "b"}}, here.heard()); d != "" {
		t.Errorf("in pieces (-want +got):\n%s", d)
	}
}

// TestClash: of two tools of one name, only the long names work. The short one works again without the other source,
// and means the same call.
func TestClash(t *testing.T) {
	c := bad(t, "yes")
	c.MCP["worse"] = c.MCP["bad"]
	r := newRig(t, c)
	long, err := r.call(t, "bad.pid", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.call(t, "pid", `{}`)
	if state.CodeOf(err) != journal.CodeNoTool || !strings.Contains(err.Error(), "2 sources") {
		t.Errorf("the short name: %v, want an error", err)
	}
	r.tool(t, "worse.pid")
	delete(c.MCP, "worse")
	if short, err := r.again(t, c).call(t, "pid", `{}`); err != nil || !short.Served || short.Call.ID != long.Call.ID {
		t.Errorf("the short name without a clash = %+v, %v, want the record of the long one", short.Call, err)
	}
}
