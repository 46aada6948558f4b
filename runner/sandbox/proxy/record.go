package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Handler answers one request of a program, whose address is whole.
type Handler func(w http.ResponseWriter, r *http.Request, up Upstream)

// Upstream makes requests under the bounds of a program, and verifies the certificates of servers.
type Upstream struct {
	http.RoundTripper
	Pass func(host string) // says that a request is not recorded after all
}

// Record makes the proxy read the requests that pass through it, also those within TLS, for which a gives it
// certificates. It is called before Serve.
func (p *Proxy) Record(a *Authority) { p.authority = a }

// Handle says what answers requests from now on; nil: they are refused.
func (p *Proxy) Handle(h Handler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handler = h
}

// tunnel is what a connection that was joined by CONNECT leads to. The zero value is a connection with the proxy
// itself.
type tunnel struct{ scheme, address string }

// converse answers the requests on one connection.
func (p *Proxy) converse(c net.Conn, t tunnel) {
	l := &single{conn: c, over: make(chan struct{})}
	server := &http.Server{
		Handler:  http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.take(w, r, t) }),
		ErrorLog: log.New(io.Discard, "", 0),
	}
	_ = server.Serve(l)
}

// single is a listener with one connection.
type single struct {
	net.Conn
	conn net.Conn
	over chan struct{}
	once sync.Once
}

// Accept returns the connection, and then waits until that is closed.
func (l *single) Accept() (net.Conn, error) {
	if l.Conn == nil {
		l.Conn = l.conn
		return l, nil
	}
	<-l.over
	return nil, net.ErrClosed
}

func (l *single) Addr() net.Addr { return l.conn.LocalAddr() }

func (l *single) Close() error {
	l.once.Do(func() { close(l.over) })
	return l.conn.Close()
}

// take hands one request on.
func (p *Proxy) take(w http.ResponseWriter, r *http.Request, t tunnel) {
	if r.Method == http.MethodConnect && t == (tunnel{}) {
		p.join(w, r)
		return
	}
	if t != (tunnel{}) {
		r.URL.Scheme, r.URL.Host = t.scheme, t.address
	}
	if r.URL.Host == "" || r.URL.Scheme != "http" && r.URL.Scheme != "https" {
		http.Error(w, errRequest.Error(), http.StatusBadRequest)
		return
	}
	if err := p.permits(addressOf(r.URL.Scheme, r.URL.Host)); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		p.upgrade(w, r)
		return
	}
	p.mu.Lock()
	h := p.handler
	p.mu.Unlock()
	if h == nil {
		http.Error(w,
			"no code of the program runs: the network is recorded, and a request belongs to a block that runs",
			http.StatusServiceUnavailable)
		return
	}
	h(w, r, Upstream{p.transport, func(host string) { p.report(Request{Host: host, Allowed: true}) }})
}

// addressOf returns a host with its port.
func addressOf(scheme, host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	port := "80"
	if scheme == "https" {
		port = "443"
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}

// permits returns an error where the name of a host is not allowed, and reports that. Where a name leads to is decided
// when it is reached.
func (p *Proxy) permits(address string) error {
	if p.hosts.allowsText(address) {
		return nil
	}
	err := &DeniedError{address, "the policy does not name it"}
	p.report(Request{Host: address, Reason: err.Error()})
	return err
}

// join answers CONNECT: it speaks HTTP with the program, within TLS or not, where the program does. All else passes.
func (p *Proxy) join(w http.ResponseWriter, r *http.Request) {
	address := addressOf("https", r.Host)
	if err := p.permits(address); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	c, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	_ = c.SetDeadline(time.Time{})
	in := bufio.NewReaderSize(io.MultiReader(io.LimitReader(buffered, int64(buffered.Reader.Buffered())), c), 32<<10)
	program := &replayed{Conn: c, in: in}
	switch p.speaks(c, in) {
	case "https":
		host, port, _ := net.SplitHostPort(address)
		within := tls.Server(program, p.authority.server(host))
		if port == "443" {
			address = bracketed(host)
		}
		p.converse(within, tunnel{"https", address})
	case "http":
		p.converse(program, tunnel{"http", strings.TrimSuffix(address, ":80")})
	default:
		up, err := p.reach(context.Background(), address, false)
		if err != nil || !p.keep(up) {
			return
		}
		defer p.drop(up)
		relay(program, up)
	}
}

func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// replayed is a connection of which something has been read already.
type replayed struct {
	net.Conn
	in *bufio.Reader
}

func (r *replayed) Read(p []byte) (int, error) { return r.in.Read(p) }

func (r *replayed) CloseWrite() error {
	shut(r.Conn)
	return nil
}

// firstWords is how long a program that waits for its server to speak first is waited for. HTTP and TLS do not wait.
const firstWords = time.Second

// speaks looks at what a program says first: "http", "https", or "" for all that cannot be recorded, such as TLS that
// carries another protocol.
func (p *Proxy) speaks(c net.Conn, in *bufio.Reader) string {
	_ = c.SetReadDeadline(time.Now().Add(firstWords))
	defer func() { _ = c.SetReadDeadline(time.Time{}) }()
	first, err := in.Peek(5)
	if err != nil {
		return ""
	}
	if first[0] == 0x16 { // a record of TLS with a handshake
		hello, err := in.Peek(5 + int(first[3])<<8 + int(first[4]))
		if err != nil {
			return "https" // too long for one look: let TLS say what is wrong
		}
		if protocols := offered(hello); len(protocols) > 0 && !slices.Contains(protocols, "http/1.1") {
			return ""
		}
		return "https"
	}
	word, _, _ := bytes.Cut(first, []byte(" "))
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
		if len(word) >= 3 && strings.HasPrefix(method, string(word)) {
			return "http"
		}
	}
	return ""
}

// offered returns the protocols that a program offers in its first record of TLS.
func offered(hello []byte) (protocols []string) {
	seen := errors.New("seen")
	c := tls.Server(&deaf{in: bytes.NewReader(hello)}, &tls.Config{
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			protocols = h.SupportedProtos
			return nil, seen
		},
	})
	_ = c.Handshake()
	return protocols
}

// deaf is a connection that only gives what was read before.
type deaf struct {
	net.Conn
	in io.Reader
}

func (d *deaf) Read(p []byte) (int, error)  { return d.in.Read(p) }
func (d *deaf) Write(p []byte) (int, error) { return len(p), nil }
func (d *deaf) Close() error                { return nil }

// upgrade joins the program and a host that speak another protocol from now on.
func (p *Proxy) upgrade(w http.ResponseWriter, r *http.Request) {
	up, err := p.reach(r.Context(), addressOf(r.URL.Scheme, r.URL.Host), false)
	if err == nil && r.URL.Scheme == "https" {
		within := tls.Client(up, &tls.Config{ServerName: r.URL.Hostname(), NextProtos: []string{"http/1.1"}})
		if err = within.HandshakeContext(r.Context()); err != nil {
			up.Close()
		}
		up = within
	}
	if err != nil {
		fail(w, err)
		return
	}
	if !p.keep(up) {
		return
	}
	defer p.drop(up)
	if err := r.Write(up); err != nil {
		fail(w, err)
		return
	}
	c, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	_ = c.SetDeadline(time.Time{})
	relay(&replayed{Conn: c, in: buffered.Reader}, up)
}

// fail answers a request that did not reach its host.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusBadGateway
	if unwraps(err) {
		status = http.StatusForbidden
	}
	http.Error(w, err.Error(), status)
}

// relay copies what each side says to the other until both are done.
func relay(program, up net.Conn) {
	done := make(chan bool, 2)
	carry := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		shut(to)
		done <- true
	}
	go carry(up, program)
	go carry(program, up)
	<-done
	<-done
}

// Denied reports whether an error of a Handler's up says that the bounds forbid the host.
func Denied(err error) bool { return unwraps(err) }
