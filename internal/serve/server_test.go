package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/internal/wording"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/state"
)

// doer is a Doer in a test.
type doer func(ctx context.Context, c Call) int

// Do implements Doer.
func (d doer) Do(ctx context.Context, c Call) int { return d(ctx, c) }

// Operate implements Doer. It answers with what it was asked.
func (d doer) Operate(_ context.Context, c verb.Call) (any, *api.Error) {
	r, ok := c.Request.(*verb.Exec)
	if !ok {
		return nil, &api.Error{Code: api.CodeUsage, Message: c.Request.Verb(), Hint: c.Folder}
	}
	if c.Event != nil {
		c.Event(api.Event{Event: "begin", Run: fmt.Sprint(c.PID)})
	}
	return &api.Exec{Session: r.Session, Text: r.Code + c.Environ[0] + c.Store + fmt.Sprint(c.Door)}, nil
}

// operations is a Doer for other doors than the command line.
type operations func(ctx context.Context, c verb.Call) (any, *api.Error)

func (f operations) Do(context.Context, Call) int { panic("the command line was not called") }

func (f operations) Operate(ctx context.Context, c verb.Call) (any, *api.Error) { return f(ctx, c) }

// serving starts a server of a new store. Its end is waited for.
func serving(t *testing.T, o Options, d doer) (*Server, *Client) {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), ".xstate")
	}
	s, err := Listen(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "answer to %s", r.URL.Path)
	})
	done := make(chan error, 1)
	go func() { done <- s.Serve(context.Background(), d) }()
	t.Cleanup(func() {
		s.Stop()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Serve = %v", err)
			}
		case <-await.Context(t).Done():
			t.Error("the server does not end")
		}
		if _, err := os.Lstat(s.Info().Socket); err == nil {
			t.Error("the socket is left behind")
		}
	})
	c := Find(o.Dir)
	if c == nil {
		t.Fatal("Find = nil")
	}
	return s, c
}

// echo writes what it reads.
func echo(_ context.Context, c Call) int {
	data, _ := io.ReadAll(c.Stdin)
	fmt.Fprintf(c.Stdout, "%s %q in %s", data, c.Args, c.Folder)
	fmt.Fprint(c.Stderr, "remark")
	return 7
}

func TestCall(t *testing.T) {
	_, c := serving(t, Options{}, echo)
	var out, errOut bytes.Buffer
	exit, err := c.Send(t.Context(), Call{
		Args: []string{"a", "b"}, Folder: "/somewhere", Environ: []string{"X=" + strings.Repeat("x", 1<<20)},
		Stdin: strings.NewReader("text"), Stdout: &out, Stderr: &errOut,
	})
	if want := `text ["a" "b"] in /somewhere`; err != nil || exit != 7 || out.String() != want {
		t.Errorf("Send = %d, %v, output %q, want 7 and %q", exit, err, out.String(), want)
	}
	if errOut.String() != "remark" {
		t.Errorf("stderr = %q", errOut.String())
	}
}

// TestOperation: an operation is carried out by the server with all that its call has, and its events come first.
func TestOperation(t *testing.T) {
	_, c := serving(t, Options{}, echo)
	var events []api.Event
	call := verb.Call{Request: &verb.Exec{InSession: verb.In("s"), Code: "x = 1 "}, Store: "/store ",
		Folder: "/somewhere", Environ: []string{"A=1 "}, Door: wording.API,
		Event: func(e api.Event) { events = append(events, e) }}
	answer, failed, err := c.Operate(t.Context(), call)
	want := &api.Exec{Session: "s", Text: "x = 1 A=1 /store " + fmt.Sprint(wording.API)}
	if d := cmp.Diff(any(want), answer); err != nil || failed != nil || d != "" {
		t.Errorf("Operate = %v, %v, (-want +got):\n%s", failed, err, d)
	}
	if len(events) != 1 || events[0].Event != "begin" || events[0].Run != fmt.Sprint(os.Getpid()) {
		t.Errorf("the events are %+v, want the beginning, of this process", events)
	}
	call.Request, call.Event = &verb.Why{Block: "b"}, nil
	answer, failed, err = c.Operate(t.Context(), call)
	if d := cmp.Diff(&api.Error{Code: api.CodeUsage, Message: "why", Hint: "/somewhere"}, failed); answer != nil ||
		err != nil || d != "" {
		t.Errorf("Operate = %v, %v, (-want +got):\n%s", answer, err, d)
	}
}

// TestSecondServer starts servers of one store at the same time: one serves it.
func TestSecondServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".xstate")
	_, c := serving(t, Options{Dir: dir}, echo)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := Listen(t.Context(), Options{Dir: dir}); state.CodeOf(err) != api.CodeServed {
				t.Errorf("Listen = %v, want %s", err, api.CodeServed)
			}
		})
	}
	all.Wait()
	if !c.Alive(t.Context()) {
		t.Error("the first server does not answer any more")
	}
}

// TestLeftSocket finds the socket and the description of a server that was killed.
func TestLeftSocket(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".xstate")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	path := socketPaths(canonical(dir))[0]
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	if err := writeInfo(dir, Info{Version: 1, PID: 1, Socket: path, Build: Build()}); err != nil {
		t.Fatal(err)
	}
	_, err = Find(dir).Send(t.Context(), Call{Stdin: os.Stdin, Stdout: io.Discard, Stderr: io.Discard})
	var refused *RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("Send to a dead server = %v, want a refusal", err)
	}
	_, c := serving(t, Options{Dir: dir}, echo)
	if !c.Alive(t.Context()) {
		t.Error("the next server does not answer")
	}
}

// TestSilent has a server that was stopped: a call says so after a while, and nothing of it is done later.
func TestSilent(t *testing.T) {
	t.Parallel()
	dir := canonical(t.TempDir())
	path := socketPaths(dir)[0]
	silent, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if err := writeInfo(dir, Info{Version: 1, PID: 4711, Socket: path, Build: Build()}); err != nil {
		t.Fatal(err)
	}
	big := []string{"X=" + strings.Repeat("x", 2<<20)} // more than the socket takes
	for _, environ := range [][]string{nil, big} {
		call := Call{Environ: environ, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}
		_, err = Find(dir).Send(t.Context(), call)
		var refused *RefusedError
		if !errors.As(err, &refused) || !refused.Silent || !strings.Contains(refused.Reason, "process 4711") {
			t.Errorf("Send to a stopped server = %v, want a refusal that names process 4711", err)
		}
	}
}

// TestDamagedInfo has somebody damage the description of a server: it writes it again.
func TestDamagedInfo(t *testing.T) {
	s, c := serving(t, Options{}, echo)
	if err := os.WriteFile(filepath.Join(s.dir, infoFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), Options{Dir: s.dir}); state.CodeOf(err) != api.CodeServed ||
		strings.Contains(err.Error(), "process 0") {
		t.Errorf("Listen = %v, want %s", err, api.CodeServed)
	}
	s.look()
	if again := Find(s.dir); again == nil || again.Info != c.Info {
		t.Errorf("Find = %+v, want the server again", again)
	}
}

// TestForeignInfo does not follow a description that leads elsewhere.
func TestForeignInfo(t *testing.T) {
	dir := t.TempDir()
	if err := writeInfo(dir, Info{Version: 1, Socket: "/run/other.sock"}); err != nil {
		t.Fatal(err)
	}
	if c := Find(dir); c != nil {
		t.Errorf("Find = %+v, want nil", c.Info)
	}
}

func TestInterruptAndGone(t *testing.T) {
	began, ended := make(chan bool, 2), make(chan error, 2)
	_, c := serving(t, Options{}, func(ctx context.Context, c Call) int {
		began <- true
		<-ctx.Done()
		_, err := io.WriteString(c.Stdout, "stopped")
		ended <- err
		return 1
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	var out bytes.Buffer
	exit, err := c.Send(ctx, Call{Stdin: os.Stdin, Stdout: &out, Stderr: io.Discard})
	if err != nil || exit != 1 || out.String() != "stopped" || <-ended != nil {
		t.Errorf("Send = %d, %v, output %q, want 1 and what the call said last", exit, err, out.String())
	}
	conn, err := c.connect(t.Context()) // a client that is killed
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sent := sendCommand(conn, command{Args: []string{"x"}})
	if err := errors.Join(sent, sendDescriptors(conn, [descriptors]*os.File{os.Stdin, w, w})); err != nil {
		t.Fatal(err)
	}
	<-began
	conn.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a write after the client has gone = %v, want %v", err, context.Canceled)
	}
	w.Close()
}

// TestSlowReader has a client that does not read: its call waits, and others go on.
func TestSlowReader(t *testing.T) {
	_, c := serving(t, Options{}, func(_ context.Context, c Call) int {
		if _, err := c.Stdout.Write(make([]byte, 1<<20)); err != nil {
			return 1
		}
		return 0
	})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	slow := make(chan error, 1)
	go func() {
		_, err := c.Send(t.Context(), Call{Stdin: os.Stdin, Stdout: w, Stderr: io.Discard})
		w.Close()
		slow <- err
	}()
	for range 20 {
		exit, err := c.Send(t.Context(), Call{Stdin: os.Stdin, Stdout: io.Discard, Stderr: io.Discard})
		if err != nil || exit != 0 {
			t.Fatalf("a call beside a slow reader = %d, %v", exit, err)
		}
	}
	if n, err := io.Copy(io.Discard, r); err != nil || n != 1<<20 || <-slow != nil {
		t.Errorf("the slow reader got %d bytes, %v", n, err)
	}
}

// TestBrokenPipe ends a call whose reader goes away.
func TestBrokenPipe(t *testing.T) {
	_, c := serving(t, Options{}, func(ctx context.Context, c Call) int {
		for ctx.Err() == nil {
			_, _ = io.WriteString(c.Stdout, "more\n")
		}
		return 1
	})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = io.ReadFull(r, make([]byte, 10))
		r.Close()
	}()
	if _, err := c.Send(t.Context(), Call{Stdin: os.Stdin, Stdout: w, Stderr: io.Discard}); !errors.Is(err, ErrPipe) {
		t.Errorf("Send = %v, want %v", err, ErrPipe)
	}
	w.Close()
}

// TestPanic has a verb that panics: the server goes on.
func TestPanic(t *testing.T) {
	_, c := serving(t, Options{}, func(context.Context, Call) int { panic("on purpose") })
	for range 2 {
		exit, err := c.Send(t.Context(), Call{Stdin: os.Stdin, Stdout: io.Discard, Stderr: io.Discard})
		if err != nil || exit != 5 {
			t.Errorf("Send = %d, %v, want 5", exit, err)
		}
	}
}

// TestBadConnections sends what is no command.
func TestBadConnections(t *testing.T) {
	_, c := serving(t, Options{}, echo)
	for name, text := range map[string]string{
		"garbage":         "\x01\x02\x03",
		"small letter":    "get / HTTP/1.1\r\n\r\n",
		"too long":        "\x00\xff\xff\xff\xff{}",
		"no JSON":         "\x00\x00\x00\x00\x02}{",
		"no descriptors":  "\x00\x00\x00\x00\x02{}",
		"cut":             "\x00\x00\x00\x01",
		"nothing":         "",
		"broken request":  "GET\r\n\r\n",
		"unknown request": "FOO / HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		conn, err := c.connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, text)
		_ = conn.CloseWrite()
		if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: %v", name, err)
		}
		conn.Close()
	}
	if exit, err := c.Send(t.Context(), Call{Stdin: os.Stdin, Stdout: io.Discard, Stderr: io.Discard}); err != nil {
		t.Errorf("a call after bad connections = %d, %v", exit, err)
	}
}

// TestManyConnections opens more connections than the server takes. It refuses some, in words, and goes on.
func TestManyConnections(t *testing.T) {
	s, c := serving(t, Options{}, echo)
	var open []net.Conn
	for range mostConnections + 20 {
		conn, err := c.connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
	}
	last := open[len(open)-1]
	var r reply
	if err := readFrame(last, &r); err != nil || r.Refused == "" {
		t.Errorf("reply to one connection too many = %+v, %v, want a refusal", r, err)
	}
	for _, conn := range open {
		conn.Close()
	}
	await.Until(t, "the server has noted the ends", func() bool { return s.load() == 0 })
	if _, err := c.Send(t.Context(), Call{Stdin: os.Stdin, Stdout: io.Discard, Stderr: io.Discard}); err != nil {
		t.Errorf("a call afterwards = %v", err)
	}
}

func (s *Server) load() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active
}

func TestOtherSurroundings(t *testing.T) {
	_, c := serving(t, Options{}, echo)
	call := Call{Stdin: os.Stdin, Stdout: io.Discard, Stderr: io.Discard}
	var refused *RefusedError
	if _, err := c.send(t.Context(), call, "umask 000"); !errors.As(err, &refused) || refused.Ending {
		t.Errorf("Send with another umask = %v, want a refusal", err)
	}
	if exit, err := c.Control(t.Context(), call); err != nil || exit != 7 {
		t.Errorf("Control = %d, %v, want 7", exit, err)
	}
}

func TestStoreGone(t *testing.T) {
	s, c := serving(t, Options{}, echo)
	if err := os.RemoveAll(s.dir); err != nil {
		t.Fatal(err)
	}
	await.Receive(t, "the server ends, because its store is gone", s.ctx.Done())
	var refused *RefusedError
	_, err := c.Send(t.Context(), Call{Stdin: os.Stdin, Stdout: io.Discard, Stderr: io.Discard})
	if !errors.As(err, &refused) {
		t.Errorf("Send = %v, want a refusal", err)
	}
}

func TestIdleAndRetire(t *testing.T) {
	s, _ := serving(t, Options{Idle: time.Millisecond}, echo)
	await.Receive(t, "an idle server ends", s.ctx.Done())

	hold, begun := make(chan bool), make(chan bool)
	_, c := serving(t, Options{}, func(context.Context, Call) int {
		begun <- true
		<-hold
		return 0
	})
	sent := make(chan error)
	go func() {
		_, err := c.Send(t.Context(), Call{Stdin: os.Stdin, Stdout: io.Discard, Stderr: io.Discard})
		sent <- err
	}()
	await.Receive(t, "the call begins", begun)
	if c.Retire(t.Context()) {
		t.Error("Retire ended a server that has a call to carry out")
	}
	hold <- true
	if err := await.Receive(t, "the call has ended", sent); err != nil {
		t.Error(err)
	}
	await.Until(t, "the end of the call is noted", func() bool { return c.Retire(t.Context()) })
}

// TestLongPath serves a store whose path is too long for a socket, through a symbolic link.
func TestLongPath(t *testing.T) {
	run := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", run)
	real := filepath.Join(t.TempDir(), strings.Repeat("long", 30), ".xstate")
	if err := os.MkdirAll(real, 0o777); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(run, "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	s, _ := serving(t, Options{Dir: link}, echo)
	if len(s.Info().Socket) > longestSocket || strings.HasPrefix(s.Info().Socket, real) {
		t.Errorf("socket = %s", s.Info().Socket)
	}
	if c := Find(real); c == nil || !c.Alive(t.Context()) {
		t.Error("the server is not found by the other name of its store")
	}
}

func TestReadOnlyStore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := Listen(t.Context(), Options{Dir: filepath.Join(file, ".xstate")})
	if state.CodeOf(err) != api.CodeNoServer {
		t.Errorf("Listen = %v, want %s", err, api.CodeNoServer)
	}
}

func TestHTTP(t *testing.T) {
	s, c := serving(t, Options{Listen: "127.0.0.1:0"}, echo)
	if _, err := Listen(t.Context(), Options{Dir: t.TempDir(), Listen: "0.0.0.0:0"}); err == nil {
		t.Error("Listen on an address of other machines did not fail")
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return c.connect(ctx) }
	local := &http.Client{Transport: &http.Transport{DialContext: dial}}
	ask := func(client *http.Client, change func(*http.Request)) (int, string) {
		body := strings.NewReader("{}")
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Info().HTTP+"/path", body)
		if err != nil {
			t.Fatal(err)
		}
		change(r)
		got, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		text, _ := io.ReadAll(got.Body)
		return got.StatusCode, string(text)
	}
	if code, text := ask(local, func(*http.Request) {}); code != 200 || text != "answer to /path" {
		t.Errorf("by the socket: %d %q", code, text)
	}
	secret, err := os.ReadFile(filepath.Join(s.dir, tokenFile))
	if err != nil {
		t.Fatal(err)
	}
	show := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(secret))) }
	for name, test := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"token":    {show, 200},
		"no token": {func(*http.Request) {}, 401},
		"wrong":    {func(r *http.Request) { r.Header.Set("Authorization", "Bearer no") }, 401},
		"host":     {func(r *http.Request) { show(r); r.Host = "evil.example" }, 403},
		"origin": {func(r *http.Request) {
			show(r)
			r.Header.Set("Origin", "https://evil.example")
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		}, 403},
	} {
		if code, text := ask(http.DefaultClient, test.change); code != test.want {
			t.Errorf("%s: %d %q, want %d", name, code, text, test.want)
		}
	}
	info, err := os.Stat(filepath.Join(s.dir, tokenFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the token's file: %v, %v", info, err)
	}
}

// TestInfo is what clients in other languages read.
func TestInfo(t *testing.T) {
	s, _ := serving(t, Options{Version: "1.2"}, echo)
	data, err := os.ReadFile(filepath.Join(s.dir, infoFile))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"version", "pid", "socket", "xstate", "build"} {
		if got[name] == nil {
			t.Errorf("server.json has no %s: %s", name, data)
		}
	}
}
