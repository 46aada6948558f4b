package xstate

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/replay"
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

// SessionOptions are the choices of a session. The zero value is a session in the current directory.
type SessionOptions struct {
	Workspace string   // the folder the program runs in; the current one when empty
	File      string   // the program's file, for __file__; may be empty
	Python    string   // interpreter; when empty, see Store.FindPython; AnyPython: not the one remembered
	Environ   []string // of the program; os.Environ() when nil
	Observe   string   // "static": observe as before CPython 3.12
	Seed      uint64   // of a new session's random number generators; 0 draws one
}

// Session is one program and its history.
type Session struct {
	store     *Store
	name      string
	options   SessionOptions
	meta      state.Session
	engine    *runner.Engine
	python    runner.Interpreter
	history   *query.History
	planner   *runner.Planner // of the program after step plannedAt; nil until the first plan
	plannedAt StepNumber
	loaded    loadedFile  // last
	held      *state.Lock // between Hold and its end
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
	return &Session{store: s, name: name, options: o, meta: meta, history: query.New(s.state, meta, workspace)}, nil
}

// Store returns the store that holds the session.
func (s *Session) Store() *Store { return s.store }

// Name returns the session's name.
func (s *Session) Name() string { return s.name }

// Folder returns the workspace, the folder that the session's program runs in.
func (s *Session) Folder() string { return s.options.Workspace }

// Python returns the interpreter of the session, once Plan or Run have found it.
func (s *Session) Python() runner.Interpreter { return s.python }

// History answers questions about what is recorded of the session.
func (s *Session) History() *query.History { return s.history }

// Subject is the session as package replay takes it.
func (s *Session) Subject() *replay.Subject {
	return &replay.Subject{
		History: s.history,
		Named:   s.options.Python != "" || lookup(s.options.Environ, "XSTATE_PYTHON") != "",
		Chosen:  s.options.Python != "",
		Config: func(ctx context.Context, any bool) (runner.Config, error) {
			own := *s
			if any {
				own.options.Python = AnyPython
			}
			return own.config(ctx)
		},
		Engine: func(ctx context.Context) (*runner.Engine, func(), error) {
			own, release, err := s.withOwnEngine(ctx)
			if err != nil {
				return nil, nil, err
			}
			return own.engine, release, nil
		},
	}
}

// Close stores values that are dear to compute and not stored yet, which may take as long as a tenth of the time that was
// spent executing, and ends the session's interpreter, if one was started.
func (s *Session) Close() error {
	if s.engine == nil {
		return nil
	}
	return s.engine.Close()
}

// Hold gives the caller the session and its workspace alone until it calls release: loading a file and running it are one.
// It waits as long as Options.State.Wait for another process; then the error has state.CodeBusy and names it. Run holds
// by itself.
func (s *Session) Hold(ctx context.Context) (release func(), err error) {
	if s.held != nil {
		return func() {}, nil
	}
	if s.held, err = s.store.state.LockRun(ctx, s.name, s.options.Workspace); err != nil {
		return nil, err
	}
	return func() {
		_ = s.held.Release() // of files that were not written
		s.held = nil
	}, nil
}

// beside gives the caller the session alone, as Hold does, and the session once more with an engine of its own, until it calls
// release.
func (s *Session) withOwnEngine(ctx context.Context) (own *Session, release func(), err error) {
	unlock, err := s.Hold(ctx)
	if err != nil {
		return nil, nil, err
	}
	again := *s
	again.engine, again.planner = nil, nil
	if err := again.start(ctx); err != nil {
		unlock()
		return nil, nil, err
	}
	return &again, func() {
		_ = again.Close()
		unlock()
	}, nil
}

// start makes the engine.
func (s *Session) start(ctx context.Context) error {
	if s.engine != nil {
		return nil
	}
	cfg, err := s.config(ctx)
	if err != nil {
		return err
	}
	if cfg.Files, err = s.history.Files(ctx); err != nil {
		return err
	}
	cfg.OnFiles = func(files map[string]runner.FileRecord) error {
		return s.store.state.PutSessionRecord(context.WithoutCancel(ctx), s.name, query.RecordFiles, files)
	}
	cfg.Relatives = func() ([]map[string]runner.FileRecord, error) { return s.relatives(context.WithoutCancel(ctx)) }
	s.engine, err = runner.New(cfg)
	return err
}

// config is what an engine of this session works with, whatever files the program writes.
func (s *Session) config(ctx context.Context) (runner.Config, error) {
	environ := func(name string) string { return lookup(s.options.Environ, name) }
	path, err := s.store.FindPython(ctx, s.name, s.options.Python, s.options.Workspace, environ)
	if err != nil {
		return runner.Config{}, err
	}
	if s.python, err = runner.Identify(ctx, s.store.state.Dir(), path, environ); err != nil {
		return runner.Config{}, err
	}
	return runner.Config{Store: s.store.state, Session: s.name, Workspace: s.options.Workspace, File: s.options.File, Python: s.python,
		Seed: s.meta.Seed, Observe: s.options.Observe, Environ: s.options.Environ}, nil
}

// AnyPython asks for an interpreter as if none was remembered.
const AnyPython = "auto"

// FindPython returns the path of the interpreter for a session's program in folder: the one asked for, $XSTATE_PYTHON, the
// one that was last asked for in a run of the session, or what runner.FindPython finds.
func (s *Store) FindPython(ctx context.Context, session, asked, folder string, environ func(string) string) (string, error) {
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
	path, err := runner.FindPython(asked, folder, environ)
	if err != nil && remembered != "" {
		return "", &Error{Code: runner.CodeNoPython, Message: fmt.Sprintf("the interpreter that session %q runs with is gone: %s", session, remembered),
			Hint: "name another with --python PATH, or have one chosen with --python " + AnyPython, Err: err}
	}
	return path, err
}

func lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if n := len(name); len(environ[i]) > n && environ[i][n] == '=' && environ[i][:n] == name {
			return environ[i][n+1:]
		}
	}
	return ""
}

// Existing opens a session that there is; it makes none. An empty workspace is the one the session was made with.
func (s *Store) Existing(ctx context.Context, name string, o SessionOptions) (*Session, error) {
	meta, err := s.state.Session(ctx, name)
	if err != nil {
		return nil, err
	}
	if o.Workspace == "" {
		o.Workspace = meta.Workspace
	}
	return s.Session(ctx, name, o)
}
