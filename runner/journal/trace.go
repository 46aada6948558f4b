package journal

import (
	"context"

	"github.com/xstate-engine/xstate/state"
)

// Trace follows the calls of one run, such as for telemetry. Functions may be nil, and may be called at the same time.
type Trace struct {
	// OnCall takes a record as it changes: sent, answered, refused, lost, waiting, denied. served: it answered a call.
	OnCall func(c state.Call, served bool)
	// Headers returns what an attempt hands on to its tool, such as traceparent. The record is that of a sent call.
	Headers func(c state.Call) map[string]string
}

type traceKey struct{}

// WithTrace returns a context whose calls a trace follows, beside the traces that do already. Of headers, the first
// trace decides.
func WithTrace(ctx context.Context, t Trace) context.Context {
	if first := traceOf(ctx); first.OnCall != nil || first.Headers != nil {
		second := t
		t.OnCall = func(c state.Call, served bool) {
			for _, f := range []func(state.Call, bool){first.OnCall, second.OnCall} {
				if f != nil {
					f(c, served)
				}
			}
		}
		if first.Headers != nil {
			t.Headers = first.Headers
		}
	}
	return context.WithValue(ctx, traceKey{}, t)
}

func traceOf(ctx context.Context) Trace {
	t, _ := ctx.Value(traceKey{}).(Trace)
	return t
}

// headers returns what an attempt hands on.
func headers(ctx context.Context, rec *state.Call) map[string]string {
	if t := traceOf(ctx); t.Headers != nil {
		return t.Headers(*rec)
	}
	return nil
}
