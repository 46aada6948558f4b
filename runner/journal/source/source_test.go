package source

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// rig is a journal on the sources of a policy.
type rig struct {
	*journal.Journal
	store *state.Store
	waits []time.Duration // before requests that were sent again
}

// newRig makes a journal in a store of its own. No request waits before it is sent again.
func newRig(t *testing.T, c policy.Calls, environ ...string) *rig {
	t.Helper()
	store, err := state.Open(t.Context(), filepath.Join(t.TempDir(), ".xstate"), state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{store: store}
	o := Options{Environ: append(os.Environ(), environ...), Folder: t.TempDir(),
		Wait: func(ctx context.Context, d time.Duration) error {
			r.waits = append(r.waits, d)
			return ctx.Err()
		}}
	r.Journal = journal.New(store, journal.Options{Sources: Of(c, o), Lineage: 1})
	t.Cleanup(func() {
		if err := errors.Join(r.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// again is a journal on the same store, with other sources.
func (r *rig) again(t *testing.T, c policy.Calls) *rig {
	t.Helper()
	next := &rig{store: r.store}
	next.Journal = journal.New(r.store, journal.Options{Sources: Of(c, Options{Environ: os.Environ(),
		Folder: t.TempDir()}), Lineage: 1})
	t.Cleanup(func() {
		if err := next.Close(); err != nil {
			t.Error(err)
		}
	})
	return next
}

// do makes a call. piece may be nil.
func (r *rig) do(t *testing.T, kind journal.Kind, tool, args string, piece func(string)) (journal.Result, error) {
	t.Helper()
	c, err := r.Prepare(t.Context(), journal.Request{Kind: kind, Tool: tool, Args: json.RawMessage(args)},
		func(string) state.Digest { return "" })
	if err != nil {
		return journal.Result{}, err
	}
	c.OnPiece = piece
	return r.Do(t.Context(), c)
}

// call makes a call of a tool.
func (r *rig) call(t *testing.T, tool, args string) (journal.Result, error) {
	t.Helper()
	return r.do(t, journal.KindTool, tool, args, nil)
}

// wantJSON makes a call that must return JSON.
func (r *rig) wantJSON(t *testing.T, tool, args, want string) journal.Result {
	t.Helper()
	got, err := r.call(t, tool, args)
	var have, wanted any
	if json.Unmarshal(got.JSON, &have) != nil || json.Unmarshal([]byte(want), &wanted) != nil ||
		err != nil || !cmp.Equal(have, wanted) {
		t.Errorf("%s(%s) = %.500s, %v, want %s", tool, args, got.JSON, err, want)
	}
	return got
}

// tool finds a tool by its name.
func (r *rig) tool(t *testing.T, name string) journal.Tool {
	t.Helper()
	for _, x := range r.Tools(t.Context()) {
		if x.Name == name {
			return x
		}
	}
	t.Fatalf("there is no tool %q among %d", name, len(r.Tools(t.Context())))
	return journal.Tool{}
}
