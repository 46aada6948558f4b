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
	s.listening.Lock()
	defer s.listening.Unlock()
	s.answers = http.MaxBytesHandler(s.recovering(s.counted(s.Handler)), longestBody)
	s.places = make(chan struct{}, mostConnections)
	go s.httpServer(s.answers).Serve(&bounded{s.local, s.places})
	if s.tcp != nil {
		s.serveTCP()
	}
}

// serveTCP begins to answer on this machine. It does nothing before Serve, which does it.
func (s *Server) serveTCP() {
	if s.answers == nil {
		return
	}
	pages := http.NotFoundHandler()
	if s.Page != nil {
		pages = http.MaxBytesHandler(s.recovering(s.counted(s.Page.Handler())), longestBody)
	}
	go s.httpServer(s.guarded(s.answers, pages)).Serve(&bounded{s.tcp, s.places})
}

// ListenHTTP returns the address at which the server answers HTTP on this machine. If there is none yet, it begins to
// listen at one.
func (s *Server) ListenHTTP() (string, error) {
	s.listening.Lock()
	defer s.listening.Unlock()
	if s.tcp == nil {
		s.o.Listen = "127.0.0.1:0"
		if err := s.listenTCP(); err != nil {
			return "", noServer(s.dir, err)
		}
		s.serveTCP()
		if err := writeInfo(s.dir, s.info); err != nil {
			return "", noServer(s.dir, err)
		}
	}
	return s.info.HTTP, nil
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
		if r.URL.Path == EventsPath { // of a page that is open, perhaps for days
			defer s.following()()
		}
		next.ServeHTTP(w, r)
	})
}
