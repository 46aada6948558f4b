package xstate

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/journal/rule"
	"github.com/xstate-engine/xstate/runner/journal/source"
	"github.com/xstate-engine/xstate/runner/journal/web"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/kernel/mixed"
	"github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/runner/remote"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/runner/sandbox/secret"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// SessionOptions configures a session. The zero value is a session in the current directory.
type SessionOptions struct {
	Workspace string   // the folder the program runs in; the current one when empty
	File      string   // the program's file, for __file__; may be empty
	Python    string   // interpreter; when empty, see Store.FindPython; AnyPython: not the one remembered
	Environ   []string // the program's; os.Environ() when nil
	Observe   string   // "static": observe as before CPython 3.12
	Seed      uint64   // for a new session's random number generators; 0 draws one

	// Policy bounds what the program does; nil: nothing does. It says where tools come from. See policy.Read.
	Policy *policy.Policy
	// Tools are sources of tools beside those of the policy. The session closes them. Reuse exchanges them.
	Tools []journal.Source
	// Budgets count instead of those of the policy that have the same names.
	Budgets []policy.Budget

	// Invocation: arguments and standard input of the program; nil means those of the session's last run
	Invocation *runner.Invocation
}

// Session is one program and its history.
type Session struct {
	store     *Store
	name      string
	options   SessionOptions
	meta      state.Session
	engine    *runner.Engine
	invoked   runner.Invocation // what engine starts the program with
	languages *mixed.Languages
	history   *query.History
	planner   *runner.Planner // for the program after step plannedAt; nil until the first plan
	plannedAt StepNumber
	loaded    loadedFile // last
	began     launchState
	gate      *rule.Gate
	held      *state.Lock // between Hold and its end
	known     patch.Known // about the code that Exec was given
	secrets   *secret.Set // the program's
	journal   *journal.Journal
	web       *web.Source // the source of its requests; nil: they are not recorded
	cache     *remote.Cache
	executor  remote.Executor // nil: the policy has none
	alone     bool            // it takes nothing from the cache: it is to execute
	noCache   error           // why the cache of the policy is not used
	warned    []string        // what was said of the cache
}

// Store returns the store that holds the session.
func (s *Session) Store() *Store { return s.store }

// Name returns the session's name.
func (s *Session) Name() string { return s.name }

// Folder returns the workspace, the folder that the session's program runs in.
func (s *Session) Folder() string { return s.options.Workspace }

// Python returns the session's interpreter of Python. It is empty until Plan or Run has found one.
func (s *Session) Python() python.Interpreter {
	if s.languages == nil {
		return python.Interpreter{}
	}
	found, _ := s.languages.Found(python.Name).(python.Interpreter)
	return found
}

// Tools returns what the session's program can call.
func (s *Session) Tools(ctx context.Context) []journal.Tool { return s.journal.Tools(ctx) }

// History returns the recorded history of the session, for questions.
func (s *Session) History() *query.History { return s.history }

// Close stores values that took long to compute and are not stored yet. This may take a tenth of the time spent
// executing. Close then ends the session's interpreter if one was started, and the sources of its tools.
func (s *Session) Close() error {
	var err error
	if s.engine != nil {
		err = s.engine.Close()
	}
	if s.cache != nil {
		err = errors.Join(err, s.cache.Close())
	}
	if s.executor != nil {
		err = errors.Join(err, s.executor.Close())
	}
	return errors.Join(err, s.journal.Close())
}

// launchState is what the program's interpreter was started with, besides options.
type launchState struct {
	folder  os.FileInfo // the workspace: another one may be made in its place
	script  bool
	imports kernel.ImportBase
}

// Settle writes to disk what the program left in open files, as Close does, while the caller holds the session. If
// there are such files, that ends the interpreter. So do running child processes, and what has a port, if the program
// has ended. rest stores what Close would store and keeps the interpreter. The caller calls it once, before the
// session's next use.
func (s *Session) Settle(ended bool) (rest func(context.Context) error, err error) {
	nothing := func(context.Context) error { return nil }
	if s.engine == nil {
		return nothing, nil
	}
	if s.engine.HasOpen() || ended && s.engine.HasRunning() {
		return nothing, s.engine.Close() // and not the sources of tools, which the next run may need
	}
	return s.engine.Checkpoint, nil
}

// Groups are the groups of processes that the session keeps between runs.
func (s *Session) Groups() []int {
	if s.engine == nil {
		return nil
	}
	return s.engine.Groups()
}

// Reuse makes an open session one that was opened with o, and keeps its interpreter. It reports false, and changes
// nothing, where the interpreter would not serve: it is another one now, or the workspace, file or environment is.
func (s *Session) Reuse(ctx context.Context, o SessionOptions) (bool, error) {
	was := s.options
	changed, ok := compareEnvirons(was.Policy.Environ(was.Environ), o.Policy.Environ(o.Environ))
	folder, err := os.Stat(was.Workspace)
	if err != nil || s.engine == nil || !ok || o.Workspace != was.Workspace || o.File != was.File ||
		o.Python != was.Python || o.Observe != was.Observe ||
		!reflect.DeepEqual(o.Policy.Bounds(), was.Policy.Bounds()) || !sameTools(o, was) ||
		!reflect.DeepEqual(o.Policy.Sharing(), was.Policy.Sharing()) ||
		!os.SameFile(folder, s.began.folder) {
		return false, nil
	}
	next := *s
	next.options = o
	if next.options.Invocation, err = withDigest(o.Invocation); err != nil {
		return false, err
	}
	if next.secrets, err = o.Policy.SecretsOf(o.Environ); err != nil || !next.secrets.Equal(s.secrets) {
		return false, err
	}
	cfg, err := next.config(ctx)
	if err != nil || !next.languages.Same(s.languages) || cfg.Script != s.began.script ||
		cfg.Imports != s.began.imports {
		return false, err
	}
	if s.Python().Launched() { // the shell that a launcher is sets these, whatever they were
		maps.DeleteFunc(changed, func(name string, _ *string) bool { return slices.Contains(ofShell, name) })
	}
	if len(changed) > 0 {
		s.engine.SetEnviron(changed)
		s.planner = nil
	}
	s.options = next.options
	return true, s.offer()
}

// Hold locks the session and its workspace for the caller, until the caller calls release. So the caller can load a
// file and run it without interference. Hold waits for another process as long as Options.State.Wait; after that the
// error has state.CodeBusy and names the process. Run locks by itself.
func (s *Session) Hold(ctx context.Context) (release func(), err error) {
	if s.held != nil {
		return func() {}, nil
	}
	if s.held, err = s.store.state.LockRun(ctx, s.name, s.options.Workspace); err != nil {
		return nil, err
	}
	return func() {
		_ = s.held.Release() // these files have no unwritten data
		s.held = nil
	}, nil
}

// withOwnEngine locks the session as Hold does and returns a copy of it with its own engine, which shares no results,
// until the caller calls release.
func (s *Session) withOwnEngine(ctx context.Context) (own *Session, release func(), err error) {
	unlock, err := s.Hold(ctx)
	if err != nil {
		return nil, nil, err
	}
	again := *s
	again.engine, again.planner, again.alone = nil, nil, true
	if err := again.start(ctx); err != nil {
		unlock()
		return nil, nil, err
	}
	return &again, func() {
		_ = again.engine.Close() // s closes the sources of tools
		unlock()
	}, nil
}

// start creates the engine if there is none.
func (s *Session) start(ctx context.Context) error {
	if s.engine != nil {
		in, err := s.invocation(ctx)
		if err == nil && in.Stdin == s.invoked.Stdin && slices.Equal(in.Arguments, s.invoked.Arguments) {
			s.invoked.StdinFile = in.StdinFile // the former file may be gone
			return nil
		}
		if err != nil {
			return err
		}
		err = s.engine.Close() // another process ran the session with others
		if s.engine, s.planner = nil, nil; err != nil {
			return err
		}
	}
	cfg, err := s.config(ctx)
	if err != nil {
		return err
	}
	if err := s.share(&cfg); err != nil {
		return err
	}
	if cfg.Files, err = s.history.Files(ctx); err != nil {
		return err
	}
	cfg.OnFiles = func(files map[string]state.FileRecord) error {
		return s.store.state.PutSessionRecord(context.WithoutCancel(ctx), s.name, query.RecordFiles, files)
	}
	cfg.Relatives = func() ([]map[string]state.FileRecord, error) {
		return s.store.relatives(context.WithoutCancel(ctx), s.name, s.options.Workspace)
	}
	if s.engine, err = runner.New(cfg); err != nil {
		return err
	}
	s.invoked, s.began = cfg.Invocation, launchState{script: cfg.Script, imports: cfg.Imports}
	if s.began.folder, err = os.Stat(cfg.Workspace); err != nil {
		return err
	}
	return s.forgetFiles(ctx)
}

// setFiles passes the engine the records of the files that the program writes.
func (s *Session) setFiles(ctx context.Context) error {
	files, err := s.history.Files(ctx)
	if err != nil {
		return err
	}
	s.engine.SetFiles(files)
	return s.forgetFiles(ctx)
}

// forgetFiles makes the engine forget what the last run left in files, if that run had other arguments. The files then
// belong to the workspace as it is, as they do where Python starts a program twice: nothing restores or removes them.
func (s *Session) forgetFiles(ctx context.Context) error {
	var last runner.Invocation
	found, err := s.store.state.SessionRecord(ctx, s.name, query.RecordInvocation, &last)
	if found && !slices.Equal(last.Arguments, s.invoked.Arguments) {
		s.engine.ForgetFiles()
	}
	return err
}

// invocation returns what the next run starts the program with.
func (s *Session) invocation(ctx context.Context) (in runner.Invocation, err error) {
	if s.options.Invocation != nil {
		return *s.options.Invocation, nil
	}
	_, err = s.store.state.SessionRecord(ctx, s.name, query.RecordInvocation, &in)
	return in, err
}

// isScript reports whether the session's file is a script.
func (s *Session) isScript() bool {
	if info, err := os.Stat(s.options.File); err != nil || !info.Mode().IsRegular() {
		return false // a pipe would block
	}
	data, err := os.ReadFile(s.options.File)
	return err == nil && patch.IsScript(data)
}

// keepStdin stores the standard input of a run for as long as there is a history of it.
func (s *Session) keepStdin() error {
	if s.invoked.StdinFile == "" {
		return nil
	}
	f, err := os.Open(s.invoked.StdinFile)
	if err != nil {
		return err
	}
	defer f.Close()
	ref, err := s.store.state.PutBase(f)
	if err == nil && ref.Digest != s.invoked.Stdin {
		err = state.ErrChanged
	}
	return err
}

// config returns the configuration of an engine of this session, without the files that the program writes.
func (s *Session) config(ctx context.Context) (runner.Config, error) {
	if err := s.findLanguages(ctx); err != nil {
		return runner.Config{}, err
	}
	in, err := s.invocation(ctx)
	if err != nil {
		return runner.Config{}, err
	}
	recording, err := s.recording()
	if err != nil {
		return runner.Config{}, err
	}
	return runner.Config{

		Invocation: in,
		Store:      s.history.Store(),
		Session:    s.name,
		Workspace:  s.options.Workspace,
		File:       s.options.File,
		Imports:    python.ImportsOf(s.options.File),
		Script:     s.isScript(),
		Ends:       s.isScript() && patch.IsSource(s.options.File),
		Languages:  s.languages,
		Seed:       s.meta.Seed,
		Observe:    s.options.Observe,
		Environ:    s.options.Policy.Environ(s.options.Environ),
		Bounds:     s.options.Policy.Bounds(),
		Secrets:    s.secrets,
		Journal:    s.journal,
		Recording:  recording,
		Templates:  s.store.templates,
	}, nil
}

// Session opens the session with this name and creates it if there is none. The caller closes it.
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
	if o.Invocation, err = withDigest(o.Invocation); err != nil {
		return nil, err
	}
	secrets, err := o.Policy.SecretsOf(o.Environ)
	if err != nil {
		return nil, err
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
		begun := state.SessionMeta{Workspace: workspace, Python: o.Python, Seed: o.Seed}
		meta, err = s.state.CreateSession(ctx, name, begun)
		if state.CodeOf(err) == state.CodeSessionExists { // another process made it meanwhile
			meta, err = s.state.Session(ctx, name)
		}
	}
	if err != nil {
		return nil, err
	}
	session := &Session{store: s, name: name, options: o, meta: meta, history: query.New(s.state, meta, workspace),
		secrets: secrets}
	if session.web, err = webOf(o.Policy); err != nil {
		return nil, err
	}
	if session.journal, err = session.newJournal(ctx); err != nil {
		return nil, err
	}
	return session, session.offer()
}

// newJournal makes the journal of the session's program. It connects to no source yet.
func (s *Session) newJournal(ctx context.Context) (*journal.Journal, error) {
	lineage, err := s.store.state.Lineage(ctx, s.name)
	if err != nil {
		return nil, err
	}
	s.gate = rule.NewGate(s.name, s.store.state)
	o := journal.Options{Lineage: lineage, Gate: s.gate, OnCall: s.gate.Record}
	if s.secrets != nil {
		o.Scrub = func(text []byte) []byte { return []byte(s.secrets.Scrub(string(text))) }
		o.Secret = s.secrets.Digest
	}
	if s.options.Policy != nil {
		o.Sources = source.Of(s.options.Policy.Calls, source.Options{Environ: s.options.Environ,
			Folder: s.options.Workspace})
	}
	if s.web != nil {
		o.Sources = append([]journal.Source{s.web}, o.Sources...)
	}
	return journal.New(s.history.Store(), o), nil
}

// offer makes the tools of the options available to the program.
func (s *Session) offer() error {
	var declared policy.Calls
	if s.options.Policy != nil {
		declared.Tools = s.options.Policy.Calls.Tools
	}
	return s.journal.Offer(source.Of(declared, source.Options{Sources: s.options.Tools}))
}

// sameTools reports whether two sessions have the same sources of tools, beside those that their callers offer.
func sameTools(a, b SessionOptions) bool {
	var from [2]policy.Calls
	for i, o := range []SessionOptions{a, b} {
		if o.Policy != nil {
			from[i] = o.Policy.Calls
		}
	}
	return a.Policy.Records() == b.Policy.Records() && reflect.DeepEqual(from[0], from[1])
}

// Existing opens a session and fails if there is none. If o.Workspace is empty, it uses the workspace that the session
// was created with.
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

// loadedFile is a file whose program was the session's program after step at.
type loadedFile struct {
	key string // see loadKey
	at  StepNumber
}

// addRecords adds to d the session records that a run updates.
func (s *Session) addRecords(d *state.Draft) {
	d.Records = map[string]any{query.RecordFiles: s.engine.Files(), query.RecordInvocation: s.invoked}
	d.Run.Arguments, d.Run.Stdin = s.invoked.Arguments, s.invoked.Stdin
	d.Run.Sandbox, d.Run.Policy, d.Run.Unenforced = s.options.Policy.Record()
	d.Records[query.RecordSandbox] = d.Run.Sandbox
	d.Records[query.RecordNetwork] = s.options.Policy.Records()
	switch s.options.Python {
	case "":
	case AnyPython:
		d.Records[query.RecordPython] = ""
	default:
		d.Records[query.RecordPython] = s.Python().Path
	}
}

// recording says how an engine records the requests of the program; nil: it does not.
func (s *Session) recording() (*kernel.Recording, error) {
	if s.web == nil {
		return nil, nil
	}
	authority, err := s.options.Policy.Authority(s.getenv)
	if err != nil {
		return nil, err
	}
	return &kernel.Recording{Authority: authority, Exchange: s.web.Exchange}, nil
}

// findLanguages finds the language of the program's first block. Others are found when a block is met that needs them.
func (s *Session) findLanguages(ctx context.Context) error {
	search, err := s.store.search(s.options.Workspace, s.options.Environ, s.options.Policy)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // a later call may be the first that needs a language
	s.languages = mixed.New(func(e kernel.Entry) (kernel.Language, error) {
		return s.store.language(ctx, e, s.name, s.options.Python, search)
	})
	head, _, err := s.store.state.Head(ctx, s.name)
	if err != nil {
		return err
	}
	first, _, err := s.store.state.FirstBlocks(ctx, s.name, head, 1)
	if err != nil || len(first) == 0 {
		return err
	}
	if _, err = s.languages.Of(first[0].Dialect); state.CodeOf(err) == kernel.CodeUnknownLanguage {
		return nil // the block says so
	}
	return err
}

// share gives an engine the cache of the session's policy, if it has one. A run does without a cache that cannot be
// opened.
func (s *Session) share(cfg *runner.Config) error {
	p := s.options.Policy
	if p.Sharing().Address == "" || s.alone {
		return nil
	}
	roots := s.roots()
	if s.cache == nil {
		var err error
		s.cache, err = remote.Open(p.Remote.With(s.getenv), s.store.state)
		if s.noCache = nil; errors.Is(err, remote.ErrUnavailable) {
			s.noCache, err = err, nil
		}
		if err != nil {
			return err
		}
	}
	cfg.Cache, cfg.Roots, cfg.UploadWait, cfg.Interpreter = s.cache, roots, p.Remote.Wait, s.Python().Path
	if s.executor == nil {
		var err error
		if s.executor, err = remote.OpenExecutor(p.Remote.With(s.getenv)); err != nil {
			return err
		}
	}
	cfg.Executor, cfg.Platform = s.executor, p.Remote.Platform
	return nil
}

// cacheWarnings says what keeps results from being shared, each thing once.
func (s *Session) cacheWarnings() (texts []string) {
	say := func(format string, args ...any) { texts = append(texts, fmt.Sprintf(format, args...)) }
	if s.noCache != nil {
		say("results are not shared: %v", s.noCache)
	}
	if s.cache == nil {
		return texts
	}
	counts := s.cache.Counts()
	for _, id := range counts.Unknown {
		say("the cache %s has results that are signed by the key %s, which is not trusted (remote.trust)",
			s.cache.Address(), query.Short(Digest(id)))
	}
	if counts.Full != nil {
		say("results are not uploaded to the cache %s: %v", s.cache.Address(), counts.Full)
	}
	if counts.LeftAlone {
		why := cmp.Or(counts.Failure, errors.New("it did not answer before"))
		say("the cache %s is left alone for a minute: %v", s.cache.Address(), why)
	}
	texts = slices.DeleteFunc(texts, func(text string) bool { return slices.Contains(s.warned, text) })
	s.warned = append(s.warned, texts...)
	return texts
}

// roots are the paths of this machine that a cache must not learn.
func (s *Session) roots() map[string]string {
	python := s.Python()
	return map[string]string{
		remote.RootHome:      s.getenv("HOME"),
		remote.RootWorkspace: s.options.Workspace,
		remote.RootPrefix:    python.Prefix,
		remote.RootBase:      python.BasePrefix,
	}
}

func (s *Session) getenv(name string) string { return kernel.Getenv(s.options.Environ, name) }
