package telemetry

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
)

const (
	callerTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callerSpan  = "00f067aa0ba902b7"
	traceparent = "00-" + callerTrace + "-" + callerSpan + "-01"
)

func getenv(variables map[string]string) func(string) string {
	return func(name string) string { return variables[name] }
}

func TestOffUnlessAsked(t *testing.T) {
	const endpoint = "http://127.0.0.1:4318"
	for _, c := range []struct {
		environ         map[string]string
		traces, metrics bool
	}{
		{environ: nil},
		{environ: map[string]string{"OTEL_SERVICE_NAME": "mine"}},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, true, true},
		{map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": endpoint}, true, false},
		{map[string]string{"OTEL_METRICS_EXPORTER": "otlp"}, false, true},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_TRACES_EXPORTER": "none"}, false, true},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_SDK_DISABLED": "true"}, false, false},
	} {
		tel := New(getenv(c.environ), "1")
		if got := tel != nil && tel.traces; got != c.traces {
			t.Errorf("with %v traces are exported: %v, want %v", c.environ, got, c.traces)
		}
		if got := tel != nil && tel.metrics; got != c.metrics {
			t.Errorf("with %v metrics are exported: %v, want %v", c.environ, got, c.metrics)
		}
	}
	if err := (*Telemetry)(nil).Close(); err != nil {
		t.Error(err)
	}
}

// in makes a telemetry whose exports stay in memory.
func in(t *testing.T, content bool) (*Telemetry, *tracetest.InMemoryExporter, *metric.ManualReader) {
	t.Helper()
	tel := &Telemetry{traces: true, metrics: true, content: content}
	spans, reader := tracetest.NewInMemoryExporter(), metric.NewManualReader()
	tel.start.Do(func() {
		tel.exportSpans(sdktrace.WithSyncer(spans))
		tel.exportMetrics(metric.WithReader(reader))
	})
	return tel, spans, reader
}

// program is what happens in a run: a node calls a tool within a step, then a model, and is served a call.
func program(t *testing.T, tel *Telemetry) {
	t.Helper()
	store, err := state.Open(t.Context(), filepath.Join(t.TempDir(), ".xstate"), state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ctx, r := tel.Begin(t.Context(), RunInfo{ID: "r1", Verb: "run", Session: "s",
		Origin: state.Origin{TraceParent: traceparent, Agent: "ann"}, Read: store.Read})
	j := journal.New(store, journal.Options{Sources: []journal.Source{&tools{t: t}}, Lineage: 1})
	call := func(parent state.CallID, kind journal.Kind, tool, args string) error {
		c, err := j.Prepare(ctx, journal.Request{Kind: kind, Tool: tool, Args: json.RawMessage(args), Parent: parent,
			Caller: state.Caller{Session: "s", Block: "b"}}, func(string) state.Digest { return "" })
		if err != nil {
			t.Fatal(err)
		}
		if kind == journal.KindStep {
			c.Run = func(ctx context.Context, rec *state.Call) (journal.Answer, error) {
				in, err := j.Prepare(ctx, journal.Request{Kind: journal.KindTool, Tool: "search", Parent: rec.ID,
					Args: json.RawMessage(`{"query":"x"}`)}, func(string) state.Digest { return "" })
				if err != nil {
					return journal.Answer{}, err
				}
				_, err = j.Do(ctx, in)
				return journal.Answer{Result: json.RawMessage("1")}, err
			}
		}
		_, err = j.Do(ctx, c)
		return err
	}
	r.Event(runner.Event{Kind: "begin", Block: "b"})
	for _, made := range []error{call(0, journal.KindStep, "gather", `{}`),
		call(0, journal.KindModel, "default", `{"messages":[{"role":"user","content":"hi"}]}`),
		call(0, journal.KindModel, "default", `{"messages":[{"role":"user","content":"hi"}]}`)} {
		if made != nil {
			t.Fatal(made)
		}
	}
	if err := call(0, journal.KindTool, "broken", `{}`); err == nil {
		t.Fatal("the broken tool answered")
	}
	r.Event(runner.Event{Kind: "end", Block: "b", Status: state.StatusFailed})
	o := &runner.Outcome{Engine: 0.5, Saved: 1.5, Blocks: []runner.BlockOutcome{{Nodes: []runner.NodeOutcome{
		{NodeResult: state.NodeResult{Status: state.StatusFailed}},
		{NodeResult: state.NodeResult{Status: state.StatusReused}}}}}}
	r.End(o, 7, nil)
	tel.Waited(t.Context(), 2*time.Second)
}

// tools are a tool, a model and one that fails.
type tools struct {
	t       *testing.T
	mu      sync.Mutex
	parents []string
}

func (s *tools) Name() string { return "tools" }
func (s *tools) Close() error { return nil }
func (s *tools) Tools(context.Context) ([]journal.Tool, error) {
	return []journal.Tool{{Name: "search", Class: journal.Read},
		{Name: "default", Kind: journal.KindModel, Class: journal.Pure,
			Version: journal.ModelVersion("openai", "http://localhost/v1", "small")},
		{Name: "broken", Class: journal.Pure}}, nil
}

func (s *tools) Call(_ context.Context, a journal.Attempt) (journal.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := a.Headers["traceparent"]
	if len(got) != len(traceparent) || got[3:35] != callerTrace || got[36:52] == callerSpan {
		s.t.Errorf("the attempt is handed the traceparent %q, want one of the trace %s", got, callerTrace)
	}
	s.parents = append(s.parents, a.Headers["traceparent"])
	if a.Tool.Name == "broken" {
		return journal.Answer{}, errors.New("it broke")
	}
	return journal.Answer{Result: json.RawMessage(`"found"`),
		Usage: state.Usage{InputTokens: 10, OutputTokens: 3, MicroUSD: 250}}, nil
}

func attributes(s tracetest.SpanStub) map[attribute.Key]any {
	all := map[attribute.Key]any{}
	for _, a := range s.Attributes {
		all[a.Key] = a.Value.AsInterface()
	}
	return all
}

func TestSpans(t *testing.T) {
	tel, exported, _ := in(t, true)
	program(t, tel)
	spans := exported.GetSpans()
	names := map[trace.SpanID]string{}
	for _, s := range spans {
		names[s.SpanContext.SpanID()] = s.Name
	}
	var tree []string
	for _, s := range spans {
		if got := s.SpanContext.TraceID().String(); got != callerTrace {
			t.Errorf("span %q is of trace %s, want that of the caller, %s", s.Name, got, callerTrace)
		}
		tree = append(tree, names[s.Parent.SpanID()]+" > "+s.Name)
	}
	want := []string{"xstate step gather > execute_tool search", "xstate node > xstate step gather",
		"xstate node > chat small", "xstate node > chat small", "xstate node > execute_tool broken",
		"xstate run > xstate node", " > xstate run"}
	if d := cmp.Diff(want, tree); d != "" {
		t.Fatalf("spans, as they end (-want +got):\n%s", d)
	}
	search, chat, served, broken, run := attributes(spans[0]), attributes(spans[2]), attributes(spans[3]),
		attributes(spans[4]), attributes(spans[6])
	for name, c := range map[string]struct{ got, want any }{
		"operation of a tool":  {search["gen_ai.operation.name"], "execute_tool"},
		"tool":                 {search["gen_ai.tool.name"], "search"},
		"arguments":            {search["gen_ai.tool.call.arguments"], `{"query":"x"}`},
		"result":               {search["gen_ai.tool.call.result"], `"found"`},
		"depth":                {search["xstate.call.depth"], int64(1)},
		"operation of a model": {chat["gen_ai.operation.name"], "chat"},
		"model":                {chat["gen_ai.request.model"], "small"},
		"provider":             {chat["gen_ai.provider.name"], "openai"},
		"input tokens":         {chat["gen_ai.usage.input_tokens"], int64(10)},
		"output tokens":        {chat["gen_ai.usage.output_tokens"], int64(3)},
		"input": {chat["gen_ai.input.messages"],
			`[{"role":"user","parts":[{"type":"text","content":"hi"}]}]`},
		"served":        {served["xstate.call.served"], true},
		"served tokens": {served["gen_ai.usage.input_tokens"], nil},
		"served cost":   {served["xstate.call.cost_usd"], nil},
		"saved":         {served["xstate.call.saved_usd"], 0.00025},
		"error":         {broken["error.type"], "tool-lost"},
		"agent":         {run["gen_ai.agent.name"], "ann"},
		"step":          {run["xstate.step"], int64(7)},
		"nodes reused":  {run["xstate.nodes.reused"], int64(1)},
		"status":        {spans[6].Status.Code, codes.Error},
		"caller's span": {spans[6].Parent.SpanID().String(), callerSpan},
	} {
		if c.got != c.want {
			t.Errorf("%s = %v, want %v", name, c.got, c.want)
		}
	}
	tel, exported, _ = in(t, false)
	program(t, tel)
	for _, s := range exported.GetSpans() {
		for k := range attributes(s) {
			if k == "gen_ai.tool.call.arguments" || k == "gen_ai.tool.call.result" || k == "gen_ai.input.messages" {
				t.Errorf("span %q has %s, though nobody asked for contents", s.Name, k)
			}
		}
	}
}

func TestMetrics(t *testing.T) {
	tel, _, reader := in(t, false)
	program(t, tel)
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		switch d := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range d.DataPoints {
				got[m.Name] += float64(p.Value)
			}
		case metricdata.Sum[float64]:
			for _, p := range d.DataPoints {
				got[m.Name] += p.Value
			}
		case metricdata.Histogram[int64]:
			for _, p := range d.DataPoints {
				got[m.Name] += float64(p.Sum)
			}
		case metricdata.Histogram[float64]:
			for _, p := range d.DataPoints {
				got[m.Name] += float64(p.Count)
			}
		}
	}
	want := map[string]float64{"xstate.nodes": 2, "xstate.saved.time": 1.5, "xstate.engine.time": 0.5,
		"xstate.calls": 5, "xstate.cost": 0.0005,
		"xstate.saved.cost": 0.00025, "gen_ai.client.token.usage": 26, "xstate.server.queue.time": 1,
		"gen_ai.client.operation.duration": 4}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("metrics (-want +got):\n%s", d)
	}
}

// A block that failed in an earlier run, and does not run, is no failure of this one.
func TestFailedBefore(t *testing.T) {
	tel, exported, _ := in(t, false)
	_, r := tel.Begin(t.Context(), RunInfo{Verb: "exec"})
	r.End(&runner.Outcome{Blocks: []runner.BlockOutcome{{Nodes: []runner.NodeOutcome{
		{NodeResult: state.NodeResult{Status: state.StatusFailed}}}}}}, 3, nil)
	spans := exported.GetSpans()
	if len(spans) != 1 || spans[0].Status.Code != codes.Unset {
		t.Errorf("spans = %v, want one without an error", spans)
	}
}

// Where nothing is exported, a call hands on the span that the run was given.
func TestHandsOn(t *testing.T) {
	_, r := (*Telemetry)(nil).Begin(t.Context(), RunInfo{Origin: state.Origin{TraceParent: traceparent}, State: "a=b"})
	r.Event(runner.Event{Kind: "begin"})
	want := map[string]string{"traceparent": traceparent, "tracestate": "a=b"}
	if d := cmp.Diff(want, r.Headers(state.Call{})); d != "" {
		t.Errorf("headers (-want +got):\n%s", d)
	}
	r.End(nil, 0, nil)
}

// receiver is an OTLP receiver over HTTP: it decodes what comes with the messages of the specification.
type receiver struct {
	mu      sync.Mutex
	spans   []string
	service string
	metrics map[string]bool
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body := io.Reader(q.Body)
	if q.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(q.Body)
	}
	data, _ := io.ReadAll(body)
	var answer proto.Message
	switch q.URL.Path {
	case "/v1/traces":
		var m collectortrace.ExportTraceServiceRequest
		if err := proto.Unmarshal(data, &m); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for _, rs := range m.ResourceSpans {
			for _, a := range rs.Resource.Attributes {
				if a.Key == "service.name" {
					r.service = a.Value.GetStringValue()
				}
			}
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					r.spans = append(r.spans, s.Name)
				}
			}
		}
		answer = &collectortrace.ExportTraceServiceResponse{}
	case "/v1/metrics":
		var m collectormetrics.ExportMetricsServiceRequest
		if err := proto.Unmarshal(data, &m); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for _, x := range m.ResourceMetrics[0].ScopeMetrics[0].Metrics {
			r.metrics[x.Name] = true
		}
		answer = &collectormetrics.ExportMetricsServiceResponse{}
	}
	out, _ := proto.Marshal(answer)
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.Write(out)
}

func TestExport(t *testing.T) {
	r := &receiver{metrics: map[string]bool{}}
	server := httptest.NewServer(r)
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	tel := New(getenv(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL}), "1")
	program(t, tel)
	if err := tel.Close(); err != nil {
		t.Fatal(err)
	}
	if r.service != "xstate" || len(r.spans) != 7 || !r.metrics["xstate.nodes"] || len(r.metrics) != 9 {
		t.Errorf("the receiver got service %q, spans %q, metrics %v", r.service, r.spans, r.metrics)
	}
}

// A collector that is not there costs a remark, and no more.
func TestNobodyListens(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	tel := New(getenv(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL}), "1")
	program(t, tel)
	if err := tel.Close(); err == nil {
		t.Error("nothing says that nothing was exported")
	}
}
