package kernel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"

	"github.com/xstate-engine/xstate/state"
)

// Codes of errors of calls that reach no journal.
const (
	codeNoBlock  state.Code = "no-block"        // no block runs
	codeNoTools  state.Code = "no-tools"        // nothing answers calls here
	codeTooLarge state.Code = "call-too-large"  // the request has more bytes than maxCall
	codeGarbled  state.Code = "call-garbled"    // it is not what the protocol says
	codeUnrun    state.Code = "step-not-run"    // a step has no result, because its program gave it up
	callsVar                = "XSTATE_CALLS_FD" // the variable by which a driver finds its end of the channel
)

// markUnfinished is the mark of a node that ended while calls of it went on. Which ones it made depends on time.
const markUnfinished = "call-unfinished"

// callChannel is how the program of a process makes calls. The process inherits one end of a pair of sockets. For each
// call, the program makes another pair and sends one end of that over the channel. So threads, tasks and forked
// children call without a thread that reads for them, and a call ends when its connection is closed.
//
// A language that cannot send a descriptor has one connection for all calls, which the process inherits instead.
//
// A connection carries lines of JSON, see callConn. The first line of a connection is read before the next connection
// is taken: calls reach the engine in the order in which the program made them. A program therefore sends its request
// at once.
type callChannel struct {
	engine  *net.UnixConn
	program *os.File // until the process is started
	inode   uint64   // that end's, which the process inherits
	only    bool     // the process inherits a connection, and makes no other

	queue chan *inCall  // in the order in which the program made them
	done  chan struct{} // closed when the channel is

	mu    sync.Mutex
	conns map[*callConn]bool
	first *callConn // whose first line is awaited
	node  *callNode // nil: no node runs
	shut  bool
}

// callNode is the calls of the node that runs.
type callNode struct {
	calls  Calls
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	ending  bool             // the node has ended, and its calls have not
	open    map[*inCall]bool // calls that have no outcome
	settled chan struct{}    // closed when the node is ending and none is open
	done    chan struct{}    // closed when Execute returns
}

func newCallChannel(only bool) (*callChannel, error) {
	pair, err := socketPair(syscall.SOCK_STREAM)
	if err != nil {
		return nil, fmt.Errorf("open a channel for calls: %w", err)
	}
	c := &callChannel{only: only, program: os.NewFile(uintptr(pair[1]), "calls"), conns: map[*callConn]bool{},
		queue: make(chan *inCall, 1024), done: make(chan struct{})}
	var end syscall.Stat_t
	if err := syscall.Fstat(pair[1], &end); err == nil {
		c.inode = end.Ino
	}
	if c.engine, err = unixConn(pair[0]); err != nil {
		c.program.Close()
		return nil, fmt.Errorf("open a channel for calls: %w", err)
	}
	return c, nil
}

// unixConn makes a connection of a descriptor, which it takes over.
func unixConn(fd int) (*net.UnixConn, error) {
	f := os.NewFile(uintptr(fd), "call")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, errors.New("this is no local socket")
	}
	return u, nil
}

// serve takes connections until the channel is closed, or no process has its other end.
func (c *callChannel) serve() {
	if c.only {
		c.serveOne()
		return
	}
	data, rights := make([]byte, 1), make([]byte, syscall.CmsgSpace(4))
	for {
		n, m, _, _, err := c.engine.ReadMsgUnix(data, rights)
		if err != nil || n == 0 {
			return
		}
		for _, fd := range descriptorsIn(rights[:m]) {
			if conn, err := unixConn(fd); err == nil {
				c.take(newCallConn(c, conn))
			}
		}
	}
}

// serveOne takes the calls of the one connection.
func (c *callChannel) serveOne() {
	conn := newCallConn(c, c.engine)
	c.mu.Lock()
	c.conns[conn] = !c.shut
	c.mu.Unlock()
	defer conn.close()
	for {
		line, err := conn.read()
		if err != nil {
			return
		}
		conn.heed(line)
	}
}

// descriptorsIn returns the descriptors that came with a message.
func descriptorsIn(rights []byte) []int {
	messages, err := syscall.ParseSocketControlMessage(rights)
	if err != nil {
		return nil
	}
	var all []int
	for _, m := range messages {
		fds, err := syscall.ParseUnixRights(&m)
		if err == nil {
			all = append(all, fds...)
		}
	}
	return all
}

// number makes the calls of the queue. Each begins when the one before has its place in the order of calls.
func (c *callChannel) number() {
	for {
		select {
		case call := <-c.queue:
			placed := make(chan struct{})
			go call.run(sync.OnceFunc(func() { close(placed) }))
			<-placed
		case <-c.done:
			return
		}
	}
}

// take serves a connection. It returns when the first request is in the queue.
func (c *callChannel) take(conn *callConn) {
	c.mu.Lock()
	if c.shut {
		c.mu.Unlock()
		conn.close()
		return
	}
	c.conns[conn], c.first = true, conn
	c.mu.Unlock()
	line, err := conn.read()
	c.mu.Lock()
	c.first = nil
	c.mu.Unlock()
	if err != nil {
		conn.close()
		return
	}
	conn.heed(line)
	go func() {
		defer conn.close()
		for {
			line, err := conn.read()
			if err != nil {
				return
			}
			conn.heed(line)
		}
	}()
}

// close gives up the channel and all its connections.
func (c *callChannel) close() {
	c.mu.Lock()
	if c.shut {
		c.mu.Unlock()
		return
	}
	c.shut = true
	close(c.done)
	var open []*callConn
	for conn := range c.conns {
		open = append(open, conn)
	}
	c.mu.Unlock()
	c.engine.Close()
	for _, conn := range open {
		conn.close()
	}
}

// begin lets the program call while a node runs. ctx is the node's.
func (c *callChannel) begin(ctx context.Context, calls Calls) *callNode {
	n := &callNode{calls: calls, open: map[*inCall]bool{}, settled: make(chan struct{}), done: make(chan struct{})}
	n.ctx, n.cancel = context.WithCancel(ctx)
	c.mu.Lock()
	c.node = n
	c.mu.Unlock()
	return n
}

// end ends the calls of a node, and reports whether some went on when it ended. It returns when all have an outcome.
//
// In a plain run, a node may end while its calls still run, in a thread or in a task that is not awaited. Here they are
// finished first: the next node sees what they change, and their cost is not lost. Steps are given up, because the
// program may not be able to continue them. The parts of texts are dropped: they may have no reader. failed: the node
// was interrupted, or its process died, so its calls are given up.
func (c *callChannel) end(n *callNode, failed bool) bool {
	n.mu.Lock()
	n.ending = true
	left := len(n.open) > 0
	for call := range n.open {
		if failed || call.request.Kind == "step" {
			call.cancel()
		}
		if call.handing {
			call.conn.breakOff()
		}
	}
	if !left {
		close(n.settled)
	}
	n.mu.Unlock()
	<-n.settled
	c.mu.Lock()
	c.node = nil
	if c.first != nil { // it must not keep the calls of the next node
		c.first.giveUp()
	}
	c.mu.Unlock()
	n.cancel()
	close(n.done)
	return left
}

// running returns the node that runs; nil if none does.
func (c *callChannel) running() *callNode {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.node
}

// enter adds a call to a node. A node that is ending takes those that are made within a call of it.
func (n *callNode) enter(call *inCall) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ending && (call.request.Parent == 0 || len(n.open) == 0) {
		return false
	}
	n.open[call] = true
	return true
}

// leave takes a call from its node: it has an outcome.
func (n *callNode) leave(call *inCall) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.open, call)
	if n.ending && len(n.open) == 0 {
		close(n.settled)
	}
}

// hands notes whether a call hands a part of a text to the program. It reports whether it may: not after the node's
// end.
func (n *callNode) hands(call *inCall, now bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	call.handing = now && !n.ending
	return call.handing
}
