package proxy

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func openAuthority(t *testing.T, config, cache string) *Authority {
	t.Helper()
	a, err := OpenAuthority(config, cache, filepath.Join(config, "none.pem"))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestAuthority: the key is the user's alone, stays the same, and is not among what programs read.
func TestAuthority(t *testing.T) {
	config, cache := filepath.Join(t.TempDir(), "config"), filepath.Join(t.TempDir(), "cache")
	a := openAuthority(t, config, cache)
	name := filepath.Join(config, authorityFile)
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the authority: %v, %v, want permissions 600", info.Mode(), err)
	}
	roots, err := os.ReadFile(a.Roots)
	if err != nil || strings.Contains(string(roots), "PRIVATE") || !strings.Contains(string(roots), "CERTIFICATE") {
		t.Errorf("what programs trust has %d bytes, or a key: %v", len(roots), err)
	}
	if again := openAuthority(t, config, cache); !again.cert.Equal(a.cert) || again.Roots != a.Roots {
		t.Error("the second use made another authority")
	}
	if err := os.WriteFile(name, []byte("garbled"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenAuthority(config, cache, ""); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged authority: %v", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(roots)
	for _, host := range []string{"example.com", "10.0.0.1", "2001:db8::1"} {
		c, err := a.certificate(host)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: pool}); err != nil {
			t.Errorf("the certificate for %s: %v", host, err)
		}
		if _, err := c.Leaf.Verify(x509.VerifyOptions{DNSName: "other.org", Roots: pool}); err == nil {
			t.Errorf("the certificate for %s holds for other.org", host)
		}
	}
}

// recordingWorld is a world whose proxy records, and clients that trust it.
func recordingWorld(t *testing.T, server string) (*world, *http.Client) {
	t.Helper()
	a := openAuthority(t, t.TempDir(), t.TempDir())
	w := newWorldOf(t, []string{"example.com"}, map[string]string{"example.com": "93.184.216.34"}, server, a)
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	client := &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: w.at}), TLSClientConfig: &tls.Config{RootCAs: pool},
	}}
	t.Cleanup(client.CloseIdleConnections)
	return w, client
}

// TestRecordedRequests: a handler answers requests within TLS and outside. Where there is none, and for hosts that the
// bounds do not name, they are refused.
func TestRecordedRequests(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "server: %s %s %s", r.Method, r.Host, body)
	}))
	defer server.Close()
	w, client := recordingWorld(t, server.Listener.Addr().String())
	get := func(address string) string {
		reply, err := client.Post(address, "text/plain", strings.NewReader("body"))
		if err != nil {
			return err.Error()
		}
		defer reply.Body.Close()
		text, _ := io.ReadAll(reply.Body)
		return fmt.Sprintf("%d %s", reply.StatusCode, strings.TrimSpace(string(text)))
	}
	if got := get("https://example.com/a"); !strings.HasPrefix(got, "503 no code of the program runs") {
		t.Errorf("without a handler: %s", got)
	}
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	w.transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	w.Handle(func(w http.ResponseWriter, r *http.Request, up Upstream) {
		fmt.Fprintf(w, "%s %s; ", r.Method, r.URL)
		if r.URL.Path != "/up" {
			return
		}
		r.RequestURI = ""
		reply, err := up.RoundTrip(r)
		if err != nil {
			fmt.Fprint(w, err)
			return
		}
		defer reply.Body.Close()
		_, _ = io.Copy(w, reply.Body)
	})
	for address, want := range map[string]string{
		"https://example.com/a?b=c":  "200 POST https://example.com/a?b=c;",
		"https://example.com:8443/a": "200 POST https://example.com:8443/a;",
		"http://example.com/a":       "200 POST http://example.com/a;",
		"https://example.com/up":     "200 POST https://example.com/up; server: POST example.com body",
		"http://other.org/":          "403 other.org:80 is not allowed: the policy does not name it",
	} {
		if got := get(address); got != want {
			t.Errorf("%s = %s, want %s", address, got, want)
		}
	}
	if got := get("https://other.org/"); !strings.Contains(got, "Forbidden") {
		t.Errorf("a host that is not allowed: %s", got)
	}
	w.transport.TLSClientConfig = nil
	w.transport.CloseIdleConnections()
	if got := get("https://example.com/up"); !strings.Contains(got, "certificate") {
		t.Errorf("a server with a certificate that nobody trusts: %s", got)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.asked {
		if r.Allowed && !r.Recorded {
			t.Errorf("a recorded request was reported as one that passed: %v", r)
		}
	}
}

// TestPassedOn: what is no HTTP/1.1 passes untouched, and is reported.
func TestPassedOn(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				line, _ := bufio.NewReader(c).ReadString('\n')
				fmt.Fprintf(c, "echo %s", line)
			}()
		}
	}()
	w, _ := recordingWorld(t, l.Addr().String())
	w.Handle(func(w http.ResponseWriter, r *http.Request, _ Upstream) { t.Errorf("%s was handed on", r.URL) })
	for _, said := range []string{"SSH-2.0-x\n", "\x01\x02\n", "hi\n"} {
		c, err := net.Dial("tcp", w.at)
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(c)
		fmt.Fprintf(c, "CONNECT example.com:22 HTTP/1.1\r\nHost: example.com:22\r\n\r\n")
		if reply, err := http.ReadResponse(in, nil); err != nil || reply.StatusCode != http.StatusOK {
			t.Fatalf("CONNECT: %v, %v", reply, err)
		}
		fmt.Fprint(c, said)
		if got, err := in.ReadString('\n'); got != "echo "+said {
			t.Errorf("%q was answered with %q, %v", said, got, err)
		}
		c.Close()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.asked) != 3 || w.asked[0] != (Request{Host: "example.com:22", Allowed: true}) {
		t.Errorf("reported: %v, want three requests that passed", w.asked)
	}
}

// TestOffered reads the protocols of a first record of TLS.
func TestOffered(t *testing.T) {
	program, proxy := net.Pipe()
	defer program.Close()
	go func() {
		_ = tls.Client(program, &tls.Config{ServerName: "x.org", NextProtos: []string{"h2"}}).Handshake()
	}()
	in := bufio.NewReaderSize(proxy, 32<<10)
	if got := (&Proxy{}).speaks(proxy, in); got != "" {
		t.Errorf("TLS that offers h2 alone speaks %q, want nothing that is recorded", got)
	}
	proxy.Close()
}

// TestWebSocket: an upgrade passes.
func TestWebSocket(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "websocket" {
			t.Errorf("the server got no upgrade: %v", r.Header)
		}
		c, in, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
		line, _ := in.ReadString('\n')
		fmt.Fprintf(c, "echo %s", line)
	}))
	defer server.Close()
	w, _ := recordingWorld(t, server.Listener.Addr().String())
	c, err := net.Dial("tcp", w.at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := bufio.NewReader(c)
	fmt.Fprint(c, "GET http://example.com/ws HTTP/1.1\r\nHost: example.com\r\nConnection: Upgrade\r\n"+
		"Upgrade: websocket\r\n\r\n")
	if reply, err := http.ReadResponse(in, nil); err != nil || reply.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("the upgrade: %v, %v", reply, err)
	}
	fmt.Fprint(c, "frame\n")
	if got, err := in.ReadString('\n'); got != "echo frame\n" {
		t.Errorf("read %q, %v", got, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.asked) != 1 || w.asked[0] != (Request{Host: "example.com:80", Allowed: true}) {
		t.Errorf("reported: %v, want one request that passed", w.asked)
	}
}

// TestAnywhere: only the engine can allow every host.
func TestAnywhere(t *testing.T) {
	all := parseAll([]string{Anywhere})
	if !all.allowsName("x.org", "1") || !all.allowsAddr(netip.MustParseAddr("10.0.0.1"), "2") {
		t.Error("a host is not allowed")
	}
	if (hosts{}).allowsText("x.org") {
		t.Error("a host is allowed where none is")
	}
}
