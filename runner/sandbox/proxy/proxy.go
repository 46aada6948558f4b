package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// Address is where a box finds the proxy. It is the same in each box: programs look at the variables that name it, and
// a changed value would make them run again.
var Address = netip.MustParseAddrPort("127.0.0.2:3128")

// Request is what a program asked for.
type Request struct {
	Host     string // with its port
	Allowed  bool
	Recorded bool   // a Handler made it
	Reason   string // why it is not allowed, or was not reached
}

// Proxy serves one box.
type Proxy struct {
	hosts     hosts
	report    func(Request)
	dial      func(ctx context.Context, network, address string) (net.Conn, error)
	lookup    func(ctx context.Context, name string) ([]netip.Addr, error)
	transport *http.Transport
	authority *Authority // set if the proxy records; nil: it does not

	mu       sync.Mutex
	handler  Handler // handles recorded requests
	admitted map[netip.AddrPort]bool
	changed  *sync.Cond
	open     map[io.Closer]bool
	closed   bool
}

// New returns a proxy for hosts: "pypi.org", "*.example.com", "10.0.0.1:8080". It reports each request.
func New(allowed []string, report func(Request)) *Proxy {
	dialer := net.Dialer{Timeout: 30 * time.Second}
	p := &Proxy{
		report: report, dial: dialer.DialContext, admitted: map[netip.AddrPort]bool{}, open: map[io.Closer]bool{},
		lookup: func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		},
	}
	p.hosts = parseAll(allowed)
	p.changed = sync.NewCond(&p.mu)
	p.transport = &http.Transport{
		Proxy: nil, DisableCompression: true,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return p.reach(ctx, address, p.authority != nil)
		},
	}
	if slices.Contains(allowed, Anywhere) {
		p.transport.Proxy = http.ProxyFromEnvironment // that of the user's network
	}
	return p
}

// Serve accepts connections until the listener is closed, or the proxy. With admission, it serves those alone that
// Admit names.
func (p *Proxy) Serve(l net.Listener, admission bool) {
	if !p.keep(l) {
		return
	}
	defer p.drop(l)
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if !p.keep(c) {
			return
		}
		go func() {
			defer p.drop(c)
			if !admission || p.wasAdmitted(c) {
				p.serve(c)
			}
		}()
	}
}

// keep notes what Close is to close. It is false after Close.
func (p *Proxy) keep(c io.Closer) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.Close()
		return false
	}
	p.open[c] = true
	return true
}

func (p *Proxy) drop(c io.Closer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
	c.Close()
}

// Close ends all connections.
func (p *Proxy) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for c := range p.open {
		c.Close()
	}
	p.transport.CloseIdleConnections()
	p.changed.Broadcast()
}

// Admit lets a connection from an address be served.
func (p *Proxy) Admit(from netip.AddrPort) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.admitted[from] = true
	p.changed.Broadcast()
}

// wasAdmitted waits until a connection is admitted. The supervisor admits it right after it has connected.
func (p *Proxy) wasAdmitted(c net.Conn) bool {
	from, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.changed.Broadcast()
	})()
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.admitted[from] && ctx.Err() == nil && !p.closed {
		p.changed.Wait()
	}
	defer delete(p.admitted, from)
	return p.admitted[from]
}

// serve answers the requests on one connection.
func (p *Proxy) serve(c net.Conn) {
	if p.authority != nil {
		p.converse(c, tunnel{})
		return
	}
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if r.Method == http.MethodConnect {
			p.connect(c, in, r.Host)
			return
		}
		if !p.forward(c, r) {
			return
		}
	}
}

// connect joins the program and a host.
func (p *Proxy) connect(c net.Conn, in *bufio.Reader, address string) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(address, "443")
	}
	up, err := p.reach(context.Background(), address, false)
	if err != nil {
		refuse(c, err)
		return
	}
	if !p.keep(up) {
		return
	}
	defer p.drop(up)
	if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	relay(&replayed{Conn: c, in: in}, up)
}

// shut says that no more comes on a connection.
func shut(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// forward sends a plain request on. It reports whether another one may follow.
func (p *Proxy) forward(c net.Conn, r *http.Request) bool {
	if r.URL.Scheme != "http" || r.URL.Host == "" {
		refuse(c, errRequest)
		return false
	}
	r.RequestURI = ""
	for _, name := range []string{"Proxy-Connection", "Proxy-Authorization", "Connection", "Upgrade"} {
		r.Header.Del(name)
	}
	reply, err := p.transport.RoundTrip(r)
	if err != nil {
		refuse(c, err)
		return false
	}
	defer reply.Body.Close()
	reply.Close = r.Close || reply.ContentLength < 0
	return reply.Write(c) == nil && !reply.Close
}

// refuse answers a request that is not allowed, or failed. The text comes into the errors of many programs.
func refuse(c net.Conn, err error) {
	status := http.StatusBadGateway
	if _, ok := err.(*DeniedError); ok || unwraps(err) {
		status = http.StatusForbidden
	}
	text := err.Error() + "\n"
	fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, http.StatusText(status), len(text), text)
}

// reach connects to a host that is allowed, and reports it.
func (p *Proxy) reach(ctx context.Context, address string, recorded bool) (net.Conn, error) {
	c, err := p.reachOne(ctx, address)
	r := Request{Host: address, Allowed: !unwraps(err), Recorded: recorded}
	if err != nil {
		r.Reason = err.Error()
	}
	p.report(r)
	return c, err
}

func (p *Proxy) reachOne(ctx context.Context, address string) (net.Conn, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, errRequest
	}
	if addr, err := netip.ParseAddr(name); err == nil {
		if !p.hosts.allowsAddr(addr.Unmap(), port) {
			return nil, &DeniedError{address, "the policy does not name it"}
		}
		return p.dial(ctx, "tcp", address)
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if !p.hosts.allowsName(name, port) {
		return nil, &DeniedError{address, "the policy does not name it"}
	}
	addrs, err := p.lookup(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%s was not found: %w", name, err)
	}
	return p.first(ctx, address, port, addrs)
}

// first connects to the first address that answers. One that is not public was not allowed by any rule.
func (p *Proxy) first(ctx context.Context, address, port string, addrs []netip.Addr) (net.Conn, error) {
	var last error
	for _, addr := range addrs {
		addr = addr.Unmap()
		if !public(addr) && !p.hosts.allowsAddr(addr, port) {
			last = &DeniedError{address,
				"it leads to " + addr.String() + ", which is not public; the policy may name the address itself"}
			continue
		}
		c, err := p.dial(ctx, "tcp", netip.AddrPortFrom(addr, number(port)).String())
		if err == nil {
			return c, nil
		}
		last = err
	}
	if last == nil {
		last = errors.New("it has no address")
	}
	return nil, last
}
