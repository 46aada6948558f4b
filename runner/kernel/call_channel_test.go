package kernel

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/xstate-engine/xstate/state"
)

// callsFunc answers calls by a function.
type callsFunc func(ctx context.Context, r CallRequest, via CallVia) CallReply

func (f callsFunc) Call(ctx context.Context, r CallRequest, via CallVia) CallReply {
	return f(ctx, r, via)
}

func (f callsFunc) Tools(context.Context) []ToolInfo { return []ToolInfo{{Name: "a", Class: "pure"}} }

// waits reports whether the first line of a connection is awaited.
func (c *callChannel) waits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.first != nil
}

// program is the program's side of a channel.
type program struct {
	*testing.T
	door *os.File
}

// openChannel returns a channel that is served, with a program.
func openChannel(t *testing.T) (*callChannel, *program) {
	t.Helper()
	c, err := newCallChannel(false)
	if err != nil {
		t.Fatal(err)
	}
	go c.serve()
	go c.number()
	t.Cleanup(func() {
		c.close()
		c.program.Close()
	})
	return c, &program{t, c.program}
}

// connect opens a connection and sends its first line.
func (p *program) connect(line string) (net.Conn, *bufio.Reader) {
	p.Helper()
	conn := p.open()
	p.send(conn, line)
	return conn, bufio.NewReader(conn)
}

// open opens a connection.
func (p *program) open() net.Conn {
	p.Helper()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		p.Fatal(err)
	}
	if err := syscall.Sendmsg(int(p.door.Fd()), []byte("c"), syscall.UnixRights(pair[1]), nil, 0); err != nil {
		p.Fatal(err)
	}
	syscall.Close(pair[1])
	conn, err := unixConn(pair[0])
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { conn.Close() })
	return conn
}

func (p *program) send(conn net.Conn, line string) {
	p.Helper()
	if _, err := conn.Write([]byte(line + "\n")); err != nil {
		p.Fatal(err)
	}
}

// wants reads a line.
func (p *program) wants(in *bufio.Reader, want string) {
	p.Helper()
	got, err := in.ReadString('\n')
	if got = strings.TrimSuffix(got, "\n"); err != nil || got != want {
		p.Errorf("the engine sends %s, %v; want %s", got, err, want)
	}
}

// TestCallIDs: calls of one connection are told apart by their ids: results, steps, parts of a text and cancellation.
func TestCallIDs(t *testing.T) {
	c, p := openChannel(t)
	began := make(chan string)
	n := c.begin(t.Context(), callsFunc(func(ctx context.Context, r CallRequest, via CallVia) CallReply {
		switch r.Kind {
		case "step":
			result, _, err := via.Step(ctx, 7)
			if err != nil {
				return CallReply{Error: &state.CallError{Code: "failed", Message: err.Error()}}
			}
			return CallReply{Call: 7, Result: result}
		case "model":
			via.Piece("a")
			return CallReply{Result: json.RawMessage(`"a"`)}
		}
		via.Numbered()
		if r.Tool == "hang" {
			began <- r.Tool
			<-ctx.Done()
		}
		return CallReply{Result: r.Args}
	}))
	conn, in := p.connect(`{"id":1,"kind":"tool","tool":"hang","args":{"n":1}}`)
	<-began
	p.send(conn, `{"id":1,"kind":"tool","tool":"b","args":{}}`)
	p.wants(in, `{"id":1,"error":{"code":"call-garbled","message":"a call of this id goes on"}}`)
	p.send(conn, `{"id":2,"kind":"step","tool":"s","args":{}}`)
	p.wants(in, `{"id":2,"step":7}`)
	p.send(conn, `{"id":3,"kind":"model","tool":"","args":{},"stream":true}`)
	p.wants(in, `{"id":3,"piece":"a"}`)
	p.wants(in, `{"id":3,"result":"a"}`)
	p.send(conn, `{"id":2,"result":[1]}`)
	p.wants(in, `{"id":2,"call":7,"result":[1]}`)
	p.send(conn, `{"id":2,"kind":"step","tool":"s","args":{}}`)
	p.wants(in, `{"id":2,"step":7}`)
	p.send(conn, `{"id":2,"error":{"code":"x","message":"no"}}`)
	p.wants(in, `{"id":2,"error":{"code":"failed","message":"no"}}`)
	p.send(conn, `{"id":1,"cancel":true}`)
	p.wants(in, `{"id":1,"result":{"n":1}}`)
	p.send(conn, `{"kind":"tools"}`)
	p.wants(in, `{"tools":[{"name":"a","class":"pure"}]}`)
	if c.end(n, false) {
		t.Error("all calls have ended, and the node is said to have more")
	}
	p.send(conn, `{"id":4,"kind":"tool","tool":"b","args":{}}`)
	line, err := in.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, `{"id":4,"error":{"code":"no-block"`) {
		t.Errorf("between nodes the engine sends %s, %v; want no-block", line, err)
	}
}

// TestCallOrder: calls get their places in the order in which the program sent them.
func TestCallOrder(t *testing.T) {
	c, p := openChannel(t)
	var order []string
	n := c.begin(t.Context(), callsFunc(func(_ context.Context, r CallRequest, via CallVia) CallReply {
		order = append(order, r.Tool) // the race detector knows whether two do so at the same time
		via.Numbered()
		return CallReply{Result: json.RawMessage("1")}
	}))
	var replies []*bufio.Reader
	for i := range 100 {
		_, in := p.connect(fmt.Sprintf(`{"kind":"tool","tool":"%d","args":{}}`, i))
		replies = append(replies, in)
	}
	for _, in := range replies {
		p.wants(in, `{"result":1}`)
	}
	c.end(n, false)
	for i, name := range order {
		if name != fmt.Sprint(i) {
			t.Fatalf("the order of calls is %v", order)
		}
	}
}

// TestCallGarbled: what is no call, and one that is too large, is an error and harms no other.
func TestCallGarbled(t *testing.T) {
	c, p := openChannel(t)
	n := c.begin(t.Context(), callsFunc(func(context.Context, CallRequest, CallVia) CallReply {
		return CallReply{Result: json.RawMessage("1")}
	}))
	conn, in := p.connect("{")
	line, err := in.ReadString('\n')
	if err != nil || !strings.Contains(line, "call-garbled") {
		t.Errorf("the engine sends %s, %v; want call-garbled", line, err)
	}
	p.send(conn, `{"result":1}`)
	p.send(conn, `{"kind":"tool","tool":"a","args":{}}`)
	p.wants(in, `{"result":1}`)
	go func() { _, _ = conn.Write(bytes.Repeat([]byte("x"), maxCall+1<<20)) }()
	if line, _ = in.ReadString('\n'); !strings.Contains(line, "call-too-large") {
		t.Errorf("the engine sends %.100s; want call-too-large", line)
	}
	if _, err := in.ReadString('\n'); err == nil {
		t.Error("the connection is open after a call that is too large")
	}
	_, in = p.connect(`{"kind":"tool","tool":"a","args":{}}`)
	p.wants(in, `{"result":1}`)
	c.end(n, false)
}

// TestCallUnread: parts of a text that nobody reads do not keep a node, nor does a connection that sends nothing.
func TestCallUnread(t *testing.T) {
	c, p := openChannel(t)
	began := make(chan bool)
	n := c.begin(t.Context(), callsFunc(func(_ context.Context, _ CallRequest, via CallVia) CallReply {
		close(began)
		for range 10 {
			via.Piece(strings.Repeat("x", 1<<20))
		}
		return CallReply{Result: json.RawMessage("1")}
	}))
	p.connect(`{"kind":"model","tool":"","args":{},"stream":true}`)
	<-began
	p.open()
	for !c.waits() {
		runtime.Gosched()
	}
	if !c.end(n, false) {
		t.Error("the call went on at the end of the node, and the node is said to have none")
	}
	n = c.begin(t.Context(), callsFunc(func(context.Context, CallRequest, CallVia) CallReply {
		return CallReply{Result: json.RawMessage("1")}
	}))
	for c.waits() {
		runtime.Gosched()
	}
	_, in := p.connect(`{"kind":"tool","tool":"a","args":{}}`)
	p.wants(in, `{"result":1}`)
	c.end(n, false)
}
