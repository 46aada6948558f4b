package serve

import (
	"context"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	longestBody   = 64 << 20
	longestHeader = 64 << 10
)

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
			http.Error(w, "the server has too much to do", http.StatusServiceUnavailable)
			return
		}
		defer s.end()
		next.ServeHTTP(w, r)
	})
}

// guarded lets requests over TCP through that show the token. No page in a browser can: neither by another origin, nor
// by a name that was made to mean this machine.
func (s *Server) guarded(next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(s.tcp.Addr().String())
	hosts := map[string]bool{"127.0.0.1:" + port: true, "localhost:" + port: true, "[::1]:" + port: true}
	allowed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		switch {
		case !hosts[r.Host]:
			http.Error(w, "the Host of a request must be 127.0.0.1 or localhost, with the port", http.StatusForbidden)
		case !ok || subtle.ConstantTimeCompare([]byte(shown), []byte(s.token)) != 1:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "send Authorization: Bearer TOKEN; the token is in "+tokenFile+" of the store",
				http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
	return http.NewCrossOriginProtection().Handler(allowed)
}
