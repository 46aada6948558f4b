package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	v1 "github.com/xstate-engine/xstate/api/xstate/v1"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/serve/rpc"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/internal/wording"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/clients"
)

// printed are operations that keep what the command line prints of the events and the answer of the last call.
type printed struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (p *printed) Operate(ctx context.Context, call verb.Call) (any, *api.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out.Reset()
	u := term.New(func(string) string { return "" }, wording.CommandLine, &p.out, io.Discard)
	u.JSON, u.Lines = true, call.Event != nil
	if event := call.Event; event != nil {
		call.Event = func(e api.Event) { u.Event(e); event(e) }
	}
	answer, failed := commands{}.Operate(ctx, call)
	if failed == nil {
		_ = u.Document(answer)
	}
	return answer, failed
}

// apiServer serves the operations over HTTP to calls from a folder.
func apiServer(t *testing.T, folder string) (*httptest.Server, *printed) {
	t.Helper()
	p := &printed{}
	s := &rpc.Service{
		E2B: true, Operations: p, Store: filepath.Join(folder, ".xstate"), Folder: folder,
		Environ: append(os.Environ(), "XSTATE_PYTHON="+xstatetest.Pythons()[0]),
	}
	server := httptest.NewServer(rpc.Bounded(s.Handler(), time.Minute))
	t.Cleanup(server.Close)
	return server, p
}

const apiProgram = `# %% prices
import random
prices = [3, 5, 4]

# %% total
total = sum(prices)
print("total", total)

# %% luck
luck = random.random()

# %% broken
total / 0
`

// TestAPI calls each method. The answer is what the verb prints, byte by byte, and its message says the same.
func TestAPI(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "p.py"), []byte(apiProgram), 0o666); err != nil {
		t.Fatal(err)
	}
	server, line := apiServer(t, folder)
	called := map[string]bool{}
	for _, call := range []struct{ method, request string }{
		{"RunService/Run", `{"file":"p.py","arguments":["--n","5"],"timeout_seconds":60,
			"origin":{"agent":"coder","x":1}}`},
		{"RunService/RunStream", `{"file":"p.py","fresh":true}`},
		{"RunService/Exec", `{"session":"p.py","code":"print(total)\ntotal + 1","append":true,"budget":1000}`},
		{"RunService/Exec", `{"code":"1/0","environ":{"B":"2"}}`},
		{"RunService/ExecStream", `{"code":"print('hi')"}`},
		{"RunService/Exec", `{"session":"ask","code":"import xstate\nxstate.ask('go on?', ['yes', 'no'])"}`},
		{"CallService/ListCalls", `{"session":"ask","waiting":true}`},
		{"CallService/GetCall", `{"call":1}`},
		{"CallService/Approve", `{"call":1,"choice":"no","reason":"late","by":"ada"}`},
		{"SessionService/List", `{}`},
		{"SessionService/Get", `{"session":"main"}`},
		{"EditService/Edit", `{"session":"p.py","block":"total","patch":"total = max(prices)\nprint(total)\n",
			"format":"block","run":true,"origin":{"agent":"fixer","reason":"max"}}`},
		{"QueryService/Plan", `{"file":"p.py","arguments":["--n","6"]}`},
		{"QueryService/Why", `{"session":"p.py","block":"total"}`},
		{"QueryService/Query", `{"session":"p.py"}`},
		{"QueryService/Query", `{"session":"p.py","at_step":4,"limit":1}`},
		{"QueryService/Query", `{"session":"p.py","block":"total"}`},
		{"QueryService/Query", `{"session":"p.py","symbol":"total"}`},
		{"QueryService/Query", `{"session":"p.py","affected_by":"prices"}`},
		{"QueryService/Query", `{"session":"p.py","depends_on":"prices"}`},
		{"QueryService/Query", `{"session":"p.py","path":{"from":"prices","to":"broken"}}`},
		{"QueryService/Query", `{"session":"p.py","patch":"2"}`},
		{"QueryService/Query", `{"session":"p.py","failed":true}`},
		{"QueryService/Query", `{"session":"p.py","unverified":true}`},
		{"QueryService/Query", `{"session":"p.py","volatile":true}`},
		{"QueryService/Query", `{"session":"p.py","where":"block.status == \"failed\""}`},
		{"QueryService/Query", `{"session":"p.py","where":"trace.reads.exists(r, r.key == \"var:prices\")"}`},
		{"QueryService/Query", `{"session":"p.py","where":"step.kind == \"run\"","limit":1}`},
		{"QueryService/Value", `{"session":"p.py","name":"total"}`},
		{"QueryService/History", `{"session":"p.py","limit":0}`},
		{"QueryService/Show", `{"session":"p.py"}`},
		{"QueryService/Show", `{"session":"p.py","of":"total"}`},
		{"QueryService/Show", `{"session":"p.py","of":"2"}`},
		{"QueryService/Diff", `{"session":"p.py","from":"3","to":"6"}`},
		{"EditService/Undo", `{"session":"p.py","by":"fixer"}`},
		{"EditService/Fork", `{"session":"p.py","new":"trial.py","at_step":4}`},
		{"EditService/Rollback", `{"session":"p.py","to_step":4}`},
		{"AuditService/Replay", `{"session":"p.py"}`},
		{"AuditService/Verify", `{"session":"p.py","block":"luck","times":2}`},
		{"AuditService/Evidence", `{"session":"p.py","of":"total"}`},
		{"AuditService/Flow", `{"session":"p.py"}`},
		{"AuditService/CheckVerifier", `{"session":"p.py","block":"total"}`},
	} {
		called[call.method] = true
		service, name, _ := strings.Cut(call.method, "/")
		m := v1.File_xstate_v1_services_proto.Services().ByName(protoreflect.Name(service)).
			Methods().ByName(protoreflect.Name(name))
		for _, text := range answers(t, server, m, call.request) {
			compareMessage(t, call.method+" "+call.request, m.Output(), text)
			if want := strings.TrimSpace(line.out.String()); !bytes.Contains([]byte(want), text) &&
				!bytes.Contains(text, []byte(want)) && name != "Get" {
				t.Errorf("%s %s answered\n%s\nand the verb prints\n%s", call.method, call.request, text, want)
			}
		}
	}
	for i := range v1.File_xstate_v1_services_proto.Services().Len() {
		s := v1.File_xstate_v1_services_proto.Services().Get(i)
		for j := range s.Methods().Len() {
			name := string(s.Name()) + "/" + string(s.Methods().Get(j).Name())
			if !called[name] && !slices.Contains([]string{"RunService/Interrupt", "RunService/ListRuns",
				"CallService/AnswerCall"}, name) { // the Python client calls them while a program runs
				t.Errorf("%s was not called", name)
			}
		}
	}
}

// answers calls a method with JSON and returns the document, or the documents of a stream.
func answers(t *testing.T, server *httptest.Server, m protoreflect.MethodDescriptor, request string) (all [][]byte) {
	t.Helper()
	kind, body := "application/json", []byte(request)
	if m.IsStreamingServer() {
		kind = "application/connect+json"
		body = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(request))), request...)
	}
	path := "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
	answer, err := http.Post(server.URL+path, kind, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != 200 {
		t.Errorf("%s %s: status %d: %s (%v)", path, request, answer.StatusCode, text, err)
		return nil
	}
	if !m.IsStreamingServer() {
		return [][]byte{text}
	}
	for len(text) > 5 && text[0] == 0 {
		n := 5 + binary.BigEndian.Uint32(text[1:])
		all, text = append(all, text[5:n]), text[n:]
	}
	if len(all) < 3 || !bytes.Contains(all[len(all)-1], []byte(`"event":"done"`)) || string(text[5:]) != "{}" {
		t.Errorf("%s %s: %d events, the last is %s, and then %s", path, request, len(all), all[len(all)-1], text)
	}
	return all
}

// compareMessage turns a document into its message, sends it in binary, and turns it back. Nothing is lost but fields
// without a value.
func compareMessage(t *testing.T, what string, d protoreflect.MessageDescriptor, text []byte) {
	t.Helper()
	kind, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		t.Fatal(err)
	}
	m, back := kind.New().Interface(), kind.New().Interface()
	if err := protojson.Unmarshal(text, m); err != nil {
		t.Errorf("%s: %v in %s", what, err, text)
		return
	}
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(data, back); err != nil {
		t.Fatal(err)
	}
	again, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(back)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(again, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(withoutZeros(want), withoutZeros(got)); diff != "" {
		t.Errorf("%s: the message differs from the document (-document +message):\n%s", what, diff)
	}
}

// withoutZeros leaves out the fields of objects that have no value.
func withoutZeros(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			v[name] = withoutZeros(field)
			switch f := v[name].(type) {
			case map[string]any:
				if len(f) == 0 {
					delete(v, name)
				}
			case []any:
				if len(f) == 0 {
					delete(v, name)
				}
			case nil:
				delete(v, name)
			case string, float64, bool:
				if f == "" || f == 0.0 || f == false {
					delete(v, name)
				}
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutZeros(v[i])
		}
	}
	return v
}

// e2bProgram uses the E2B code interpreter's own package as its documentation does.
const e2bProgram = `
import asyncio, os, sys
from e2b_code_interpreter import AsyncSandbox, Sandbox

box = Sandbox.create(debug=True)
box.run_code("x = 41")
done = box.run_code("print('hi')\nx + 1")
assert (done.text, done.logs.stdout, done.error) == ("42", ["hi\n"], None), done
again = box.run_code("x += 1\nx")
twice = box.run_code("x += 1\nx")
assert (again.text, twice.text) == ("42", "43"), (again, twice)
assert twice.execution_count > again.execution_count, twice.execution_count

failed = box.run_code("print('before')\n1/0")
assert (failed.error.name, failed.error.value) == ("ZeroDivisionError", "division by zero"), failed.error
assert "1/0" in failed.error.traceback and failed.logs.stdout == ["before\n"], failed
assert box.run_code("x").text == "43"
box.run_code("y = 5\n1/0")
assert box.run_code("y").text == "5"
left = box.run_code("import sys\nprint('bye')\nsys.exit(3)")
assert (left.error.name, left.logs.stdout) == ("SystemExit", ["bye\n"]), left
assert box.run_code("x").text == "43"
bad = box.run_code("def f(:")
assert bad.error.name == "SyntaxError", bad.error

rich = box.run_code("""
class Rich:
    def _repr_html_(self): return "<b>rich</b>"
    def __repr__(self): return "rich"
Rich()""")
assert (rich.text, rich.results[0].html, rich.results[0].is_main_result) == ("rich", "<b>rich</b>", True), rich.results

assert box.run_code("import os\nos.environ['COLOUR']", envs={"COLOUR": "red"}).text == "'red'"

seen, met = [], os.path.join(sys.argv[1], "met")
def said(message):
    seen.append(message.line)
    open(met, "w").close()
box.run_code("import os, time\nprint('first', flush=True)\nend = time.monotonic() + 240\n"
             f"while not os.path.exists({met!r}) and time.monotonic() < end: time.sleep(0.01)\n"
             f"print('second', os.path.exists({met!r}))", on_stdout=said)
assert "".join(seen) == "first\nsecond True\n", seen  # the first came while the code ran

try:
    box.run_code("import time\ntime.sleep(60)", timeout=1)
    raise SystemExit("the code was not stopped")
except Exception as e:
    assert "timed out" in str(e), e
assert box.run_code("x").text == "43"

other = box.create_code_context(cwd=sys.argv[1])
assert (other.language, other.cwd) == ("python", sys.argv[1])
assert box.run_code("import os\nos.getcwd()", context=other).text == repr(sys.argv[1])
assert box.run_code("x", context=other).error.name == "NameError"
assert {c.id for c in box.list_code_contexts()} == {"main", other.id}
box.run_code("y = 1", context=other)
box.restart_code_context(other)
assert box.run_code("y", context=other).error.name == "NameError"
box.remove_code_context(other)
try:
    box.run_code("1", context=other)
    raise SystemExit("a context that was removed executes code")
except Exception as e:
    assert "no-context" in str(e), e
try:
    box.run_code("1", language="r")
    raise SystemExit("another language was executed")
except Exception as e:
    assert "is not served" in str(e), e

async def main():
    box = await AsyncSandbox.create(debug=True)
    assert (await box.run_code("x * 2")).text == "86"
asyncio.run(main())
print("all right", flush=True)
os._exit(0)  # the threads of the client's own HTTP library (pyqwest) abort, at times, where an interpreter ends
`

// TestE2BClient runs the package e2b-code-interpreter, unmodified.
func TestE2BClient(t *testing.T) {
	client := clients.Folder(t, "e2b")
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	server, _ := apiServer(t, folder)
	other := filepath.Join(folder, "other")
	if err := os.Mkdir(other, 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(client, "bin", "python"), "-c", e2bProgram, other)
	// In its debug mode the client asks localhost:49999; a test cannot be sure to get this port.
	cmd.Env = append(os.Environ(), "E2B_SANDBOX_URL="+server.URL)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "all right\n" {
		t.Errorf("the client failed: %v\n%s", err, out)
	}
}

// TestAPIPage runs the commands of docs/api.md. Each prints what the page shows, where … stands for any text.
func TestAPIPage(t *testing.T) {
	for _, tool := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(page), "<!-- api -->\n```console\n")
	shown, _, _ = strings.Cut(shown, "```\n<!-- end -->")
	commands := strings.Split("\n"+shown, "\n$ ")[1:]
	if len(commands) < 8 {
		t.Fatalf("docs/api.md has %d commands, want more", len(commands))
	}
	folder, err := os.MkdirTemp("", "api") // a short path, so that the socket is in the store
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	defer func() { _, _ = shell(folder, "xstate serve --stop") }()
	setup := ""
	for _, c := range commands {
		command, want, _ := strings.Cut(c, "\n")
		if strings.HasPrefix(command, "alias ") {
			setup = strings.Replace(command, " && ", "\n", 1) + "\n"
			continue
		}
		out, err := shell(folder, setup+command)
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		var pattern []string
		for part := range strings.SplitSeq(strings.TrimSpace(want), "…") {
			pattern = append(pattern, regexp.QuoteMeta(part))
		}
		if !regexp.MustCompile("(?s)^" + strings.Join(pattern, ".*") + "$").MatchString(strings.TrimSpace(out)) {
			t.Errorf("%s prints\n%s\nthe page shows\n%s", command, out, want)
		}
	}
}

// TestServeOverTCP: requests over TCP show the token, those of E2B in its own headers, too.
func TestServeOverTCP(t *testing.T) {
	folder := t.TempDir()
	xstate := func(args ...string) {
		if out, err := shell(folder, "xstate "+strings.Join(args, " ")); err != nil {
			t.Fatalf("xstate %q: %v\n%s", args, err, out)
		}
	}
	xstate("init")
	xstate("serve", "--background", "--listen", "127.0.0.1:0", "--e2b")
	defer xstate("serve", "--stop")
	var info serve.Info
	if text, err := os.ReadFile(filepath.Join(folder, ".xstate", "server.json")); err != nil {
		t.Fatal(err)
	} else if err := json.Unmarshal(text, &info); err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(filepath.Join(folder, ".xstate", "token"))
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.TrimSpace(string(token))
	for _, test := range []struct {
		path, header, shown, want string
		status                    int
	}{
		{"/xstate.v1.SessionService/List", "Authorization", "", "forbidden", 401},
		{"/xstate.v1.SessionService/List", "Authorization", "Bearer x", "forbidden", 401},
		{"/xstate.v1.SessionService/List", "Authorization", "Bearer " + secret, `"sessions":[]`, 200},
		{"/execute", "Authorization", "", "forbidden", 401},
		{"/execute", "X-Access-Token", "x", "forbidden", 401},
		{"/execute", "X-Access-Token", secret, `"text":"2"`, 200},
		{"/xstate.v1.RunService/ListRuns", "X-API-Key", secret, `"runs":[]`, 200},
	} {
		body := "{}"
		if test.path == "/execute" {
			body = `{"code":"1 + 1"}`
		}
		r, err := http.NewRequestWithContext(t.Context(), "POST", info.HTTP+test.path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(test.header, test.shown)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != test.status || !strings.Contains(string(text), test.want) {
			t.Errorf("%s with %q: status %d, %s; want %d and %s",
				test.path, test.shown, answer.StatusCode, text, test.status, test.want)
		}
	}
}

// TestInterruptOverHTTP interrupts a run by the id that its stream begins with.
func TestInterruptOverHTTP(t *testing.T) {
	folder := t.TempDir()
	if out, err := shell(folder, "xstate init && xstate serve --background --listen 127.0.0.1:0"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	defer func() { _, _ = shell(folder, "xstate serve --stop") }()
	server := serve.Find(filepath.Join(folder, ".xstate"))
	token, err := os.ReadFile(filepath.Join(folder, ".xstate", "token"))
	if err != nil || server == nil {
		t.Fatalf("server %v: %v", server, err)
	}
	url := strings.Replace(server.Info.HTTP, "//", "//x:"+strings.TrimSpace(string(token))+"@", 1)
	client := v1.NewRunServiceClient(http.DefaultClient, url)
	stream, err := client.ExecStream(t.Context(), connect.NewRequest(&v1.ExecRequest{
		Code: "import time\nprint('here', flush=True)\ntime.sleep(600)",
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	id, last := "", &v1.Event{}
	for stream.Receive() {
		last = proto.Clone(stream.Msg()).(*v1.Event)
		if last.GetRun() != "" {
			id = last.GetRun()
		}
		if last.GetOutput().GetText() == "" {
			continue
		}
		runs, err := client.ListRuns(t.Context(), connect.NewRequest(&v1.ListRunsRequest{}))
		if err != nil || len(runs.Msg.GetRuns()) != 1 || runs.Msg.GetRuns()[0].GetRun() != id {
			t.Errorf("the runs are %v (%v), want %s", runs, err, id)
		}
		done, err := client.Interrupt(t.Context(), connect.NewRequest(&v1.InterruptRequest{Run: id}))
		if err != nil || !done.Msg.GetInterrupted() {
			t.Errorf("Interrupt = %v, %v", done, err)
		}
	}
	if last.GetEvent() != "done" || last.GetExec().GetStopped() == "" {
		t.Errorf("the stream ends with %v (%v), want a run that stopped early", last, stream.Err())
	}
}
