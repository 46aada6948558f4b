package await

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestPoll: a condition is looked at until it holds, and no longer than the context lives.
func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		if err := Poll(t.Context(), func() bool { looks++; return looks == 3 }); err != nil || looks != 3 {
			t.Errorf("Poll = %v after %d looks, want none after 3", err, looks)
		}
		why := errors.New("a hang")
		ctx, cancel := context.WithTimeoutCause(t.Context(), Long, why)
		defer cancel()
		begun := time.Now()
		if err := Poll(ctx, func() bool { return false }); !errors.Is(err, why) || time.Since(begun) != Long {
			t.Errorf("Poll = %v after %v, want %v after %v", err, time.Since(begun), why, Long)
		}
	})
}

// TestContextOutlivesTest: the functions of Cleanup wait, too, though the context of the test has ended.
func TestContextOutlivesTest(t *testing.T) {
	t.Run("inner", func(t *testing.T) {
		t.Cleanup(func() {
			if err := Context(t).Err(); err != nil || t.Context().Err() == nil {
				t.Errorf("Context in Cleanup: %v, and that of the test: %v", err, t.Context().Err())
			}
		})
	})
}
