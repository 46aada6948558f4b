package serve

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/state"
)

const (
	longestBody   = 64 << 20
	longestHeader = 64 << 10
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

// serveHTTP begins to answer HTTP requests.
func (s *Server) serveHTTP() {
	if s.Handler == nil {
		s.Handler = http.NotFoundHandler()
	}
	handler := http.MaxBytesHandler(s.counted(s.Handler), longestBody)
	places := make(chan struct{}, mostConnections)
	go s.httpServer(handler).Serve(&bounded{s.local, places})
	if s.tcp != nil {
		go s.httpServer(s.guarded(handler)).Serve(&bounded{s.tcp, places})
	}
}

func (s *Server) httpServer(h http.Handler) *http.Server {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: firstTime, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: longestHeader,
		BaseContext: func(net.Listener) context.Context { return s.ctx },
	}
	// A client of Connect or MCP may speak HTTP/2 without TLS.
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	return server
}

// counted keeps the server from being idle while it answers.
func (s *Server) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.begin() {
			refuseHTTP(w, http.StatusServiceUnavailable, state.CodeBusy, "The server has too much to do.", "try again later")
			return
		}
		defer s.end()
		next.ServeHTTP(w, r)
	})
}

// bounded is a listener that closes the connections for which there is no place.
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
