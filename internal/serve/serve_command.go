package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// accept takes connections. What each wants, its first byte tells: a command, or HTTP.
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
		if err := checkPeer(c); err != nil {
			c.Close()
			continue
		}
		if !s.begin() {
			refuse(c, "it has too much to do")
			c.Close()
			continue
		}
		go func() {
			defer s.end()
			s.serve(d, c)
		}()
	}
}

func refuse(c net.Conn, why string) {
	_ = c.SetWriteDeadline(time.Now().Add(replyTime))
	_ = writeFrame(c, reply{Refused: why}) // who does not read it is gone
}

func (s *Server) serve(d Doer, c *net.UnixConn) {
	_ = c.SetDeadline(time.Now().Add(firstTime))
	first, fds, err := firstByte(c)
	switch {
	case err != nil:
		c.Close()
		return
	case first >= 'A' && first <= 'Z':
		closeAll(fds)
		_ = c.SetDeadline(time.Time{})
		s.local.serve(&begunConn{Conn: c, begin: bytes.NewReader([]byte{first})})
		return
	}
	defer c.Close()
	defer closeAll(fds)
	var cmd command
	if first != commandByte {
		return // garbage
	}
	if err := readFrame(c, &cmd); err != nil || len(fds) != descriptors {
		refuse(c, "the command cannot be read")
		return
	}
	_ = c.SetDeadline(time.Time{})
	if why := s.refusal(cmd); why != "" {
		refuse(c, why)
		return
	}
	r := reply{}
	if !cmd.Retire {
		r = s.do(d, c, cmd, fds)
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
		s.stop()
		return "its store is gone"
	case cmd.Surroundings != "" && cmd.Surroundings != s.around:
		return "it runs with other permissions, limits or namespaces"
	}
	return ""
}

// do carries a command out. The first interrupt cancels the call, as does the end of the connection.
func (s *Server) do(d Doer, c *net.UnixConn, cmd command, fds []int) (r reply) {
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
		Args: cmd.Args, Folder: cmd.Folder, Environ: cmd.Environ,
		Stdin:  newDescriptor(there, fds[0], pipe),
		Stdout: newDescriptor(there, fds[1], pipe),
		Stderr: newDescriptor(there, fds[2], pipe),
	}
	defer func() {
		if p := recover(); p != nil { // in a verb; the server goes on
			fmt.Fprintf(s.o.Log, "panic in %q: %v\n", cmd.Args, p)
			r = reply{Exit: 5}
		}
	}()
	r.Exit = d.Do(ctx, call)
	r.Pipe = errors.Is(context.Cause(ctx), errPipe)
	return r
}
