package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A run is a span of the trace that its caller names.
func TestTelemetry(t *testing.T) {
	var mu sync.Mutex
	var spans []string
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		data, _ := io.ReadAll(r.Body)
		var m collectortrace.ExportTraceServiceRequest
		if r.URL.Path == "/v1/traces" && proto.Unmarshal(data, &m) == nil {
			for _, s := range m.ResourceSpans[0].ScopeSpans[0].Spans {
				spans = append(spans, s.Name)
				if s.Name == "xstate run" && string(s.ParentSpanId) != "\x00\xf0\x67\xaa\x0b\xa9\x02\xb7" {
					t.Errorf("the run's span is a child of %x, want the caller's", s.ParentSpanId)
				}
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	t.Chdir(t.TempDir())
	if err := os.WriteFile("p.py", []byte("# %%\na = 1\n# %%\nprint(a)\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	if code := run([]string{"run", "p.py", "--no-server"}, strings.NewReader(""), &out, &errOut); code != 0 {
		t.Fatalf("run = %d: %s", code, errOut.String())
	}
	if got := strings.Join(spans, ", "); got != "xstate node, xstate node, xstate run" {
		t.Errorf("spans = %s, want one of each node and one of the run; %s", got, errOut.String())
	}
}
