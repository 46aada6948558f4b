package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/xstate-engine/xstate/internal/xstatetest"
)

// TestNetwork runs testdata/network: scripts whose programs send requests to a server that counts them. The server has
// an address of this machine that no variable excepts from proxies. Scripts find it as $WEB, and its certificate as
// $SSL_CERT_FILE. "asked N METHOD PATH" says how often it was asked.
func TestNetwork(t *testing.T) {
	files, err := filepath.Glob("testdata/network/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in testdata/network: %v", err)
	}
	l, err := net.Listen("tcp4", "127.0.0.9:0")
	if err != nil {
		t.Skip("this system has one address of its own:", err)
	}
	l.Close()
	python := xstatetest.Pythons()[0]
	withoutClients := exec.Command(python, "-c", "import requests, httpx, openai").Run()
	for _, file := range files {
		if strings.HasSuffix(file, "_clients.txt") && withoutClients != nil {
			t.Logf("%s is left out: %s lacks requests, httpx or openai", file, python)
			continue
		}
		runScripts(t, []string{file}, func(e *testscript.Env) error {
			w := &webServer{asked: map[string]int{}}
			address, certificate, err := w.serve(t)
			if err != nil {
				return err
			}
			e.Values[webKey{}] = w
			home, trusted := filepath.Join(e.WorkDir, ".home"), filepath.Join(e.WorkDir, ".keys", "server.pem")
			// Each run is a new process, which has nothing of what was answered before but the record.
			for name, value := range map[string]string{"WEB": "https://" + address, "HOST": address, "HOME": home,
				"XSTATE_WARM": "0", "XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": "",
				"SSL_CERT_FILE": trusted, "XSTATE_PYTHON": python} {
				e.Setenv(name, value)
			}
			if err := os.Mkdir(home, 0o700); err != nil {
				return err
			}
			return os.WriteFile(trusted, certificate, 0o600)
		})
	}
}

// webServer counts requests.
type webServer struct {
	mu    sync.Mutex
	asked map[string]int
}

// webKey is where a script finds its server.
type webKey struct{}

// serve starts the server, and returns its address and its certificate.
func (w *webServer) serve(t *testing.T) (address string, certificate []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 9)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return "", nil, err
	}
	server := httptest.NewUnstartedServer(w)
	server.Listener.Close()
	if server.Listener, err = net.Listen("tcp4", "127.0.0.9:0"); err != nil {
		return "", nil, err
	}
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// ServeHTTP answers with the number of equal requests so far. Some paths are those of a model.
func (w *webServer) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	name := r.Method + " " + r.URL.Path
	w.asked[name]++
	n := w.asked[name]
	w.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	switch {
	case r.URL.Path == "/v1/chat/completions" && strings.Contains(string(body), `"stream":true`):
		to.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(to, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m",`+
				`"choices":[{"index":0,"delta":{"content":"part %d of answer %d;"}}]}`+"\n\n", i, n)
			to.(http.Flusher).Flush()
		}
		fmt.Fprint(to, "data: [DONE]\n\n")
	case r.URL.Path == "/v1/chat/completions":
		to.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(to, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,`+
			`"finish_reason":"stop","message":{"role":"assistant","content":"answer %d"}}],`+
			`"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}}`, n)
	case r.URL.Path == "/down" && n == 1:
		to.WriteHeader(http.StatusInternalServerError)
	default:
		fmt.Fprintf(to, "%s for the %d. time", name, n)
	}
}

func init() {
	scriptVerbs["asked"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 3 {
			ts.Fatalf("usage: asked N METHOD PATH")
		}
		want, err := strconv.Atoi(args[0])
		ts.Check(err)
		w := ts.Value(webKey{}).(*webServer)
		w.mu.Lock()
		defer w.mu.Unlock()
		if got := w.asked[args[1]+" "+args[2]]; got != want {
			ts.Fatalf("the server was asked %d times for %s %s, want %d; all: %v", got, args[1], args[2], want, w.asked)
		}
	}
}
