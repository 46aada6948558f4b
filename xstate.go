package xstate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// The nouns of the packages below that users of this one meet.
type (
	BlockID    = state.BlockID
	StepNumber = state.StepNumber
	Digest     = state.Digest
	Origin     = state.Origin
	Step       = state.Step
	Error      = state.Error
	Key        = depgraph.Key
	Plan       = runner.Plan
	Event      = runner.Event
	Outcome    = runner.Outcome
)

// StoreName is the name of a store's directory.
const StoreName = ".xstate"

// Options are the choices of Open. The zero value is the usual one.
type Options struct {
	State state.Options
}

// Store is an open store. It is safe for concurrent use; each of its sessions is for one goroutine at a time.
type Store struct {
	state *state.Store
}

// Open opens the store in dir, making it if there is none. Close it.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	s, err := state.Open(ctx, dir, o.State)
	if err != nil {
		return nil, err
	}
	return &Store{state: s}, nil
}

// FindStore returns the nearest store at or above folder; ok is false if there is none.
func FindStore(folder string) (dir string, ok bool) {
	for {
		dir = filepath.Join(folder, StoreName)
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, true
		}
		up := filepath.Dir(folder)
		if up == folder {
			return "", false
		}
		folder = up
	}
}

// Close releases the store. Sessions must be closed before.
func (s *Store) Close() error { return s.state.Close() }

// State gives access to everything recorded.
func (s *Store) State() *state.Store { return s.state }

// AnyPython asks for an interpreter as if none was remembered.
const AnyPython = "auto"

// FindPython returns the path of the interpreter for a session's program in folder: the one asked for, $XSTATE_PYTHON,
// the one that was last asked for in a run of the session, or what python.Find finds.
func (s *Store) FindPython(
	ctx context.Context,
	session, asked, folder string,
	environ func(string) string,
) (string, error) {
	remembered := ""
	switch {
	case asked == AnyPython:
		asked = ""
	case asked == "" && environ("XSTATE_PYTHON") == "":
		_, err := s.state.SessionRecord(ctx, session, query.RecordPython, &remembered)
		if err != nil && state.CodeOf(err) != state.CodeNoSession {
			return "", err
		}
		asked = remembered
	}
	path, err := python.Find(asked, folder, environ)
	if err != nil && remembered != "" {
		return "", &Error{
			Code:    python.CodeNotFound,
			Message: fmt.Sprintf("the interpreter that session %q runs with is gone: %s", session, remembered),
			Hint:    "name another with --python PATH, or have one chosen with --python " + AnyPython,
			Err:     err,
		}
	}
	return path, err
}

// Family returns the sessions that have an ancestor with one of them, itself included, sorted by name: the versions of
// one program.
func (s *Store) Family(ctx context.Context, name string) ([]state.Session, error) {
	all, err := s.state.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	parents := map[string]string{}
	for _, x := range all {
		if x.From != nil {
			parents[x.Name] = x.From.Session
		}
	}
	root := func(name string) string {
		for parents[name] != "" {
			name = parents[name]
		}
		return name
	}
	return slices.DeleteFunc(all, func(x state.Session) bool { return root(x.Name) != root(name) }), nil
}
