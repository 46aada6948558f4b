package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

// meters are the metrics.
type meters struct {
	nodes, calls metric.Int64Counter
	engine, cost metric.Float64Counter
	saved        metric.Float64UpDownCounter
	queue, took  metric.Float64Histogram
	tokens       metric.Int64Histogram
	savedCalls   metric.Float64Counter
}

func newMeters(m metric.Meter) (*meters, error) {
	var all meters
	var errs [9]error
	all.nodes, errs[0] = m.Int64Counter("xstate.nodes", metric.WithUnit("{node}"),
		metric.WithDescription("Nodes of programs, by what a run did about them."))
	all.saved, errs[1] = m.Float64UpDownCounter("xstate.saved.time", metric.WithUnit("s"),
		metric.WithDescription("Recorded time of the nodes that were reused, less what the engine took in those runs."))
	all.engine, errs[8] = m.Float64Counter("xstate.engine.time", metric.WithUnit("s"),
		metric.WithDescription("Time of runs beyond executing: starts, loads, digests, the store."))
	all.queue, errs[2] = m.Float64Histogram("xstate.server.queue.time", metric.WithUnit("s"),
		metric.WithDescription("Time that calls of the server waited for their session."))
	all.calls, errs[3] = m.Int64Counter("xstate.calls", metric.WithUnit("{call}"),
		metric.WithDescription("Calls of programs, made or served from the journal."))
	all.cost, errs[4] = m.Float64Counter("xstate.cost", metric.WithUnit("USD"),
		metric.WithDescription("Cost of the calls that were made."))
	all.savedCalls, errs[5] = m.Float64Counter("xstate.saved.cost", metric.WithUnit("USD"),
		metric.WithDescription("Recorded cost of the calls that were served."))
	all.tokens, errs[6] = m.Int64Histogram("gen_ai.client.token.usage", metric.WithUnit("{token}"),
		metric.WithDescription("Number of input and output tokens used."),
		metric.WithExplicitBucketBoundaries(1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304))
	all.took, errs[7] = m.Float64Histogram("gen_ai.client.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("GenAI operation duration."),
		metric.WithExplicitBucketBoundaries(0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48,
			40.96, 81.92))
	return &all, errors.Join(errs[:]...)
}

// outcome counts the nodes of a run.
func (m *meters) outcome(ctx context.Context, o *runner.Outcome) {
	if m == nil {
		return
	}
	counts := map[string]int64{}
	for i := range o.Blocks {
		for _, n := range o.Blocks[i].Nodes {
			counts[n.Status.String()]++
		}
	}
	for status, n := range counts {
		m.nodes.Add(ctx, n, metric.WithAttributes(attribute.String("xstate.status", status)))
	}
	m.saved.Add(ctx, o.Saved)
	m.engine.Add(ctx, o.Engine)
}

// call counts a call that has ended, or was served.
func (m *meters) call(ctx context.Context, c *state.Call, served bool) {
	if m == nil {
		return
	}
	tool := semconv.GenAIToolName(c.Tool)
	m.calls.Add(ctx, 1, metric.WithAttributes(tool, attribute.String("xstate.call.kind", c.Kind),
		attribute.String("xstate.call.state", string(c.State)), attribute.Bool("xstate.call.served", served)))
	usd := float64(c.Usage.MicroUSD) / 1e6
	if served {
		m.savedCalls.Add(ctx, usd, metric.WithAttributes(tool))
		return
	}
	m.cost.Add(ctx, usd, metric.WithAttributes(tool))
	about := operation(c)
	m.took.Record(ctx, c.Seconds, metric.WithAttributes(about...))
	for kind, n := range map[string]int64{"input": c.Usage.InputTokens, "output": c.Usage.OutputTokens} {
		if n > 0 {
			m.tokens.Record(ctx, n, metric.WithAttributes(append(about[:len(about):len(about)],
				semconv.GenAITokenTypeKey.String(kind))...))
		}
	}
}
