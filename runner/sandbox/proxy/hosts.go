package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// host is one host that is allowed.
type host struct {
	name string     // in lower case; with any, what the name ends in
	any  bool       // all names below it
	addr netip.Addr // instead of a name
	port string     // "": 80 and 443 and all others
}

var errRequest = errors.New("the request names no host: this is a proxy for HTTP")

// parse reads a host as a policy file has it.
func parse(text string) host {
	name, port, err := net.SplitHostPort(text)
	if err != nil {
		name, port = strings.Trim(text, "[]"), ""
	}
	if addr, err := netip.ParseAddr(name); err == nil {
		return host{addr: addr.Unmap(), port: port}
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if below, ok := strings.CutPrefix(name, "*."); ok {
		return host{name: "." + below, any: true, port: port}
	}
	return host{name: name, port: port}
}

func (h host) allows(name, port string) bool {
	if h.port != "" && h.port != port || name == "" {
		return false
	}
	if h.any {
		return strings.HasSuffix(name, h.name)
	}
	return name == h.name
}

func (h host) allowsAddr(addr netip.Addr, port string) bool {
	return h.addr.IsValid() && h.addr == addr && (h.port == "" || h.port == port)
}

// DeniedError says that a host is not allowed.
type DeniedError struct{ Host, Reason string }

func (e *DeniedError) Error() string { return fmt.Sprintf("%s is not allowed: %s", e.Host, e.Reason) }

func unwraps(err error) bool {
	var denied *DeniedError
	return errors.As(err, &denied)
}

// reach connects to a host that is allowed, and reports it.
func (p *Proxy) reach(ctx context.Context, address string) (net.Conn, error) {
	c, err := p.reachOne(ctx, address)
	r := Request{Host: address, Allowed: !unwraps(err)}
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
		if !p.allowsAddr(addr.Unmap(), port) {
			return nil, &DeniedError{address, "the policy does not name it"}
		}
		return p.dial(ctx, "tcp", address)
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if !p.allowsName(name, port) {
		return nil, &DeniedError{address, "the policy does not name it"}
	}
	addrs, err := p.lookup(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%s was not found: %w", name, err)
	}
	return p.first(ctx, address, port, addrs)
}

// first connects to the first address that answers. One that is not public was allowed by nobody.
func (p *Proxy) first(ctx context.Context, address, port string, addrs []netip.Addr) (net.Conn, error) {
	var last error
	for _, addr := range addrs {
		addr = addr.Unmap()
		if !public(addr) && !p.allowsAddr(addr, port) {
			last = &DeniedError{address, "it leads to " + addr.String() + ", which is not public; the policy may name the " +
				"address itself"}
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

func number(port string) uint16 {
	n, err := net.LookupPort("tcp", port)
	if err != nil {
		return 0
	}
	return uint16(n)
}

func (p *Proxy) allowsName(name, port string) bool {
	for _, h := range p.hosts {
		if h.allows(name, port) {
			return true
		}
	}
	return false
}

func (p *Proxy) allowsAddr(addr netip.Addr, port string) bool {
	for _, h := range p.hosts {
		if h.allowsAddr(addr, port) {
			return true
		}
	}
	return false
}

// special are addresses that package netip does not count as private, and that no host of the internet has.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("::/96"),
}

// public reports whether an address belongs to the internet, not to this machine or its network. Addresses of version 6
// that contain one of version 4 could lead anywhere.
func public(addr netip.Addr) bool {
	if !addr.IsGlobalUnicast() || addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() {
		return false
	}
	for _, prefix := range special {
		if prefix.Contains(addr) {
			return false
		}
	}
	return true
}

// Allows reports whether hosts, as a policy file has them, allow an address: HOST or HOST:PORT.
func Allows(hosts []string, address string) bool {
	p := &Proxy{}
	for _, text := range hosts {
		p.hosts = append(p.hosts, parse(text))
	}
	name, port, err := net.SplitHostPort(strings.TrimPrefix(address, "tcp:"))
	if err != nil {
		name, port = strings.TrimPrefix(address, "tcp:"), ""
	}
	if addr, err := netip.ParseAddr(name); err == nil {
		return p.allowsAddr(addr.Unmap(), port)
	}
	return p.allowsName(strings.ToLower(strings.TrimSuffix(name, ".")), port)
}
