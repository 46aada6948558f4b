package source

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/runner/journal"
)

// Options configures Of.
type Options struct {
	Environ []string         // NAME=value: of the user, who calls
	Folder  string           // that the program runs in
	Sources []journal.Source // others, of which the user may declare something, too
	// Wait waits before a request is sent again; nil: as long as it says.
	Wait func(ctx context.Context, d time.Duration) error
}

// getenv returns the value of a variable of the user.
func (o *Options) getenv(name string) string {
	for _, pair := range slices.Backward(o.Environ) {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
