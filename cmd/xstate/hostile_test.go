package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/xstate-engine/xstate/api/xstate/v1"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
)

// panics is a Doer whose verb fails, where its code is told to.
type panics struct{ serve.Doer }

func (p panics) Do(ctx context.Context, c serve.Call) int {
	for _, arg := range c.Args {
		if strings.Contains(arg, "make it panic") {
			panic("as it was told")
		}
	}
	return p.Doer.Do(ctx, c)
}

func (p panics) Operate(ctx context.Context, c verb.Call) (any, *api.Error) {
	if text, err := json.Marshal(c.Request); err != nil || bytes.Contains(text, []byte("make it panic")) {
		panic("as it was told")
	}
	return p.Doer.Operate(ctx, c)
}

// hostileTexts are values that no request should have: paths outside of every store, names of nothing, texts that are
// nested, long, or no text.
func hostileTexts(outside string) []string {
	return []string{
		"/etc/passwd.py", "../../../../none.py", outside + "/x.py", outside, "/", "/proc/self/mem", "/dev/zero",
		"gone", "99999999999", "-1", "--help", "\x00", "\u202e\x1b]0;x\x07", strings.Repeat("(", 50_000),
		strings.Repeat("if ", 50_000), strings.Repeat("a/", 5_000), "make it panic",
	}
}

// TestHostileRequests: whatever one client sends to a door of a server, another one goes on working, with right
// results.
// Each method of each door gets each text in each of its fields, and bodies that are none.
func TestHostileRequests(t *testing.T) {
	s := newAttacked(t)
	stop, worked := make(chan struct{}), make(chan int)
	go s.work(stop, worked)

	s.all(s.api(), 2)
	s.all(s.mcp(), 2)
	s.all(s.e2b(), 2)
	s.commands()

	close(stop)
	if n := <-worked; n < 2 {
		t.Errorf("the other client finished %d calls meanwhile, want more", n)
	}
	if exit, out, errOut := s.do(nil, "exec", "--session=other", "--wait=3m", "--json", "-c", "x"); exit != 0 {
		t.Errorf("exec = %d after all requests: %s%s", exit, out, errOut)
	}
	if client := serve.Find(s.server.Pool.Store().State().Dir()); client == nil || !client.Alive(t.Context()) {
		t.Error("the server has ended")
	}
}

// attacked is a server whose doors a test uses badly.
type attacked struct {
	*inServer
	client  *http.Client
	outside string
	long    string // a body that is too large
}

func newAttacked(t *testing.T) *attacked {
	t.Helper()
	in := newInServerOf(t, serve.Options{}, func(s *serve.Server) serve.Doer { return panics{commands{server: s}} })
	h := &attacked{inServer: in, outside: t.TempDir()}
	h.long = strings.Repeat("x", 17<<20)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", h.server.Info().Socket)
	}
	h.client = &http.Client{Transport: &http.Transport{DialContext: dial}}
	return h
}

// request is one that a client sends.
type hostileRequest struct{ method, path, kind, body string }

// all sends requests, some at a time. Each has an answer.
func (h *attacked) all(requests []hostileRequest, jobs int) {
	h.t.Helper()
	if len(requests) < 50 {
		h.t.Errorf("%d requests, want more", len(requests))
	}
	next := make(chan hostileRequest)
	var all sync.WaitGroup
	for range jobs {
		all.Go(func() {
			for r := range next {
				status, text := h.send(r)
				if status == 0 && len(r.body) == len(h.long) {
					continue // the server has answered, and closed the connection, while the body was sent
				}
				if status == 0 || len(text) == 0 && status != 200 && status != 202 {
					h.t.Errorf("%s %s %.60q: status %d, %s", r.method, r.path, r.body, status, text)
				}
			}
		})
	}
	for _, r := range requests {
		next <- r
	}
	close(next)
	all.Wait()
}

func (h *attacked) send(r hostileRequest) (status int, text string) {
	ctx, cancel := context.WithTimeout(context.Background(), await.Long)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, r.method, "http://localhost"+r.path, strings.NewReader(r.body))
	if err != nil {
		return 0, err.Error()
	}
	request.Header.Set("Content-Type", r.kind)
	if r.path == "/mcp" {
		request.Header.Set("Accept", "application/json, text/event-stream")
		request.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		var m struct {
			Method string
			Params struct{ Name, URI string }
		}
		_ = json.Unmarshal([]byte(r.body), &m) // of what is no message nothing is known
		request.Header.Set("Mcp-Method", m.Method)
		request.Header.Set("Mcp-Name", strings.ToValidUTF8(m.Params.Name+m.Params.URI, ""))
	}
	answer, err := h.client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	data, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(data)
}

// bodies are what is no request of any method.
func (h *attacked) bodies() []string {
	return []string{"", "{", "null", "[]", `"x"`, "\xff\xfe\x00", strings.Repeat("[", 100_000), h.long,
		`{"a":` + strings.Repeat(`{"a":`, 100_000)}
}

// work executes code in a session of its own until stop is closed. Its results are right each time.
func (h *attacked) work(stop chan struct{}, worked chan int) {
	n := 0
	defer func() { worked <- n }()
	for {
		select {
		case <-stop:
			return
		default:
		}
		n++
		code := fmt.Sprintf("x = %d\nx * 2", n)
		exit, out, errOut := h.do(nil, "exec", "--session=other", "--wait=3m", "--append", "-c", code)
		if exit != 0 || !strings.Contains(out, fmt.Sprint(2*n)) {
			h.t.Errorf("the other client's call %d = %d: %s%s", n, exit, out, errOut)
			return
		}
	}
}

// api are requests of the Connect API.
func (h *attacked) api() (all []hostileRequest) {
	services := v1.File_xstate_v1_services_proto.Services()
	for i := range services.Len() {
		for j := range services.Get(i).Methods().Len() {
			m := services.Get(i).Methods().Get(j)
			path, kind := "/"+string(m.Parent().FullName())+"/"+string(m.Name()), "application/json"
			frame := func(body string) string { return body }
			if m.IsStreamingServer() {
				kind = "application/connect+json"
				frame = func(body string) string {
					return string(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body)))) + body
				}
			}
			for _, body := range h.bodies() {
				all = append(all, hostileRequest{"POST", path, kind, body})
				all = append(all, hostileRequest{"POST", path, kind, frame(body)})
			}
			for _, text := range hostileTexts(h.outside) {
				fields := map[string]any{}
				for k := range m.Input().Fields().Len() {
					f := m.Input().Fields().Get(k)
					if f.Kind().String() == "string" && !f.IsList() && !f.IsMap() && f.ContainingOneof() == nil {
						fields[string(f.Name())] = text
						body, _ := json.Marshal(map[string]any{string(f.Name()): text})
						all = append(all, hostileRequest{"POST", path, kind, frame(string(body))})
					}
				}
				body, _ := json.Marshal(fields)
				all = append(all, hostileRequest{"POST", path, kind, frame(string(body))})
			}
		}
	}
	return all
}

// mcp are calls of the tools, and messages that are none.
func (h *attacked) mcp() (all []hostileRequest) {
	message := func(method string, params map[string]any) string {
		params["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28",
			"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "x", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": map[string]any{}}
		text, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
		return string(text)
	}
	_, listed := h.send(hostileRequest{"POST", "/mcp", "application/json", message("tools/list", map[string]any{})})
	_, listed, _ = strings.Cut(listed, "data: ")
	var tools struct {
		Result struct {
			Tools []struct {
				Name        string
				InputSchema struct {
					Properties map[string]struct{ Type string }
				}
			}
		}
	}
	if err := json.NewDecoder(strings.NewReader(listed)).Decode(&tools); err != nil || len(tools.Result.Tools) < 10 {
		h.t.Fatalf("tools/list: %v, %.300s", err, listed)
	}
	for _, body := range h.bodies() {
		all = append(all, hostileRequest{"POST", "/mcp", "application/json", body})
	}
	for _, text := range hostileTexts(h.outside) {
		all = append(all, hostileRequest{"POST", "/mcp", "application/json", message("resources/read",
			map[string]any{"uri": "xstate://session/" + url.PathEscape(text) + "/step/1/block/x/output/99999999999"})})
		for _, tool := range tools.Result.Tools {
			for name, p := range tool.InputSchema.Properties {
				if p.Type != "string" {
					continue
				}
				arguments := map[string]any{name: text}
				needed := []string{"code", "patch", "block", "name", "new"}
				if name == "session" { // what the tool needs, too
					for other, p := range tool.InputSchema.Properties {
						if p.Type == "string" && slices.Contains(needed, other) {
							arguments[other] = "x"
						}
					}
				}
				all = append(all, hostileRequest{"POST", "/mcp", "application/json",
					message("tools/call", map[string]any{"name": tool.Name, "arguments": arguments})})
			}
		}
	}
	return all
}

// e2b are requests of the E2B code interpreter.
func (h *attacked) e2b() (all []hostileRequest) {
	for _, route := range []struct{ method, path string }{
		{"GET", "/health"}, {"POST", "/execute"}, {"POST", "/contexts"}, {"DELETE", "/contexts/gone"},
		{"POST", "/contexts/gone/restart"}, {"POST", "/contexts/%2e%2e%2f%00"}, {"PUT", "/execute"},
	} {
		for _, body := range h.bodies() {
			all = append(all, hostileRequest{route.method, route.path, "application/json", body})
		}
	}
	for _, text := range hostileTexts(h.outside) {
		for _, field := range []string{"code", "context_id", "language", "cwd"} {
			path := "/execute"
			if field == "cwd" {
				path = "/contexts"
			}
			body, _ := json.Marshal(map[string]any{field: text})
			all = append(all, hostileRequest{"POST", path, "application/json", string(body)})
		}
	}
	return all
}

// commands sends what is no command to the socket, and commands that name what is not there.
func (h *attacked) commands() {
	for _, text := range []string{
		"", "\x00", "\x00\xff\xff\xff\xff", "\x00\x00\x00\x00\x02{}", "\x00\x00\x00\x00\x04null", "\x01", "GET",
		"Z\r\n\r\n",
		"GET /" + strings.Repeat("x", 1<<20) + " HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff",
		"\x00\x00\x01\x86\xa0" + strings.Repeat("[", 100_000),
	} {
		c, err := net.Dial("unix", h.server.Info().Socket)
		if err != nil {
			h.t.Error(err)
			continue
		}
		_ = c.SetDeadline(time.Now().Add(await.Long))
		_, _ = io.WriteString(c, text) // the server may close the connection before all is written
		_ = c.(*net.UnixConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c)
		c.Close()
	}
	client := serve.Find(h.server.Pool.Store().State().Dir())
	for _, text := range hostileTexts(h.outside)[:5] {
		for _, verb := range []string{"show", "log", "query", "plan", "patch", "undo", "calls", "diff", "blame",
			"export", "replay"} {
			var out, errOut bytes.Buffer
			exit, err := client.Send(h.t.Context(), serve.Call{
				Args: []string{verb, "--session=" + text, "--json"}, Folder: h.folder, Environ: h.environ,
				Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errOut,
			})
			if err != nil || exit == 0 && out.Len() == 0 {
				h.t.Errorf("%s %.40q = %d, %v: %s%s", verb, text, exit, err, out.Bytes(), errOut.Bytes())
			}
		}
	}
}
