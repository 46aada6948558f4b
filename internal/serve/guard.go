package serve

import (
	"crypto/subtle"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/state"
)

// guarded admits requests of TCP. A request can execute code, and a page in a browser can send requests to this
// machine. So each must
//
//   - name this machine as its host, or a page could reach the server under its own name (DNS rebinding),
//   - not come from another origin, as browsers report,
//   - show the token.
//
// Pages do with a cookie of their own in the place of the token.
func (s *Server) guarded(next, pages http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(s.tcp.Addr().String())
	return guard(next, pages, port, s.token)
}

// PagePath is where the paths of pages begin.
const PagePath = "/ui/"

// EventsPath is the path at which a page follows what happens.
const EventsPath = PagePath + "events"

func guard(next, pages http.Handler, port, token string) http.Handler {
	hosts := map[string]bool{"127.0.0.1:" + port: true, "localhost:" + port: true, "[::1]:" + port: true}
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !hosts[r.Host]:
			refuseHTTP(w, http.StatusForbidden, api.CodeForbidden, "The request is for another host.",
				"use http://127.0.0.1:"+port)
		case origins.Check(r) != nil:
			refuseHTTP(w, http.StatusForbidden, api.CodeForbidden, "The request comes from a page of another origin.",
				"pages of other sites cannot use this server")
		case strings.HasPrefix(r.URL.Path, PagePath):
			pages.ServeHTTP(w, r)
		case !shows(r, token):
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuseHTTP(w, http.StatusUnauthorized, api.CodeForbidden, "The token is missing or wrong.",
				"send Authorization: Bearer TOKEN; the token is in "+tokenFile+" of the store")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// tokenHeaders are the headers in which E2B's clients send a token: a sandbox's, its traffic's, and the API key.
var tokenHeaders = []string{"X-Access-Token", "E2B-Traffic-Access-Token", "X-API-Key"}

// shows reports whether a request shows the token: as a bearer, or as the password of a URL, for clients that can be
// given nothing but a URL, or as E2B's clients do.
func shows(r *http.Request, token string) bool {
	var shown []string
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		shown = append(shown, bearer)
	}
	if _, password, ok := r.BasicAuth(); ok {
		shown = append(shown, password)
	}
	for _, name := range tokenHeaders {
		shown = append(shown, r.Header.Get(name))
	}
	return token != "" && slices.ContainsFunc(shown, func(s string) bool {
		return subtle.ConstantTimeCompare([]byte(s), []byte(token)) == 1
	})
}

// refuseHTTP answers with a failure.
func refuseHTTP(w http.ResponseWriter, status int, code state.Code, message, hint string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	d := api.Failure{Version: api.Version, Error: api.Error{Code: code, Message: message, Hint: hint}}
	_ = json.NewEncoder(w).Encode(d) // the client is gone
}
