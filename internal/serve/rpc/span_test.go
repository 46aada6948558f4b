package rpc

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/internal/api"
)

// A call belongs to the span that its request names, unless the request has one of its own.
func TestSpanOfRequest(t *testing.T) {
	const span = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	d := &fake{do: answers(api.Why{})}
	s := &Service{Operations: d, Store: "/store", Folder: "/work", Environ: []string{"A=1"}}
	for body, want := range map[string][]string{
		`{"file":"p.py"}`: {"A=1", "TRACEPARENT=" + span, "TRACESTATE=a=b"},
		`{"file":"p.py","environ":{"TRACEPARENT":"x"}}`: {"A=1", "TRACEPARENT=" + span, "TRACESTATE=a=b",
			"TRACEPARENT=x", "XSTATE_PASS=TRACEPARENT"},
	} {
		r := httptest.NewRequest(http.MethodPost, "/xstate.v1.RunService/Run", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("traceparent", span)
		r.Header.Set("tracestate", "a=b")
		s.Handler().ServeHTTP(httptest.NewRecorder(), r)
		if got := d.calls[len(d.calls)-1].Environ; !slices.Equal(got, want) {
			t.Errorf("the environment of the call %s is %q, want %q", body, got, want)
		}
	}
}
