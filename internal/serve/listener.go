package serve

import (
	"fmt"
	"io"
	"net"
	"sync"
)

// listenLocally listens on an address of this machine's own.
func listenLocally(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("%s is no address of this machine alone; use 127.0.0.1", host)
	}
	return net.Listen("tcp", address)
}

// bounded is a listener that closes the connections beyond its bound.
type bounded struct {
	net.Listener
	places chan struct{}
}

// Accept implements net.Listener.
func (l *bounded) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.places <- struct{}{}:
			return &placedConn{Conn: c, leave: sync.OnceFunc(func() { <-l.places })}, nil
		default:
			c.Close()
		}
	}
}

// placedConn is a connection that has a place.
type placedConn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *placedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// begunConn is a connection whose first bytes were read.
type begunConn struct {
	net.Conn
	begin io.Reader
}

func (c *begunConn) Read(p []byte) (int, error) {
	if n, err := c.begin.Read(p); err == nil {
		return n, nil
	}
	return c.Conn.Read(p)
}

// conns is a listener of connections that others accepted.
type conns struct {
	addr net.Addr
	next chan net.Conn
	done chan struct{}
	once sync.Once
}

func newConns(addr net.Addr) *conns {
	return &conns{addr: addr, next: make(chan net.Conn), done: make(chan struct{})}
}

func (l *conns) serve(c net.Conn) {
	select {
	case l.next <- c:
	case <-l.done:
		c.Close()
	}
}

// Accept implements net.Listener.
func (l *conns) Accept() (net.Conn, error) {
	select {
	case c := <-l.next:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *conns) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (l *conns) Addr() net.Addr { return l.addr }
