package telemetry

import (
	"context"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
)

// RunInfo is what is known of a run when it begins.
type RunInfo struct {
	ID      string
	Verb    string // run, exec, …
	Session string
	Origin  state.Origin // the origin of its step; its TraceParent is continued
	State   string       // the tracestate that came with it
	// Read reads arguments and results of calls, for those who ask for them.
	Read func(state.Content) ([]byte, error)
}

// Run follows one run. Its methods may be called at the same time.
type Run struct {
	t    *Telemetry
	info RunInfo
	in   context.Context // the context of the caller's span
	ctx  context.Context // the context of the run's span
	span trace.Span

	mu     sync.Mutex
	nodes  map[nodeName]spanned
	calls  map[state.CallID]spanned
	failed int // nodes that executed
}

type nodeName struct {
	block state.BlockID
	node  int
}

// spanned is a span that lasts.
type spanned struct {
	ctx  context.Context
	span trace.Span
}

var w3c = propagation.TraceContext{}

// Begin begins to follow a run. The calls that are made with the context that it returns belong to the run.
func (t *Telemetry) Begin(ctx context.Context, i RunInfo) (context.Context, *Run) {
	r := &Run{t: t, info: i, nodes: map[nodeName]spanned{}, calls: map[state.CallID]spanned{}}
	r.in = w3c.Extract(context.Background(), propagation.MapCarrier{"traceparent": i.Origin.TraceParent,
		"tracestate": i.State})
	r.ctx, r.span = r.in, trace.SpanFromContext(r.in)
	if t == nil {
		if r.span.SpanContext().IsValid() {
			ctx = journal.WithTrace(ctx, journal.Trace{Headers: r.Headers})
		}
		return ctx, r
	}
	t.begin(ctx)
	if t.tracer != nil {
		about := []attribute.KeyValue{attribute.String("xstate.session", i.Session),
			attribute.String("xstate.run.id", i.ID), semconv.GenAIConversationID(i.Session)}
		if i.Origin.Agent != "" {
			about = append(about, semconv.GenAIAgentName(i.Origin.Agent))
		}
		r.ctx, r.span = t.tracer.Start(r.in, "xstate "+i.Verb, trace.WithAttributes(about...))
	}
	return journal.WithTrace(ctx, journal.Trace{OnCall: r.Call, Headers: r.Headers}), r
}

// Event follows the nodes that execute.
func (r *Run) Event(e runner.Event) {
	if r.t == nil || r.t.tracer == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := nodeName{e.Block, e.Node}
	was, lasts := r.nodes[at]
	switch e.Kind {
	case "begin":
		if lasts {
			was.span.SetAttributes(attribute.Bool("xstate.node.repeated", true))
			was.span.End()
		}
		ctx, span := r.t.tracer.Start(r.ctx, "xstate node", trace.WithAttributes(
			attribute.String("xstate.block", string(e.Block)), attribute.Int("xstate.node", e.Node)))
		r.nodes[at] = spanned{ctx, span}
	case "end":
		if !lasts {
			return
		}
		was.span.SetAttributes(attribute.String("xstate.status", e.Status.String()))
		if e.Status.Bad() {
			r.failed++
			was.span.SetStatus(codes.Error, "")
		}
		was.span.End()
		delete(r.nodes, at)
	}
}

// Headers returns what an attempt of a call hands on to its tool: the span that it belongs to.
func (r *Run) Headers(c state.Call) map[string]string {
	r.mu.Lock()
	at, lasts := r.calls[c.ID]
	r.mu.Unlock()
	if !lasts {
		at.ctx = r.ctx
	}
	found := propagation.MapCarrier{}
	w3c.Inject(at.ctx, found)
	return found
}

// End ends the run. o is nil if it has no outcome.
func (r *Run) End(o *runner.Outcome, step state.StepNumber, err error) {
	if r.t == nil {
		return
	}
	if o != nil {
		r.t.meters.outcome(r.ctx, o)
	}
	if r.t.tracer == nil {
		return
	}
	r.mu.Lock()
	for _, s := range r.nodes {
		s.span.End()
	}
	for _, s := range r.calls {
		s.span.End()
	}
	clear(r.nodes)
	clear(r.calls)
	r.mu.Unlock()
	r.outcome(o, step, err)
	r.span.End()
}

// outcome describes the end of a run.
func (r *Run) outcome(o *runner.Outcome, step state.StepNumber, err error) {
	if step > 0 {
		r.span.SetAttributes(attribute.Int64("xstate.step", int64(step)))
	}
	if err != nil {
		r.span.SetStatus(codes.Error, err.Error())
		if code := state.CodeOf(err); code != "" {
			r.span.SetAttributes(semconv.ErrorTypeKey.String(string(code)))
		}
	}
	if o == nil {
		return
	}
	ran, reused := 0, 0
	for i := range o.Blocks {
		for _, n := range o.Blocks[i].Nodes {
			switch {
			case n.Status == state.StatusReused:
				reused++
			case n.Status == state.StatusRan:
				ran++
			}
		}
	}
	r.span.SetAttributes(attribute.Int("xstate.nodes.ran", ran), attribute.Int("xstate.nodes.reused", reused),
		attribute.Int("xstate.nodes.failed", r.failed), attribute.Float64("xstate.saved_seconds", o.Saved))
	if r.failed > 0 { // what failed in an earlier run, and still does, is not this one's
		r.span.SetStatus(codes.Error, "a block failed")
	}
}

// at returns where a call belongs: within another, in a node, or else in the run.
func (r *Run) at(c *state.Call) context.Context {
	if s, lasts := r.calls[c.Parent]; lasts && c.Parent != 0 {
		return s.ctx
	}
	if s, lasts := r.nodes[nodeName{c.Caller.Block, c.Caller.Node}]; lasts {
		return s.ctx
	}
	return r.ctx
}

// ended is when a call ended.
func ended(c *state.Call) time.Time {
	return c.Began.Add(time.Duration(c.Seconds * float64(time.Second)))
}

// Call follows the record of a call, see journal.Trace.
func (r *Run) Call(c state.Call, served bool) {
	if r.t == nil {
		return
	}
	if served || c.State != state.CallSent {
		r.t.meters.call(r.ctx, &c, served)
	}
	if r.t.tracer == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	was, lasts := r.calls[c.ID]
	if served || !lasts {
		was = r.startCall(&c, served)
	}
	if c.State == state.CallSent {
		r.calls[c.ID] = was
		return
	}
	if !served {
		delete(r.calls, c.ID)
	}
	r.endCall(was.span, &c, served)
}

// startCall starts the span of a call. That of a served one takes no time.
func (r *Run) startCall(c *state.Call, served bool) (s spanned) {
	o := []trace.SpanStartOption{trace.WithAttributes(operation(c)...)}
	if !served {
		o = append(o, trace.WithTimestamp(c.Began))
	}
	if journal.Kind(c.Kind) == journal.KindModel {
		o = append(o, trace.WithSpanKind(trace.SpanKindClient))
	}
	s.ctx, s.span = r.t.tracer.Start(r.at(c), spanName(c), o...)
	return s
}

// endCall describes a call, and ends its span.
func (r *Run) endCall(span trace.Span, c *state.Call, served bool) {
	span.SetAttributes(attribute.Int64("xstate.call.id", int64(c.ID)),
		attribute.String("xstate.call.key", string(c.Key)),
		attribute.String("xstate.call.class", c.Class), attribute.String("xstate.call.state", string(c.State)),
		attribute.Bool("xstate.call.served", served), attribute.Int("xstate.call.depth", c.Depth))
	usd := float64(c.Usage.MicroUSD) / 1e6
	if served { // what it spent is on the span of the call that was made
		span.SetAttributes(attribute.Float64("xstate.call.saved_usd", usd))
	} else {
		span.SetAttributes(attribute.Float64("xstate.call.cost_usd", usd))
	}
	if journal.Kind(c.Kind) == journal.KindTool {
		span.SetAttributes(semconv.GenAIToolCallID(strconv.FormatUint(uint64(c.ID), 10)),
			semconv.GenAIToolType("function"))
	}
	if !served && c.Usage.InputTokens+c.Usage.OutputTokens > 0 {
		span.SetAttributes(semconv.GenAIUsageInputTokens(int(c.Usage.InputTokens)),
			semconv.GenAIUsageOutputTokens(int(c.Usage.OutputTokens)))
	}
	if a := c.Approval; a != nil && a.Choice != "" {
		span.SetAttributes(attribute.String("xstate.approval.choice", a.Choice),
			attribute.String("xstate.approval.by", a.By))
	}
	switch {
	case c.Err != nil && !c.State.Ended():
		span.SetAttributes(semconv.ErrorTypeKey.String(string(c.Err.Code)))
		span.SetStatus(codes.Error, c.Err.Message)
	case c.State == state.CallRefused:
		span.SetAttributes(semconv.ErrorTypeKey.String(string(journal.CodeRefused)))
		span.SetStatus(codes.Error, "the tool refused")
	}
	r.describe(span, c)
	if served || c.State == state.CallWaiting || c.State == state.CallDenied {
		span.End()
		return
	}
	span.End(trace.WithTimestamp(ended(c)))
}

// describe adds the arguments and the result of a call, for those who ask for them.
func (r *Run) describe(span trace.Span, c *state.Call) {
	if !r.t.content || r.info.Read == nil {
		return
	}
	args, _ := r.info.Read(c.Args)
	result, _ := r.info.Read(c.Result)
	if journal.Kind(c.Kind) != journal.KindModel {
		span.SetAttributes(semconv.GenAIToolCallArgumentsKey.String(string(args)))
		if c.State.Ended() {
			span.SetAttributes(semconv.GenAIToolCallResultKey.String(string(result)))
		}
		return
	}
	span.SetAttributes(semconv.GenAIInputMessagesKey.String(messages("user", args)))
	if c.State.Ended() {
		span.SetAttributes(semconv.GenAIOutputMessagesKey.String(messages("assistant", result)))
	}
}
