package rpc

import (
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"
)

// Guard admits requests of TCP. Whoever can send one can execute code, and every page in a browser can send requests to
// this machine. So each must
//
//   - name this machine as its host, or a page could reach the server under its own name (DNS rebinding),
//   - not come from another origin, as browsers tell,
//   - carry the token, as Authorization: Bearer TOKEN.
//
// The E2B client in its debug mode cannot send a token of ours. With openE2B its routes ask for none: then every user
// and program of this machine can execute code. Pages still cannot: these routes take JSON only, and a browser does not
// send JSON to another origin unasked.
func Guard(next http.Handler, token string, openE2B bool) http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, status := (*failure)(nil), http.StatusForbidden
		switch {
		case !isLocal(r.Host):
			f = fail(codeForbidden, "use http://127.0.0.1:PORT", "the request is for the host %.80q", r.Host)
		case origins.Check(r) != nil:
			f = fail(codeForbidden, "pages of other sites cannot use this server", "the request comes from another origin")
		case !(openE2B && isE2B(r.URL.Path)) && !admits(token, r.Header.Get("Authorization")):
			f = fail(codeForbidden, "send the header Authorization: Bearer TOKEN; the file token in the store has it",
				"the token is missing or wrong")
			status = http.StatusUnauthorized
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		if f != nil {
			f.write(w, status)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLocal reports whether a host is a name of this machine's loopback interface.
func isLocal(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return slices.Contains([]string{"localhost", "127.0.0.1", "::1", "[::1]"}, host)
}

// admits compares in constant time.
func admits(token, header string) bool {
	given, ok := strings.CutPrefix(header, "Bearer ")
	return ok && token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(token)) == 1
}
