package query

import (
	"context"

	"github.com/xstate-engine/xstate/state"
)

// History answers questions about one session from its record. It executes nothing. Only one goroutine may use it at a
// time, because it caches what it reads; Clone returns a history for another goroutine.
type History struct {
	store     *state.Store
	meta      state.Session
	name      string
	workspace string
	texts     map[state.Digest]string // sources of the program that was read last
}

// New returns the history of a session. An empty workspace is the one that the session was made with.
func New(store *state.Store, meta state.Session, workspace string) *History {
	if workspace == "" {
		workspace = meta.Workspace
	}
	return &History{store: store.For(meta.Trust), meta: meta, name: meta.Name, workspace: workspace}
}

// Open returns the history of the session of that name.
func Open(ctx context.Context, store *state.Store, name string) (*History, error) {
	meta, err := store.Session(ctx, name)
	if err != nil {
		return nil, err
	}
	return New(store, meta, ""), nil
}

// Clone returns a history of the same session, for another goroutine.
func (h *History) Clone() *History { return New(h.store, h.meta, h.workspace) }

// Store returns the store as the session sees it.
func (h *History) Store() *state.Store { return h.store }

// Trust says on whose word the store has the steps of the session.
func (h *History) Trust() state.Trust { return h.meta.Trust.Trust }

// Name returns the session's name.
func (h *History) Name() string { return h.name }

// Workspace returns the folder that the session's program runs in.
func (h *History) Workspace() string { return h.workspace }
