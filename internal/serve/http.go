package serve

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/xstate-engine/xstate/state"
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
	handler := http.MaxBytesHandler(s.recovering(s.counted(s.Handler)), longestBody)
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
			refuseHTTP(w, http.StatusServiceUnavailable, state.CodeBusy, "The server has too much to do.",
				"try again later")
			return
		}
		defer s.end()
		defer s.call()()
		next.ServeHTTP(w, r)
	})
}
