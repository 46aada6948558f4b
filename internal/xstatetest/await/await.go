package await

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// Long is a time that only a hang takes.
const Long = 5 * time.Minute

// pause is the time between two looks at a condition.
const pause = 5 * time.Millisecond

// Context returns a context that ends with the test, after a Long time, or shortly before the whole run would end. The
// functions of Cleanup may use one, too.
func Context(t testing.TB) context.Context {
	t.Helper()
	until := time.Now().Add(Long)
	if run, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, ok := run.Deadline(); ok && end.Add(-margin(end)).Before(until) {
			until = end.Add(-margin(end))
		}
	}
	why := fmt.Errorf("%s hangs", t.Name())
	ctx, cancel := context.WithDeadlineCause(context.WithoutCancel(t.Context()), until, why)
	t.Cleanup(cancel)
	return ctx
}

// margin is the part of the time until the end of the whole run in which a test can say what it waited for.
func margin(end time.Time) time.Duration { return min(10*time.Second, time.Until(end)/10) }

// Poll looks at a condition again and again until it holds, or the context ends.
func Poll(ctx context.Context, holds func() bool) error {
	for !holds() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
	return nil
}

// Until polls a condition, and ends a test in which it never holds; what names the condition: "the server has ended".
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	if err := Poll(Context(t), holds); err != nil {
		t.Fatalf("it never came to this: %s: %v", what, err)
	}
}

// Receive returns what comes next on a channel, and the zero value when the channel is closed; what names the event.
func Receive[T any](t testing.TB, what string, from <-chan T) (got T) {
	t.Helper()
	ctx := Context(t)
	select {
	case got = <-from:
	case <-ctx.Done():
		t.Fatalf("it never came to this: %s: %v", what, context.Cause(ctx))
	}
	return got
}
