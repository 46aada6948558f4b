package kernel

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/state"
)

// maxCall bounds a line of a connection, in bytes: the arguments of a call, or the result of a step.
const maxCall = 64<<20 + 64<<10

// callConn is one connection of a program, on which it makes calls. Each line is a JSON object. The program sends:
//
//   - a CallRequest; with "stream": true, it wants parts of a text as they come. The kind "tools" asks what there is.
//   - {"result": …} or {"error": {"code": …, "message": …}}: how the function of a step ended. With "again": what it
//     did beside returning a result.
//   - {"cancel": true}: it gives the call up
//
// The engine sends {"piece": …} for parts of a text, {"step": CALL} when the program is to run the function of a step,
// and at last a CallReply, or {"tools": …}. A client that makes several calls at a time on one connection gives each an
// "id", which is in all lines of the call. To close a connection is to give its calls up.
type callConn struct {
	channel *callChannel
	conn    *net.UnixConn
	in      *bufio.Reader

	write  sync.Mutex // lines are written whole
	broken bool       // one was not

	mu     sync.Mutex
	closed bool
	calls  map[int64]*inCall
}

// inCall is a call that has no outcome.
type inCall struct {
	conn    *callConn
	id      int64
	request CallRequest
	stream  bool
	node    *callNode
	ctx     context.Context
	cancel  context.CancelFunc
	answer  chan stepAnswer // from the function of a step

	handing bool // it hands a part of a text to the program; guarded by the node's lock
}

type stepAnswer struct {
	Result json.RawMessage  `json:"result"`
	Again  string           `json:"again"`
	Error  *state.CallError `json:"error"`
}

func newCallConn(c *callChannel, conn *net.UnixConn) *callConn {
	return &callConn{channel: c, conn: conn, in: bufio.NewReaderSize(conn, 4<<10), calls: map[int64]*inCall{}}
}

// read reads the next line.
func (c *callConn) read() ([]byte, error) {
	var line []byte
	for {
		part, err := c.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > maxCall:
			c.send(0, CallReply{Error: &state.CallError{Code: codeTooLarge,
				Message: fmt.Sprintf("the call has more than %d bytes", maxCall),
				Hint:    "write a file, and pass its name"}})
			return nil, fmt.Errorf("the line has more than %d bytes", maxCall)
		}
	}
}

// heed does what a line of the program says.
func (c *callConn) heed(line []byte) {
	var r struct {
		ID     int64 `json:"id"`
		Cancel bool  `json:"cancel"`
		Stream bool  `json:"stream"`
		CallRequest
		stepAnswer
	}
	if err := json.Unmarshal(line, &r); err != nil {
		c.send(0, CallReply{Error: &state.CallError{Code: codeGarbled, Message: "the call is garbled: " + err.Error()}})
		return
	}
	c.mu.Lock()
	call := c.calls[r.ID]
	c.mu.Unlock()
	switch {
	case r.Cancel:
		if call != nil {
			call.cancel()
		}
	case r.Kind == "":
		if call != nil {
			select {
			case call.answer <- r.stepAnswer:
			default: // no caller waits for it
			}
		}
	case call != nil:
		c.send(r.ID, CallReply{Error: &state.CallError{Code: codeGarbled, Message: "a call of this id goes on"}})
	default:
		c.start(r.ID, r.CallRequest, r.Stream)
	}
}

// start puts a call in the queue.
func (c *callConn) start(id int64, r CallRequest, stream bool) {
	n := c.channel.running()
	call := &inCall{conn: c, id: id, request: r, stream: stream, node: n, answer: make(chan stepAnswer, 1)}
	if n != nil {
		call.ctx, call.cancel = context.WithCancel(n.ctx)
	}
	switch {
	case n == nil || !n.enter(call):
		c.send(id, CallReply{Error: &state.CallError{Code: codeNoBlock,
			Message: "a call was made while no block runs",
			Hint:    "wait for threads, tasks and child processes before the block ends"}})
	case n.calls == nil:
		n.leave(call)
		c.send(id, CallReply{Error: &state.CallError{Code: codeNoTools, Message: "this program has no tools",
			Hint: "name a source of them in xstate.toml: [mcp.NAME], [openapi.NAME] or [models.NAME]"}})
	case !c.add(call): // the program gave it up
		n.leave(call)
	default:
		select {
		case c.channel.queue <- call:
		case <-c.channel.done:
			n.leave(call)
		}
	}
}

// add notes a call that has begun. It reports false if the connection is closed.
func (c *callConn) add(call *inCall) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.calls[call.id] = call
	}
	return !c.closed
}

// run makes the call and sends its outcome. It calls placed when the call has its place in the order of calls.
func (call *inCall) run(placed func()) {
	c, n := call.conn, call.node
	defer call.cancel()
	var reply any
	switch {
	case call.ctx.Err() != nil:
	case call.request.Kind == "tools":
		placed()
		reply = call.tools()
	default:
		reply = call.make(placed)
	}
	placed() // before the reply is sent: the program may not read it before it has sent the next call
	n.leave(call)
	c.remove(call)
	if n.ctx.Err() != nil { // the interrupt, and no error of a call, is what the program is to see
		<-n.done
		c.close()
		return
	}
	c.sendLine(reply)
}

// callReply is a reply with the number by which the program knows the call.
type callReply struct {
	ID int64 `json:"id,omitempty"`
	CallReply
}

// tools says what can be called.
func (call *inCall) tools() any {
	tools := call.node.calls.Tools(call.ctx)
	if tools == nil {
		tools = []ToolInfo{}
	}
	return struct {
		ID    int64      `json:"id,omitempty"`
		Tools []ToolInfo `json:"tools"`
	}{call.id, tools}
}

// make makes the call and returns the reply.
func (call *inCall) make(placed func()) any {
	via := CallVia{Numbered: placed, Step: func(ctx context.Context, id state.CallID) (json.RawMessage, string, error) {
		placed()
		return call.step(ctx, id)
	}}
	if call.stream {
		via.Piece = func(text string) {
			placed()
			call.piece(text)
		}
	}
	return callReply{call.id, call.node.calls.Call(call.ctx, call.request, via)}
}

// piece hands a part of a text to the program.
func (call *inCall) piece(text string) {
	if !call.node.hands(call, true) {
		return
	}
	defer call.node.hands(call, false)
	call.conn.sendLine(struct {
		ID    int64  `json:"id,omitempty"`
		Piece string `json:"piece"`
	}{call.id, text})
}

// step lets the program run the function of a step.
func (call *inCall) step(ctx context.Context, id state.CallID) (result json.RawMessage, again string, err error) {
	call.conn.sendLine(struct {
		ID   int64        `json:"id,omitempty"`
		Step state.CallID `json:"step"`
	}{call.id, id})
	select {
	case a := <-call.answer:
		if a.Error != nil {
			return nil, "", &state.Error{Code: a.Error.Code, Message: a.Error.Message, Hint: a.Error.Hint}
		}
		return a.Result, a.Again, nil
	case <-ctx.Done():
		return nil, "", ctx.Err()
	case <-call.ctx.Done():
		return nil, "", &state.Error{Code: codeUnrun, Message: "the program gave the step up", Err: call.ctx.Err()}
	}
}

func (c *callConn) remove(call *inCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, call.id)
}

// send sends a reply.
func (c *callConn) send(id int64, reply CallReply) {
	c.sendLine(callReply{id, reply})
}

// sendLine sends a line. A program that closed the connection does not want it.
func (c *callConn) sendLine(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		text, _ = json.Marshal(CallReply{Error: &state.CallError{Code: codeGarbled, Message: err.Error()}})
	}
	c.write.Lock()
	defer c.write.Unlock()
	if c.broken {
		return
	}
	if _, err := c.conn.Write(append(text, '\n')); err != nil {
		c.broken = true
		_ = c.conn.CloseWrite()
	}
}

// breakOff ends a write that may have no reader.
func (c *callConn) breakOff() { _ = c.conn.SetWriteDeadline(time.Now()) }

// giveUp ends the wait for a line.
func (c *callConn) giveUp() { _ = c.conn.SetReadDeadline(time.Now()) }

// close ends the connection and gives up its calls.
func (c *callConn) close() {
	c.mu.Lock()
	c.closed = true
	for _, call := range c.calls {
		call.cancel()
	}
	c.mu.Unlock()
	c.conn.Close()
	c.channel.mu.Lock()
	delete(c.channel.conns, c)
	c.channel.mu.Unlock()
}
