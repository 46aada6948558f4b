package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/xstate-engine/xstate/internal/api"
	xmcp "github.com/xstate-engine/xstate/internal/serve/mcp"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/internal/xstatetest/clients"
)

// mcpHost is a client of xstate mcp, in a folder of its own.
type mcpHost struct {
	*testing.T
	folder  string
	session *mcp.ClientSession
	outputs map[string]*jsonschema.Schema // of tools, by name
	told    chan string                   // progress
	in      io.Closer                     // the server's input
	served  chan error
}

func newMCPHost(t *testing.T) *mcpHost {
	t.Helper()
	h := &mcpHost{T: t, folder: t.TempDir(), told: make(chan string, 1000), served: make(chan error, 1)}
	environ := append(os.Environ(), "XSTATE_PYTHON="+xstatetest.Pythons()[0])
	options := xmcp.Options{Folder: h.folder, Environ: environ, Version: "test"}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	h.in = inW
	go func() { h.served <- xmcp.Serve(context.Background(), commands{}, options, inR, outW) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			h.told <- r.Params.Message
		},
	})
	var err error
	if h.session, err = client.Connect(t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = inW.Close()
		if err := <-h.served; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	h.compile()
	return h
}

// compile reads the output schemas of all tools.
func (h *mcpHost) compile() {
	h.Helper()
	list, err := h.session.ListTools(h.Context(), nil)
	if err != nil {
		h.Fatal(err)
	}
	h.outputs = map[string]*jsonschema.Schema{}
	c := jsonschema.NewCompiler()
	for _, tool := range list.Tools {
		if err := c.AddResource(tool.Name, tool.OutputSchema); err != nil {
			h.Fatal(err)
		}
		if h.outputs[tool.Name], err = c.Compile(tool.Name); err != nil {
			h.Fatal(err)
		}
	}
}

// call calls a tool. The text must have all parts, and the structured content must conform to the tool's schema.
func (h *mcpHost) call(name, arguments string, parts ...string) *mcp.CallToolResult {
	h.Helper()
	r := h.result(name, arguments, parts...)
	if r.IsError {
		h.Fatalf("%s(%s) is an error: %s", name, arguments, textOf(r))
	}
	if err := h.outputs[name].Validate(r.StructuredContent); err != nil {
		h.Errorf("%s(%s): %v", name, arguments, err)
	}
	return r
}

// fails calls a tool that must fail.
func (h *mcpHost) fails(name, arguments string, parts ...string) {
	h.Helper()
	if r := h.result(name, arguments, parts...); !r.IsError {
		h.Errorf("%s(%s) is no error: %s", name, arguments, textOf(r))
	}
}

func (h *mcpHost) result(name, arguments string, parts ...string) *mcp.CallToolResult {
	h.Helper()
	p := &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)}
	p.SetProgressToken(name)
	r, err := h.session.CallTool(h.Context(), p)
	if err != nil {
		h.Fatal(err)
	}
	text := textOf(r)
	if len(text) > 20<<10 {
		h.Errorf("the text of %s has %d bytes", name, len(text))
	}
	if strings.Contains(text, "xstate ") || strings.Contains(text, " --") {
		h.Errorf("%s(%s) names a command: %s", name, arguments, text)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			h.Errorf("%s(%s) lacks %q:\n%s", name, arguments, part, text)
		}
	}
	return r
}

func textOf(r *mcp.CallToolResult) string {
	text, _ := r.Content[0].(*mcp.TextContent)
	return text.Text
}

// contents are the contents of one type.
func contents[C mcp.Content](r *mcp.CallToolResult) (all []C) {
	for _, c := range r.Content {
		if c, ok := c.(C); ok {
			all = append(all, c)
		}
	}
	return all
}

func TestMCPTools(t *testing.T) {
	h := newMCPHost(t)
	h.fails("show", `{}`, "no-store: ", "hint: nothing ran here yet")
	h.call("exec", `{"code":"# %% load\ndata = [3, 5, 4]"}`, "block load appended, ran", "step 2: ran 1 block")
	h.fails("show", `{"session":"other"}`, `no-session: there is no session "other"; there are: main`)
	h.call("exec", `{"code":"# %% total\ntotal = sum(data)\nprint('total', total)\ntotal"}`,
		"total 12\n12\n", "reused 1")
	h.call("exec", `{"code":"# %% report\nprint(f'mean {total / 3:.1f}')"}`, "mean 4.0")
	h.call("exec", `{"code":"# %% load\ndata = [3, 5, 40]","agent":"coder","reason":"a typo"}`,
		"block load replaced", "total 48", "mean 16.0", "input-changed: var:total by total")

	h.call("plan", `{"patch":"# %% load\ndata = [1]"}`, "patch load, changes data", "block load: run",
		"block report: maybe", "would run 1 block, maybe 2 more")
	h.call("plan", `{}`, "would run 0 blocks", "reuse 3")
	h.call("why", `{"block":"report"}`, "input-changed: var:total by total", "was = int 12; now = int 48")
	h.call("show", `{}`, "[1] load  ran", "data = [3, 5, 40]", "total 48", "mean 16.0")
	h.call("show", `{"block":"total"}`, "reads var:data = list 3 [3, 5, 40], from load", "writes var:total = int 48")
	h.call("show", `{"step":7}`, "step 7  patch load +1 -1", "by coder: a typo",
		"-data = [3, 5, 4]", "+data = [3, 5, 40]")
	h.call("value", `{"name":"data"}`, "data after step 8: list 3", "[3, 5, 40]")
	h.call("value", `{"name":"data","at_step":6}`, "[3, 5, 4]")
	h.fails("value", `{"name":"none"}`, "no-block: ", "hint: query with block BLOCK shows")
	h.call("history", `{"limit":3}`, "step 8  run: ran 3", "step 7  patch load", "history with after 6")

	h.call("query", `{"at_step":4}`, "after step 4: 2 blocks", "total 12")
	h.call("query", `{"at_step":4,"block":"load"}`, "data = [3, 5, 4]")
	h.call("query", `{"symbol":"total"}`, "bound by total", "read by report")
	h.call("query", `{"affected_by":"load"}`, "[2] total", "[3] report", "var:total from total")
	h.call("query", `{"depends_on":"load"}`, "[2] total")
	h.call("query", `{"list":"failed"}`, "failed or blocked after step 8: 0")
	h.call("query", `{"list":"volatile"}`, "may differ from run to run")
	h.call("query", `{"list":"unverified"}`, "not confirmed by a run from scratch")
	h.call("query", `{"where":"step.kind == \"run\"","limit":2}`, "steps for which it is true: 2", "query with after")
	h.fails("query", `{"where":"step.kind =="}`, "bad-expression: ")
	h.fails("query", `{"block":"load","symbol":"x"}`, "usage: ", "block and symbol exclude each other")
	h.fails("query", `{"at_step":99}`, "no-step: ", "its last step is 8")

	h.call("fork", `{"new":"trial","at_step":6}`, "session trial begins after step 6 of main")
	h.fails("fork", `{"new":"trial"}`, "session-exists: ")
	h.call("exec", `{"session":"trial","code":"total + 1"}`, "13", "reused 3")
	h.call("undo", `{"step":7,"dry_run":true}`, "would take back the edits of steps 7")
	h.call("undo", `{"by":"coder"}`, "took back the edits of steps 7", "nothing ran: run")
	h.call("undo", `{"dry_run":true}`, "would take back the edits of steps ")
	h.fails("undo", `{"by":"coder"}`, "nothing-to-undo: ", "history lists the steps")
	h.call("run", `{}`, "reused 3")
	h.call("value", `{"name":"total"}`, "12")

	h.call("edit",
		`{"patch":"<<<<<<< SEARCH\ntotal = sum(data)\n=======\ntotal = max(data)\n>>>>>>> REPLACE","block":"total"}`,
		"patch total, step", "+total = max(data)", "1 edit recorded", "nothing ran yet")
	h.call("run", `{"verify":true}`, "total 5", "mean 1.7", "ran 2 blocks, reused 1", "equal to a run from scratch")
	h.call("edit", `{"patch":"# %% load\ndata = [7, 8]","run":true}`, "total 8", "mean 2.7")
	h.fails("edit", `{"patch":"<<<<<<< SEARCH\nnothing like this\n=======\nx\n>>>>>>> REPLACE","block":"total"}`,
		"patch-absent: ", "hint: read the current text (show) and")
	h.fails("edit", `{"patch":"# %% load\ndata = [9]","expect":"3"}`, "conflict: ",
		"read the steps since then, then try again")
	h.call("replay", `{"cached":true}`, "equal: ")
	h.call("replay", `{"step":8}`, "equal: 1 run of session main", "step 8: equal")
}

// TestMCPFile: a program's file names the session of that file.
func TestMCPFile(t *testing.T) {
	h := newMCPHost(t)
	file := filepath.Join(h.folder, "a.py")
	if err := os.WriteFile(file, []byte("# %% one\nx = 20\n# %% two\nprint('y', x * 2)\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	h.call("plan", `{"session":"a.py"}`, "would run 2 blocks")
	h.call("run", `{"session":"a.py"}`, "append one", "y 40", "ran 2 blocks")
	h.call("edit", `{"session":"a.py","patch":"# %% one\nx = 30\n","run":true}`, "wrote a.py", "y 60")
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "x = 30") {
		t.Errorf("the file is %q, %v; want the edit in it", text, err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "30", "31", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	h.fails("undo", `{"session":"a.py","step":4}`, "unrecorded-edits: ", "hint: run records them first; or restore")
	h.call("run", `{"session":"a.py"}`, "y 62")
	h.call("exec", `{"session":"a.py","code":"# %% three\nz = 1\nz / 0"}`, "File \"a.py\", line 8, in three")
	for _, tool := range []string{"run", "show"} { // they cite the lines that exec cites
		h.call(tool, `{"session":"a.py"}`, "File \"a.py\", line 8, in three")
	}
	h.fails("run", `{"session":"b.py"}`, "no-file: ", "put the file back")
}

// tinyPicture is a PNG of one pixel, in base64.
const tinyPicture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// TestMCPOutput: long output is cut, and a link leads to all of it; pictures are images.
func TestMCPOutput(t *testing.T) {
	h := newMCPHost(t)
	for _, x := range []struct{ tool, arguments string }{
		{"exec", `{"code":"# %% long\nfor i in range(20000): print('line', i)\n'the value'"}`},
		{"show", `{}`},
		{"show", `{"block":"long"}`},
		{"run", `{"fresh":true}`},
	} {
		r := h.call(x.tool, x.arguments, "line 0\n", "line 19999", "left out")
		links := contents[*mcp.ResourceLink](r)
		if len(links) == 0 {
			t.Fatalf("%s has no link", x.tool)
		}
		got := h.read(links[0].URI)
		if len(got) != 1 || got[0].MIMEType != "text/plain" || strings.Count(got[0].Text, "line ") != 20000 {
			t.Errorf("%s: the resource %s is not the whole output", x.tool, links[0].URI)
		}
	}
	h.call("exec", `{"code":"# %% picture\nimport base64\nclass Picture:\n  def _repr_png_(self): return `+
		`base64.b64decode('`+tinyPicture+`')\nPicture()"}`)
	h.call("exec", `{"code":"# %% size\nn = 1"}`)
	h.call("exec", `{"code":"# %% sized\nn + 0\nPicture()"}`)
	for _, x := range []struct{ tool, arguments string }{
		{"exec", `{"code":"# %% again\nPicture()"}`},
		{"exec", `{"code":"# %% size\nn = 2"}`}, // draws sized again
		{"show", `{"block":"picture"}`},
		{"run", `{"fresh":true}`},
	} {
		images := contents[*mcp.ImageContent](h.call(x.tool, x.arguments))
		if len(images) == 0 || images[0].MIMEType != "image/png" ||
			!strings.HasPrefix(string(images[0].Data), "\x89PNG") {
			t.Errorf("%s(%s) has no picture", x.tool, x.arguments)
		}
	}
	got := h.read("xstate://session/main/step/5/block/picture/output/0")
	if i := slices.IndexFunc(got, func(c *mcp.ResourceContents) bool { return c.MIMEType == "image/png" }); i < 0 ||
		!strings.HasPrefix(string(got[i].Blob), "\x89PNG") {
		t.Errorf("the resource of the picture is %+v", got)
	}
	if got := h.read("xstate://session/main/step/6/block/size/text"); len(got) != 1 || got[0].Text != "" ||
		got[0].Blob == nil || len(got[0].Blob) > 0 {
		t.Errorf("the text of a block that put out nothing is %+v, want no bytes", got)
	}
	for _, uri := range []string{"xstate://session/main/step/5/block/picture/output/7", "xstate://session/x/step/4/block/b/text",
		"xstate://session/main/step/400/block/long/text", "file:///etc/passwd"} {
		if _, err := h.session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s was read", uri)
		}
	}
}

func (h *mcpHost) read(uri string) []*mcp.ResourceContents {
	h.Helper()
	r, err := h.session.ReadResource(h.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		h.Fatal(err)
	}
	return r.Contents
}

// TestMCPOutside: a session outside of the folder that is served is refused, also over a link, and nothing is made
// there.
func TestMCPOutside(t *testing.T) {
	h := newMCPHost(t)
	h.call("exec", `{"code":"1"}`)
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "x.py"), []byte("key = 1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(other, "x.py"), filepath.Join(h.folder, "link.py")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(h.folder, "folder")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../x.py", other + "/x.py", "link.py", "folder/x.py", "folder/new.py", "../new",
		"a/../../n.py"} {
		quoted, _ := json.Marshal(name)
		session := `"session":` + string(quoted)
		for _, x := range [][2]string{
			{"exec", `{"code":"1",` + session + `}`}, {"edit", `{"patch":"x = 1","run":true,` + session + `}`},
			{"run", `{` + session + `}`}, {"show", `{` + session + `}`}, {"plan", `{` + session + `}`},
			{"fork", `{"new":` + string(quoted) + `}`}, {"undo", `{` + session + `}`},
		} {
			h.fails(x[0], x[1], "forbidden: ", "is outside of the folder")
		}
	}
	for _, folder := range []string{other, filepath.Dir(h.folder)} {
		if _, err := os.Stat(filepath.Join(folder, ".xstate")); err == nil {
			t.Errorf("there is a store in %s", folder)
		}
	}
	h.call("edit", `{"patch":"x = 1","session":"below/../new.py"}`)
	for _, name := range []string{strings.Repeat("n", 300), `main\u0000`} { // names that no file can have
		r := h.result("show", `{"session":"`+name+`"}`)
		if !r.IsError || strings.Contains(textOf(r), "forbidden") {
			t.Errorf("show of %.9s…: %s", name, textOf(r))
		}
	}
	h.fails("value", `{"name":""}`, "usage: ")
	h.fails("query", `{"block":"","symbol":"none"}`, "no-")
}

// TestMCPRefused: where a file that the program wrote was edited, the code is not executed, and the answer says that it
// is recorded: the next run executes it.
func TestMCPRefused(t *testing.T) {
	h := newMCPHost(t)
	h.call("exec", `{"code":"# %% w\nopen('out.txt', 'w').write('one')"}`)
	if err := os.WriteFile(filepath.Join(h.folder, "out.txt"), []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	h.fails("exec", `{"code":"# %% pay\nopen('paid', 'w').close()"}`, "file-edited: ", "nothing was executed",
		"recorded 1 edit of the program")
	if _, err := os.Stat(filepath.Join(h.folder, "paid")); err == nil {
		t.Error("the code was executed")
	}
}

// TestMCPTextCell: an edit of a notebook's text is told.
func TestMCPTextCell(t *testing.T) {
	h := newMCPHost(t)
	text := `{"cells":[{"cell_type":"markdown","id":"intro","metadata":{},"source":["# Old"]},` +
		`{"cell_type":"code","id":"a","metadata":{},"outputs":[],"execution_count":null,"source":["x = 1"]}],` +
		`"metadata":{},"nbformat":4,"nbformat_minor":5}`
	if err := os.WriteFile(filepath.Join(h.folder, "n.ipynb"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	h.call("run", `{"session":"n.ipynb"}`)
	h.call("edit", `{"session":"n.ipynb","patch":"{\"cell_id\":\"intro\",\"new_source\":\"# New\"}"}`,
		"patch markdown cell intro", "+# New")
}

// TestMCPFailures: code that fails is an answer, and not an error of the tool.
func TestMCPFailures(t *testing.T) {
	h := newMCPHost(t)
	h.call("exec", `{"code":"# %% a\nx = 1 / 0"}`, "block a appended, failed", "ZeroDivisionError: division by zero")
	h.call("exec", `{"code":"# %% b\nprint(x)","append":true}`, "it needs what block a defines")
	h.call("exec", `{"code":"# %% c\ndef f(:","append":true}`, "SyntaxError")
	h.call("query", `{"list":"failed"}`, "failed or blocked after step 6: 3", "ZeroDivisionError")
	h.call("exec", `{"code":"# %% a\nx = 1"}`, "block a replaced, ran", "block b ran because of it", "1\n")
	h.fails("exec", `{"code":"1","replace":"nothing"}`, "hint: ")
	h.fails("exec", `{"code":"1","replace":"a","append":true}`, "usage: append and replace exclude each other")
	h.fails("exec", `{"code":""}`, "hint: ")
	h.fails("exec", `{"code":"1","session":"new.py"}`, "no-session: ", "edit one with a file")
	h.call("edit", `{"patch":"*** Begin Patch\n*** Update File: main\n@@\n-x = 1\n+x = 3\n*** End Patch\n"}`, "patch a")
	h.call("show", `{}`, "nothing ran since the last edit")
	h.call("show", `{"block":"b"}`, "reads var:x")
}

// TestMCPCancellation: a call that is cancelled interrupts the code and takes it back, so the next one does not begin
// with it.
func TestMCPCancellation(t *testing.T) {
	h := newMCPHost(t)
	h.call("exec", `{"code":"# %% begin\nimport time"}`)
	wait := func(call func(context.Context)) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { call(ctx); close(done) }()
		for !strings.HasPrefix(await.Receive(t, "the block runs", h.told), "block slow runs") {
		}
		cancel()
		await.Receive(t, "the call has ended", done)
	}
	wait(func(ctx context.Context) {
		p := &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": "# %% slow\ntime.sleep(600)"}}
		p.SetProgressToken("slow")
		if _, err := h.session.CallTool(ctx, p); err == nil {
			t.Error("the cancelled call succeeded")
		}
	})
	h.call("exec", `{"code":"# %% alive\nprint('alive')","append":true}`, "block alive appended, ran", "ran 1 block")
	h.call("history", `{}`, "takes back", "the code was interrupted")
}

// TestMCPClients uses the tools with clients that others wrote: the SDK for Python, OpenAI's Agents SDK, and the
// Inspector.
func TestMCPClients(t *testing.T) {
	scripts, err := filepath.Abs("../../internal/serve/mcp/testdata")
	if err != nil {
		t.Fatal(err)
	}
	xstate, err := exec.LookPath("xstate") // this test, by testscript.Main
	if err != nil {
		t.Fatal(err)
	}
	environ := append(os.Environ(), "XSTATE_PYTHON="+xstatetest.Pythons()[0], "HOME="+t.TempDir())
	run := func(t *testing.T, folder string, command ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		cmd.Dir, cmd.Env = folder, unverified(environ)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
		}
		return string(out)
	}
	python := filepath.Join(clients.Folder(t, "mcp"), "bin", "python")
	for mode, version := range map[string]string{"auto": "2026-07-28", "legacy": "2025-11-25"} {
		t.Run("python-stdio-"+mode, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			out := run(t, folder, python, filepath.Join(scripts, "client.py"), mode, xstate, "mcp", folder)
			if !strings.Contains(out, "ok "+version) {
				t.Errorf("the client printed %q, want ok %s", out, version)
			}
		})
		t.Run("python-http-"+mode, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			server := httptest.NewServer(xmcp.Handler(commands{}, xmcp.Options{Folder: folder, Environ: environ}))
			defer server.Close()
			out := run(t, folder, python, filepath.Join(scripts, "client.py"), mode, server.URL)
			if !strings.Contains(out, "ok "+version) {
				t.Errorf("the client printed %q, want ok %s", out, version)
			}
		})
	}
	t.Run("python-serve", func(t *testing.T) {
		t.Parallel()
		folder := t.TempDir()
		url, token := mcpServer(t, xstate, folder, unverified(environ))
		r, err := http.Post(url, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != http.StatusUnauthorized {
			t.Errorf("without the token the status is %d, want %d", r.StatusCode, http.StatusUnauthorized)
		}
		cmd := exec.CommandContext(t.Context(), python, filepath.Join(scripts, "client.py"), "auto", url)
		cmd.Env = append(environ, "AUTHORIZATION=Bearer "+token)
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "ok 2026-07-28\n" {
			t.Errorf("the client printed %s: %v", out, err)
		}
	})
	t.Run("openai-agents", func(t *testing.T) {
		t.Parallel()
		folder := t.TempDir()
		out := run(t, folder, python, filepath.Join(scripts, "openai_agents.py"), xstate, "mcp", folder)
		if out != "ok\n" {
			t.Errorf("the agent printed %q, want ok", out)
		}
	})
	t.Run("inspector", func(t *testing.T) {
		t.Parallel()
		bin := filepath.Join(clients.Folder(t, "npm-mcp"), "node_modules", ".bin")
		folder := t.TempDir()
		inspect := func(args ...string) string {
			t.Helper()
			command := []string{filepath.Join(bin, "node"), filepath.Join(bin, "mcp-inspector")}
			return run(t, folder, slices.Concat(command, []string{"--cli", xstate, "mcp", folder}, args)...)
		}
		list := inspect("--method", "tools/list", "--strict")
		if n := strings.Count(list, `"inputSchema"`); n != 14 {
			t.Errorf("the Inspector lists %d tools, want 14:\n%s", n, list)
		}
		out := inspect("--method", "tools/call", "--tool-name", "exec", "--tool-arg", "code=print(6 * 7)")
		if !strings.Contains(out, "42") || strings.Contains(out, `"isError": true`) {
			t.Errorf("exec by the Inspector = %s", out)
		}
		out = inspect("--method", "resources/read", "--uri", "xstate://session/main/step/2/block/b1/text")
		if !strings.Contains(out, `"text": "42\n"`) {
			t.Errorf("the resource read by the Inspector = %s", out)
		}
		if out = inspect("--method", "resources/templates/list"); !strings.Contains(out, "output/{index}") {
			t.Errorf("the templates listed by the Inspector = %s", out)
		}
	})
}

// unverified is an environment in which commands use servers: xstatetest has them verify plans, which they do alone.
func unverified(environ []string) []string {
	verifies := func(v string) bool { return strings.HasPrefix(v, "XSTATE_VERIFY=") }
	return slices.DeleteFunc(slices.Clone(environ), verifies)
}

// mcpServer runs xstate serve in a folder, and returns where it serves the protocol, with its token.
func mcpServer(t *testing.T, xstate, folder string, environ []string) (url, token string) {
	t.Helper()
	do := func(args ...string) []byte {
		t.Helper()
		cmd := exec.Command(xstate, args...)
		cmd.Dir, cmd.Env = folder, environ
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return out
	}
	do("init")
	var d api.Server
	if err := json.Unmarshal(do("serve", "--background", "--listen", "127.0.0.1:0", "--json"), &d); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { do("serve", "--stop") })
	text, err := os.ReadFile(filepath.Join(folder, ".xstate", "token"))
	if err != nil {
		t.Fatal(err)
	}
	return d.HTTP + "/mcp", strings.TrimSpace(string(text))
}

// TestMCPWarm: all calls of xstate mcp use one interpreter, as do commands beside it, and it is gone afterwards.
func TestMCPWarm(t *testing.T) {
	xstate, err := exec.LookPath("xstate") // this test, by testscript.Main
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	environ := unverified(append(os.Environ(), "XSTATE_PYTHON="+xstatetest.Pythons()[0]))
	server := exec.Command(xstate, "mcp", folder)
	server.Env, server.Stderr = environ, os.Stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: server}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var pids []string
	for _, code := range []string{"# %% a\nimport os\nprint(os.getpid())", "# %% b\nprint(os.getpid())"} {
		p := &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": code}}
		r, err := session.CallTool(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, strings.Split(textOf(r), "\n")[1])
	}
	beside := exec.Command(xstate, "exec", "-c", "# %% c\nprint(os.getpid())")
	beside.Dir, beside.Env = folder, environ
	out, err := beside.Output()
	if err != nil {
		t.Fatal(err)
	}
	pids = append(pids, strings.TrimSpace(string(out)))
	if pids[0] != pids[1] || pids[0] != pids[2] {
		t.Errorf("the interpreters are %q, want one", pids)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	for _, pid := range pids {
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(n, 0); err == nil {
			t.Errorf("interpreter %d is still there", n)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, ".xstate", "server.json")); err == nil {
		t.Error("server.json is still there")
	}
}
