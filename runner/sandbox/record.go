package sandbox

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/xstate-engine/xstate/runner/sandbox/proxy"
)

// Names that those need who do not know the proxy.
type (
	Authority = proxy.Authority
	Handler   = proxy.Handler
)

// traffic is what the proxy of a box did since it was taken.
type traffic struct {
	mu       sync.Mutex
	requests []string // that the proxy passed on without recording them
	refused  []Denial
}

// reached takes a request that the proxy served.
func (t *traffic) reached(r proxy.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !r.Allowed:
		t.refused = append(t.refused, Denial{Action: "connect", Target: r.Host, Rule: hostRule(r.Host)})
	case !r.Recorded:
		t.requests = append(t.requests, "tcp:"+r.Host)
	}
}

// hostRule is the line of a policy file that would allow a host.
func hostRule(address string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(address, ":443"), ":80")
	return fmt.Sprintf("network.hosts = [%q]", name)
}

// take adds what the proxy did to a report.
func (t *traffic) take(r *Report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, host := range t.requests {
		addOnce(&r.Sockets, host)
	}
	r.Denied = append(r.Denied, t.refused...)
	t.requests, t.refused = nil, nil
}

// recorder is the proxy of a box without bounds whose requests are recorded. A box may go another way: it is then seen
// to use the network.
type recorder struct {
	traffic
	proxy  *proxy.Proxy
	at     netip.AddrPort // its address
	direct bool           // programs know that address: nothing leads them there from the usual one
}

// newRecorder starts the proxy of a box; nil where nothing is recorded.
func newRecorder(s Spec, direct bool) (*recorder, error) {
	if s.Record == nil || s.Bounds != nil {
		return nil, nil
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the proxy that records: %w", err)
	}
	r := &recorder{at: listener.Addr().(*net.TCPAddr).AddrPort(), direct: direct}
	r.proxy = proxy.New([]string{proxy.Anywhere}, r.reached)
	r.proxy.Record(s.Record)
	go r.proxy.Serve(listener, !direct)
	return r, nil
}

func (r *recorder) close() {
	if r != nil {
		r.proxy.Close()
	}
}

// environ adds the variables by which programs find the proxy.
func (r *recorder) environ(own []string, s Spec) []string {
	switch {
	case r == nil:
		return own
	case r.direct:
		return proxied(own, r.at, s.Record)
	}
	return proxied(own, proxy.Address, s.Record)
}

// certificateVariables name the certificates that programs trust: of OpenSSL and Python, requests, curl, Node, git, and
// the libraries of AWS.
var certificateVariables = []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
	"GIT_SSL_CAINFO", "AWS_CA_BUNDLE"}

// proxied adds the variables that lead a program to a proxy, and let it trust one that records.
func proxied(own []string, at netip.AddrPort, a *proxy.Authority) []string {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		value := "http://" + at.String()
		own = with(with(own, name, value), strings.ToLower(name), value)
	}
	own = with(with(own, "NO_PROXY", nearby), "no_proxy", nearby)
	if a == nil {
		return own
	}
	for _, name := range certificateVariables {
		own = with(own, name, a.Roots)
	}
	return with(own, "NODE_USE_ENV_PROXY", "1") // Node's fetch heeds no proxy without it
}

// nearby are the hosts that no proxy leads to: the box itself.
const nearby = "localhost,127.0.0.1,::1"

// with sets a variable in an environment. Of two of one name some programs take the first, others the last.
func with(environ []string, name, value string) []string {
	environ = slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		return strings.HasPrefix(pair, name+"=")
	})
	return append(environ, name+"="+value)
}
