package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"time"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
)

// Serve carries out calls until the server has had nothing to do for its idle time, the store is gone, Stop is called,
// or ctx ends. It then interrupts what runs, closes the sessions and removes the socket.
func (s *Server) Serve(ctx context.Context, d Doer) error {
	defer context.AfterFunc(ctx, s.stop)()
	d = s.Contain(d)
	s.local = newConns(s.socket.Addr())
	s.serveHTTP()
	go s.accept(d)
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for s.ctx.Err() == nil {
		select {
		case <-s.ctx.Done():
		case <-ticker.C:
			s.look()
		}
	}
	return s.close()
}

// accept takes connections. The first byte of each shows what it wants: a command, or HTTP.
func (s *Server) accept(d Doer) {
	for s.ctx.Err() == nil {
		c, err := s.socket.AcceptUnix()
		if err != nil {
			if s.ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
				time.Sleep(10 * time.Millisecond) // too many open files, perhaps
				continue
			}
			return
		}
		pid, err := checkPeer(c)
		if err != nil {
			c.Close()
			continue
		}
		if !s.begin() {
			refuse(c, reply{Refused: "it has too much to do", Ending: s.ending()})
			c.Close()
			continue
		}
		go func() {
			defer s.end()
			defer func() {
				if p := recover(); p != nil { // before or after the call, which contains its own
					fmt.Fprintf(s.o.Log, "panic at a connection: %v\n%s", p, debug.Stack())
					c.Close()
				}
			}()
			s.serve(d, c, pid)
		}()
	}
}

func refuse(c net.Conn, r reply) {
	_ = c.SetWriteDeadline(time.Now().Add(replyTime))
	_ = writeFrame(c, r) // who does not read it is gone
}

func (s *Server) serve(d Doer, c *net.UnixConn, pid int) {
	_ = c.SetDeadline(time.Now().Add(firstTime))
	first, fds, err := readByte(c)
	closeAll(fds) // they come later
	switch {
	case err != nil:
		c.Close()
		return
	case first >= 'A' && first <= 'Z':
		_ = c.SetDeadline(time.Time{})
		s.local.serve(&begunConn{Conn: c, begin: bytes.NewReader([]byte{first})})
		return
	}
	defer c.Close()
	var cmd command
	if first != commandByte {
		refuse(c, reply{Refused: "the first byte begins neither HTTP nor a command"})
		return
	}
	if err := readFrame(c, &cmd); err != nil {
		refuse(c, reply{Refused: "the command cannot be read"})
		return
	}
	if why := s.refusal(cmd); why != "" {
		refuse(c, reply{Refused: why, Ending: s.ending()})
		return
	}
	r := reply{}
	if !cmd.Retire {
		if writeFrame(c, reply{Ready: true}) != nil {
			return // the client has gone
		}
		_, fds, err := readByte(c)
		defer closeAll(fds)
		if err != nil || len(fds) != descriptors {
			return
		}
		_ = c.SetDeadline(time.Time{})
		r = s.do(d, c, cmd, fds, pid)
	}
	_ = c.SetWriteDeadline(time.Now().Add(replyTime))
	_ = writeFrame(c, r) // who does not read it is gone
}

// refusal says why a command is not carried out; "" if it is.
func (s *Server) refusal(cmd command) string {
	switch {
	case cmd.Retire && !s.retire():
		return "calls go on"
	case cmd.Retire:
		return ""
	case s.gone():
		s.Spent("its store is gone")
		return "its store is gone"
	case cmd.Surroundings != "" && cmd.Surroundings != s.around:
		return "it runs with other permissions, limits, namespaces or telemetry"
	}
	return ""
}

// do carries a command out. The first interrupt cancels the call, as does the end of the connection.
func (s *Server) do(d Doer, c *net.UnixConn, cmd command, fds []int, pid int) (r reply) {
	defer s.call()()
	there, left := context.WithCancelCause(context.Background()) // as long as the client
	defer left(nil)
	ctx, cancel := context.WithCancelCause(there)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(context.Canceled) })()
	go func() {
		buffer := make([]byte, 16)
		for {
			n, err := c.Read(buffer)
			if bytes.IndexByte(buffer[:n], interruptByte) >= 0 {
				cancel(context.Canceled)
			}
			if err != nil {
				left(err)
				return
			}
		}
	}()
	pipe := func(err error) { cancel(err) }
	call := Call{
		Args: cmd.Args, Folder: cmd.Folder, Environ: cmd.Environ, PID: pid,
		Stdin:  newDescriptor(there, fds[0], pipe),
		Stdout: newDescriptor(there, fds[1], pipe),
		Stderr: newDescriptor(there, fds[2], pipe),
	}
	if cmd.Operation != nil {
		s.operate(ctx, d, call, cmd.Operation)
	} else {
		r.Exit = d.Do(ctx, call)
	}
	r.Pipe = errors.Is(context.Cause(ctx), errPipe)
	return r
}

// operate carries out the operation that a client asks for, and writes what comes of it.
func (s *Server) operate(ctx context.Context, d Doer, from Call, wire *verb.Wire) {
	out := verb.Writer{To: from.Stdout}
	request, err := wire.Unpack()
	if err != nil {
		_ = out.End(nil, verb.Unanswered(err)) // who does not read it is gone
		return
	}
	call := verb.Call{Request: request, Store: wire.Store, Folder: from.Folder, Environ: from.Environ, PID: from.PID,
		Door: wire.Door}
	if wire.Events {
		call.Event = out.Event
	}
	answer, failed := d.Operate(ctx, call)
	_ = out.End(answer, failed)
}

// Operate carries out an operation of this process itself, as those of clients. taken is false if the server takes no
// more calls.
func (s *Server) Operate(ctx context.Context, d Doer, call verb.Call) (answer any, failed *api.Error, taken bool) {
	if !s.begin() {
		return nil, nil, false
	}
	defer s.end()
	defer s.call()()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	answer, failed = s.Contain(d).Operate(ctx, call)
	return answer, failed, true
}
