package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// world is a proxy among hosts that are all served by one server on this machine.
type world struct {
	*Proxy
	at string // where the proxy listens
	mu sync.Mutex
	// asked are the requests that were reported, reached the addresses that were dialled.
	asked   []Request
	reached []string
}

func newWorld(t *testing.T, hosts []string, names map[string]string, server string) *world {
	t.Helper()
	return newWorldOf(t, hosts, names, server, nil)
}

// newWorldOf is newWorld with a proxy that records, where it has an authority.
func newWorldOf(t *testing.T, hosts []string, names map[string]string, server string, a *Authority) *world {
	t.Helper()
	w := &world{}
	w.Proxy = New(hosts, func(r Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.asked = append(w.asked, r)
	})
	w.lookup = func(_ context.Context, name string) ([]netip.Addr, error) {
		if at, ok := names[name]; ok {
			return []netip.Addr{netip.MustParseAddr(at)}, nil
		}
		return nil, errors.New("no such name")
	}
	w.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		w.mu.Lock()
		w.reached = append(w.reached, address)
		w.mu.Unlock()
		return (&net.Dialer{}).DialContext(ctx, network, server)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.at = l.Addr().String()
	w.Record(a)
	go w.Serve(l, false)
	t.Cleanup(w.Close)
	return w
}

func (w *world) get(address string) string {
	proxied := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: w.at})}
	defer proxied.CloseIdleConnections()
	reply, err := (&http.Client{Transport: proxied}).Get(address)
	if err != nil {
		return err.Error()
	}
	defer reply.Body.Close()
	text, _ := io.ReadAll(reply.Body)
	return fmt.Sprintf("%d %s", reply.StatusCode, strings.TrimSpace(string(text)))
}

func TestPlainRequests(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Host, r.URL.Path, r.Header.Get("Proxy-Connection"))
	}))
	defer server.Close()
	names := map[string]string{"pypi.org": "151.101.0.1", "files.pypi.org": "151.101.0.2", "evil.org": "127.0.0.1",
		"metadata.org": "169.254.169.254", "inner.org": "10.0.0.5", "nat.org": "64:ff9b::7f00:1",
		"other.org": "8.8.8.8"}
	w := newWorld(t,
		[]string{"pypi.org", "*.pypi.org:80", "evil.org", "metadata.org", "inner.org", "nat.org", "10.0.0.7:8080",
			"gone.org"}, names, server.Listener.Addr().String())
	for _, test := range []struct{ address, want string }{
		{"http://pypi.org/a", "200 pypi.org/a"},
		{"http://PyPI.org./a", "200 PyPI.org./a"},
		{"http://files.pypi.org/b", "200 files.pypi.org/b"},
		{"http://files.pypi.org:81/b", "403 files.pypi.org:81 is not allowed: the policy does not name it"},
		{"http://notpypi.org/", "403 notpypi.org:80 is not allowed: the policy does not name it"},
		{"http://pypi.org.evil.net/", "403 pypi.org.evil.net:80 is not allowed: the policy does not name it"},
		{"http://other.org/", "403 other.org:80 is not allowed: the policy does not name it"},
		{"http://8.8.8.8/", "403 8.8.8.8:80 is not allowed: the policy does not name it"},
		{"http://127.0.0.1/", "403 127.0.0.1:80 is not allowed: the policy does not name it"},
		{"http://[::ffff:127.0.0.1]/", "403 [::ffff:127.0.0.1]:80 is not allowed: the policy does not name it"},
		{"http://10.0.0.7:8080/", "200 10.0.0.7:8080/"},
		{"http://10.0.0.7:8081/", "403 10.0.0.7:8081 is not allowed: the policy does not name it"},
		{"http://evil.org/",
			"403 evil.org:80 is not allowed: it leads to 127.0.0.1, which is not public; " +
				"the policy may name the address itself"},
		{"http://metadata.org/",
			"403 metadata.org:80 is not allowed: it leads to 169.254.169.254, which is not public; " +
				"the policy may name the address itself"},
		{"http://inner.org/",
			"403 inner.org:80 is not allowed: it leads to 10.0.0.5, which is not public; " +
				"the policy may name the address itself"},
		{"http://nat.org/",
			"403 nat.org:80 is not allowed: it leads to 64:ff9b::7f00:1, which is not public; " +
				"the policy may name the address itself"},
		{"http://gone.org/", "502 gone.org was not found: no such name"},
	} {
		if got := w.get(test.address); got != test.want {
			t.Errorf("get(%s) = %q, want %q", test.address, got, test.want)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if want := []string{"151.101.0.1:80", "151.101.0.2:80", "10.0.0.7:8080"}; !slices.Equal(compact(w.reached), want) {
		t.Errorf("reached %v, want %v", w.reached, want)
	}
	if len(w.asked) < 17 || w.asked[0] != (Request{Host: "pypi.org:80", Allowed: true}) {
		t.Errorf("%d requests were reported: %v", len(w.asked), w.asked)
	}
}

// compact leaves each address once.
func compact(all []string) (once []string) {
	for _, a := range all {
		if !slices.Contains(once, a) {
			once = append(once, a)
		}
	}
	return once
}

func TestConnect(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Host)
	}))
	defer server.Close()
	w := newWorld(t, []string{"example.com"}, map[string]string{"example.com": "93.184.216.34"},
		server.Listener.Addr().String())
	client := server.Client()
	client.Transport.(*http.Transport).Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: w.at})
	reply, err := client.Get("https://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if text, _ := io.ReadAll(reply.Body); string(text) != "example.com" {
		t.Errorf("got %q", text)
	}
	if _, err := client.Get("https://example.net/"); err == nil || !strings.Contains(err.Error(), "Forbidden") {
		t.Errorf("a host that is not allowed: %v", err)
	}
}

// TestOneConnectionTwoHosts asks for two hosts on one connection: each is decided about.
func TestOneConnectionTwoHosts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") }))
	defer server.Close()
	w := newWorld(t, []string{"good.org"}, map[string]string{"good.org": "8.8.8.8", "bad.org": "8.8.4.4"},
		server.Listener.Addr().String())
	c, err := net.Dial("tcp", w.at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := bufio.NewReader(c)
	for _, test := range []struct {
		target, host string
		want         int
	}{
		{"http://good.org/", "good.org", 200},
		{"http://good.org/", "bad.org", 200}, // the target counts, and the request names no other host to the server
		{"http://bad.org/", "good.org", 403},
	} {
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", test.target, test.host)
		reply, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, reply.Body)
		if reply.StatusCode != test.want {
			t.Errorf("%s with Host %s gave %d, want %d", test.target, test.host, reply.StatusCode, test.want)
		}
	}
}

// TestAdmission connects without being admitted.
func TestAdmission(t *testing.T) {
	p := New(nil, func(Request) {})
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go p.Serve(l, true)
	stranger, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	known, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer known.Close()
	p.Admit(known.LocalAddr().(*net.TCPAddr).AddrPort())
	fmt.Fprint(known, "GET http://x.org/ HTTP/1.1\r\nHost: x.org\r\n\r\n")
	reply, err := http.ReadResponse(bufio.NewReader(known), nil)
	if err != nil || reply.StatusCode != http.StatusForbidden {
		t.Errorf("the one that is admitted: %v, %v", reply, err)
	}
	fmt.Fprint(stranger, "GET http://x.org/ HTTP/1.1\r\nHost: x.org\r\n\r\n")
	p.Close()
	if n, err := stranger.Read(make([]byte, 1)); n > 0 {
		t.Errorf("the one that is not: read %d, %v", n, err)
	}
}
