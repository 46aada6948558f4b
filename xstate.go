package xstate

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"os"
	"path/filepath"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
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

// SessionOptions are the choices of a session. The zero value is a session in the current directory.
type SessionOptions struct {
	Workspace string   // the folder the program runs in; the current one when empty
	File      string   // the program's file, for __file__; may be empty
	Python    string   // interpreter; see runner.FindPython for the order when empty
	Environ   []string // of the program; os.Environ() when nil
	Observe   string   // "static": observe as before CPython 3.12
	Seed      uint64   // of a new session's random number generators; 0 draws one
}

// Session is one program and its history.
type Session struct {
	store   *Store
	name    string
	options SessionOptions
	meta    state.Session
	engine  *runner.Engine
	python  runner.Interpreter
	texts   map[Digest]string // sources of the program asked for last
}

// Session opens a session by name, making it if there is none. Close it.
func (s *Store) Session(ctx context.Context, name string, o SessionOptions) (*Session, error) {
	if o.Workspace == "" {
		o.Workspace = "."
	}
	workspace, err := filepath.Abs(o.Workspace)
	if err != nil {
		return nil, err
	}
	o.Workspace = workspace
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	meta, err := s.state.Session(ctx, name)
	if state.CodeOf(err) == state.CodeNoSession {
		if o.Seed == 0 {
			var seed [8]byte
			if _, err := rand.Read(seed[:]); err != nil {
				return nil, err
			}
			o.Seed = binary.BigEndian.Uint64(seed[:]) >> 1
		}
		meta, err = s.state.CreateSession(ctx, name, state.SessionMeta{Workspace: workspace, Python: o.Python, Seed: o.Seed})
	}
	if err != nil {
		return nil, err
	}
	return &Session{store: s, name: name, options: o, meta: meta}, nil
}

// Name returns the session's name.
func (s *Session) Name() string { return s.name }

// Python returns the interpreter of the session, once Plan or Run have found it.
func (s *Session) Python() runner.Interpreter { return s.python }

// Close stores values that are dear to compute and not stored yet, which may take as long as a quarter of the time that was
// spent executing, and ends the session's interpreter, if one was started.
func (s *Session) Close() error {
	if s.engine == nil {
		return nil
	}
	return s.engine.Close()
}

// recordFiles is the session record that holds runner.FileRecord by name.
const recordFiles = "files"

// start makes the engine.
func (s *Session) start(ctx context.Context) error {
	if s.engine != nil {
		return nil
	}
	environ := func(name string) string { return lookup(s.options.Environ, name) }
	path, err := runner.FindPython(s.options.Python, s.options.Workspace, environ)
	if err != nil {
		return err
	}
	if s.python, err = runner.Identify(ctx, s.store.state, path, environ); err != nil {
		return err
	}
	files := map[string]runner.FileRecord{}
	if _, err := s.store.state.SessionRecord(ctx, s.name, recordFiles, &files); err != nil {
		return err
	}
	s.engine, err = runner.New(runner.Config{
		Store: s.store.state, Session: s.name, Workspace: s.options.Workspace, File: s.options.File, Python: s.python, Seed: s.meta.Seed,
		Observe: s.options.Observe, Environ: s.options.Environ, Files: files,
		OnFiles: func(files map[string]runner.FileRecord) error {
			return s.store.state.PutSessionRecord(context.WithoutCancel(ctx), s.name, recordFiles, files)
		},
		Relatives: func() ([]map[string]runner.FileRecord, error) { return s.relatives(context.WithoutCancel(ctx)) },
	})
	return err
}

func lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if n := len(name); len(environ[i]) > n && environ[i][n] == '=' && environ[i][:n] == name {
			return environ[i][n+1:]
		}
	}
	return ""
}
