package rpc

import (
	"net/http"
)

// Handler returns the handler of all routes.
func (s *Service) Handler() http.Handler {
	connect, e2b := s.connect(), s.e2b()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(withHeaders(r.Context(), r.Header))
		if isE2B(r.URL.Path) && s.E2B {
			e2b.ServeHTTP(w, r)
			return
		}
		connect.ServeHTTP(w, r)
	})
}
