package serve

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestGuard: who may send requests over TCP.
func TestGuard(t *testing.T) {
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	bearer := func(token string) map[string]string { return map[string]string{"Authorization": token} }
	type header = map[string]string
	for name, test := range map[string]struct {
		host   string
		header map[string]string
		want   int
	}{
		"token":            {header: bearer("Bearer secret"), want: 204},
		"in a URL":         {header: bearer("Basic eHN0YXRlOnNlY3JldA=="), want: 204},
		"no token":         {want: 401},
		"wrong token":      {header: bearer("Bearer secres"), want: 401},
		"wrong in a URL":   {header: bearer("Basic eHN0YXRlOnNlY3Jlcw=="), want: 401},
		"no scheme":        {header: bearer("secret"), want: 401},
		"of a sandbox":     {header: header{"X-Access-Token": "secret"}, want: 204},
		"of its traffic":   {header: header{"E2B-Traffic-Access-Token": "secret"}, want: 204},
		"of the API":       {header: header{"X-API-Key": "secret"}, want: 204},
		"wrong of E2B":     {header: header{"X-Access-Token": "secre", "X-API-Key": "Bearer secret"}, want: 401},
		"page":             {header: header{"X-API-Key": "secret", "Sec-Fetch-Site": "cross-site"}, want: 403},
		"origin":           {header: header{"X-API-Key": "secret", "Origin": "http://a.b"}, want: 403},
		"rebound name":     {header: bearer("Bearer secret"), host: "evil.example:49999", want: 403},
		"another port":     {header: bearer("Bearer secret"), host: "localhost:80", want: 403},
		"localhost":        {header: bearer("Bearer secret"), host: "localhost:49999", want: 204},
		"IPv6":             {header: bearer("Bearer secret"), host: "[::1]:49999", want: 204},
		"host beats token": {host: "evil.example", header: bearer("Bearer secret"), want: 403},
	} {
		r := httptest.NewRequest("POST", "/execute", nil)
		r.Host = "127.0.0.1:49999"
		if test.host != "" {
			r.Host = test.host
		}
		for k, v := range test.header {
			r.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		guard(next, http.NotFoundHandler(), "49999", "secret").ServeHTTP(w, r)
		if w.Code != test.want {
			t.Errorf("%s: status %d, want %d", name, w.Code, test.want)
		}
		if w.Code >= 400 && !bytes.Contains(w.Body.Bytes(), []byte(`"code":"forbidden"`)) {
			t.Errorf("%s: body %q, want a failure", name, w.Body)
		}
	}
	w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil)
	r.Host = "localhost:1"
	r.Header.Set("Authorization", "Bearer ")
	if guard(next, http.NotFoundHandler(), "1", "").ServeHTTP(w, r); w.Code != 401 {
		t.Errorf("an empty token has status %d, want 401", w.Code)
	}
}
