package telemetry

import (
	"encoding/json"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
)

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

// operation names what a call is, in the terms of the conventions.
func operation(c *state.Call) []attribute.KeyValue {
	switch journal.Kind(c.Kind) {
	case journal.KindTool:
		return []attribute.KeyValue{semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(c.Tool)}
	case journal.KindModel:
		return []attribute.KeyValue{semconv.GenAIOperationNameChat, semconv.GenAIRequestModel(c.Tool)}
	}
	return []attribute.KeyValue{attribute.String("xstate.call.kind", c.Kind)}
}

// spanName names the span of a call.
func spanName(c *state.Call) string {
	switch journal.Kind(c.Kind) {
	case journal.KindTool:
		return "execute_tool " + c.Tool
	case journal.KindModel:
		return "chat " + c.Tool
	}
	return "xstate " + c.Kind + " " + c.Tool
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
	span.SetAttributes(attribute.Int64("xstate.call.id", int64(c.ID)), attribute.String("xstate.call.key", string(c.Key)),
		attribute.String("xstate.call.class", c.Class), attribute.String("xstate.call.state", string(c.State)),
		attribute.Bool("xstate.call.served", served), attribute.Int("xstate.call.depth", c.Depth),
		attribute.Float64("xstate.call.cost_usd", float64(c.Usage.MicroUSD)/1e6))
	if journal.Kind(c.Kind) == journal.KindTool {
		span.SetAttributes(semconv.GenAIToolCallID(strconv.FormatUint(uint64(c.ID), 10)), semconv.GenAIToolType("function"))
	}
	if c.Usage.InputTokens+c.Usage.OutputTokens > 0 {
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

// messages is what went to a model, or came from it, in the form of the conventions. Each message that has a role and a
// text keeps them; all else is one text.
func messages(role string, data []byte) string {
	type part struct {
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	type message struct {
		Role  string `json:"role"`
		Parts []part `json:"parts"`
	}
	var asked struct {
		Messages []struct{ Role, Content string }
	}
	var all []message
	if json.Unmarshal(data, &asked) == nil {
		for _, m := range asked.Messages {
			all = append(all, message{m.Role, []part{{"text", m.Content}}})
		}
	}
	if len(all) == 0 {
		text := string(data)
		_ = json.Unmarshal(data, &text) // what is no text stays JSON
		all = []message{{role, []part{{"text", text}}}}
	}
	out, _ := json.Marshal(all)
	return string(out)
}
