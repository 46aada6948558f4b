package serve

import (
	"crypto/subtle"
	"encoding/json"
	"net"
	"net/http"
	"strings"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/state"
)

// codeForbidden is for requests over TCP that are not admitted.
const codeForbidden state.Code = "forbidden"

// guarded admits requests of TCP. Whoever can send one can execute code, and a page in a browser can send requests to
// this machine. So each must
//
//   - name this machine as its host, or a page could reach the server under its own name (DNS rebinding),
//   - not come from another origin, as browsers tell,
//   - show the token.
//
// What is open asks for no token. Then every program of this machine can send such requests, whoever runs it. Pages
// still cannot: the handler takes JSON only, and a browser does not send JSON to another origin unasked.
func (s *Server) guarded(next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(s.tcp.Addr().String())
	return guard(next, port, s.token, s.Open)
}

func guard(next http.Handler, port, token string, open func(*http.Request) bool) http.Handler {
	hosts := map[string]bool{"127.0.0.1:" + port: true, "localhost:" + port: true, "[::1]:" + port: true}
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !hosts[r.Host]:
			refuseHTTP(w, http.StatusForbidden, codeForbidden, "The request is for another host.",
				"use http://127.0.0.1:"+port)
		case origins.Check(r) != nil:
			refuseHTTP(w, http.StatusForbidden, codeForbidden, "The request comes from a page of another origin.",
				"pages of other sites cannot use this server")
		case (open == nil || !open(r)) && !shows(r, token):
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuseHTTP(w, http.StatusUnauthorized, codeForbidden, "The token is missing or wrong.",
				"send Authorization: Bearer TOKEN; the token is in "+tokenFile+" of the store")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// shows reports whether a request shows the token: as a bearer, or as the password of a URL, for clients that can be
// given nothing but a URL.
func shows(r *http.Request, token string) bool {
	shown, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		_, shown, ok = r.BasicAuth()
	}
	return ok && token != "" && subtle.ConstantTimeCompare([]byte(shown), []byte(token)) == 1
}

// refuseHTTP answers with a failure.
func refuseHTTP(w http.ResponseWriter, status int, code state.Code, message, hint string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	d := api.Failure{Version: api.Version, Error: api.Error{Code: code, Message: message, Hint: hint}}
	_ = json.NewEncoder(w).Encode(d) // the client is gone
}
