package proxy

import (
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
	all  bool       // every host
}

// Anywhere represents every host, in the place of a name. A policy file cannot say so.
const Anywhere = "*"

var errRequest = errors.New("the request names no host: this is a proxy for HTTP")

// parse reads a host as a policy file has it.
func parse(text string) host {
	if text == Anywhere {
		return host{all: true}
	}
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
	if h.all {
		return true
	}
	if h.any {
		return strings.HasSuffix(name, h.name)
	}
	return name == h.name
}

func (h host) allowsAddr(addr netip.Addr, port string) bool {
	return h.all || h.addr.IsValid() && h.addr == addr && (h.port == "" || h.port == port)
}

// DeniedError says that a host is not allowed.
type DeniedError struct{ Host, Reason string }

func (e *DeniedError) Error() string { return fmt.Sprintf("%s is not allowed: %s", e.Host, e.Reason) }

func unwraps(err error) bool {
	var denied *DeniedError
	return errors.As(err, &denied)
}

func number(port string) uint16 {
	n, err := net.LookupPort("tcp", port)
	if err != nil {
		return 0
	}
	return uint16(n)
}

// hosts are all that are allowed.
type hosts []host

func parseAll(names []string) (all hosts) {
	for _, text := range names {
		all = append(all, parse(text))
	}
	return all
}

func (all hosts) allowsName(name, port string) bool {
	for _, h := range all {
		if h.allows(name, port) {
			return true
		}
	}
	return false
}

func (all hosts) allowsAddr(addr netip.Addr, port string) bool {
	for _, h := range all {
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
func Allows(names []string, address string) bool {
	return parseAll(names).allowsText(strings.TrimPrefix(address, "tcp:"))
}

// allowsText reports whether an address is allowed: HOST or HOST:PORT.
func (all hosts) allowsText(address string) bool {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		name, port = address, ""
	}
	if addr, err := netip.ParseAddr(name); err == nil {
		return all.allowsAddr(addr.Unmap(), port)
	}
	return all.allowsName(strings.ToLower(strings.TrimSuffix(name, ".")), port)
}
