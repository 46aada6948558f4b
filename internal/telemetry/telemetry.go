package telemetry

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// scope names what makes the spans and metrics.
const scope = "github.com/xstate-engine/xstate"

// endTime bounds how long Close exports.
const endTime = 2 * time.Second

// Telemetry exports spans and metrics of a process. A nil one exports nothing.
type Telemetry struct {
	version string
	traces  bool // these are exported
	metrics bool
	content bool // arguments and results are, too

	start  sync.Once
	tracer trace.Tracer
	meters *meters
	ends   []func(context.Context) error

	mu     sync.Mutex
	failed error // the first
}

// New returns what exports as the variables of an environment say; nil if they say nothing. Nothing is started before
// the first use. The exporters read the variables of this process.
func New(getenv func(string) string, version string) *Telemetry {
	t := &Telemetry{version: version, traces: wanted(getenv, "TRACES"), metrics: wanted(getenv, "METRICS")}
	if !t.traces && !t.metrics {
		return nil
	}
	switch strings.ToLower(getenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")) {
	case "true", "span_only", "span_and_event":
		t.content = true
	}
	return t
}

// wanted reports whether a signal is to be exported.
func wanted(getenv func(string) string, signal string) bool {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return false
	}
	if exporters := getenv("OTEL_" + signal + "_EXPORTER"); exporters != "" {
		return slices.Contains(strings.Split(exporters, ","), "otlp")
	}
	return getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
}

// begin starts the exporters. Those that cannot be started export nothing.
func (t *Telemetry) begin(ctx context.Context) {
	t.start.Do(func() {
		otel.SetErrorHandler(otel.ErrorHandlerFunc(t.fail))
		about, err := resource.New(ctx,
			resource.WithAttributes(semconv.ServiceName("xstate"), semconv.ServiceVersion(t.version)),
			resource.WithTelemetrySDK(), resource.WithFromEnv())
		if err != nil {
			t.fail(err)
		}
		if t.traces {
			if e, err := otlptracehttp.New(ctx); err != nil {
				t.fail(err)
			} else {
				t.exportSpans(sdktrace.WithBatcher(e), sdktrace.WithResource(about))
			}
		}
		if t.metrics {
			if e, err := otlpmetrichttp.New(ctx); err != nil {
				t.fail(err)
			} else {
				t.exportMetrics(metric.WithReader(metric.NewPeriodicReader(e)), metric.WithResource(about))
			}
		}
	})
}

func (t *Telemetry) exportSpans(o ...sdktrace.TracerProviderOption) {
	p := sdktrace.NewTracerProvider(o...)
	t.tracer, t.ends = p.Tracer(scope, trace.WithInstrumentationVersion(t.version)), append(t.ends, p.Shutdown)
}

func (t *Telemetry) exportMetrics(o ...metric.Option) {
	p := metric.NewMeterProvider(o...)
	m, err := newMeters(p.Meter(scope))
	if err != nil {
		t.fail(err)
		return
	}
	t.meters, t.ends = m, append(t.ends, p.Shutdown)
}

// fail notes an error; the first counts.
func (t *Telemetry) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil {
		t.failed = err
	}
}

// Close exports what is left, for two seconds at most. It returns why something was not exported.
func (t *Telemetry) Close() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	var all sync.WaitGroup
	for _, end := range t.ends {
		all.Go(func() {
			if err := end(ctx); err != nil {
				t.fail(err)
			}
		})
	}
	all.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

// Waited notes how long a call of the server waited for its session.
func (t *Telemetry) Waited(ctx context.Context, d time.Duration) {
	if t == nil || !t.metrics {
		return
	}
	if t.begin(ctx); t.meters != nil {
		t.meters.queue.Record(ctx, d.Seconds())
	}
}
