package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/basestate"
	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/machine"
	"github.com/xstate-engine/xstate/runner/remote"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/runner/sandbox/secret"
	"github.com/xstate-engine/xstate/state"
)

// Config configures an Engine.
type Config struct {
	Store     *state.Store
	Session   string // separates what killed sessions of one store leave
	Workspace string // the folder the program runs in; absolute
	File      string // the program's own file, for __file__; "" when it has none
	Imports   kernel.ImportBase
	Script    bool // see kernel.Launch
	// Ends: the program is a script that ends after its last node. Its exit handlers and timers then run.
	Ends      bool
	Languages kernel.Languages
	Seed      uint64   // for random number generators that programs do not seed
	Observe   string   // see kernel.Launch
	Environ   []string // the program's, NAME=value
	Files     map[string]state.FileRecord
	OnFiles   func(map[string]state.FileRecord) error // keeps Files, whenever a node wrote one; may be nil
	Scratch   string                                  // a folder for values in transit; the store when empty
	// Relatives returns the files of other versions of the program in this workspace; may be nil.
	Relatives func() ([]map[string]state.FileRecord, error)
	// Volatile is code that produced different results from the same state; its nodes are marked.
	Volatile map[state.Digest]bool
	// Anew: the workspace is recreated for each engine, so digests of its files are not remembered.
	Anew  bool
	Guard *Guard // nil: the program may do what it likes
	// Level is how far the interpreter is observed; "": as far as the system offers. Bounds are what its processes may
	// do; nil: everything.
	Level  sandbox.Level
	Bounds *sandbox.Bounds
	// Journal makes and remembers the calls of the program; nil: no tools
	Journal *journal.Journal
	// Recording makes calls of the program's requests over HTTP; nil: they are not recorded.
	Recording *kernel.Recording
	// Secrets are kept out of all records.
	Secrets *secret.Set
	// Templates keeps interpreters that new ones are forked from; nil: each starts by itself.
	Templates *kernel.Templates
	// Invocation: its arguments and its standard input
	Invocation Invocation
	// Cache has the results of others; nil: there is none. Roots are the paths that it must not learn, by their names,
	// see remote.RootNames.
	Cache *remote.Cache
	Roots map[string]string
	// Executor executes nodes on other machines that have the Platform; nil: there is none.
	Executor remote.Executor
	Platform map[string]string
	// Interpreter is the path of that of Python; "": none was found
	Interpreter string
	// UploadWait bounds how long Close waits for uploads; 0: see waitForUploads.
	UploadWait time.Duration
}

// Guard prevents a program from causing effects that cannot be undone.
type Guard = kernel.Guard

// Engine plans and runs programs of one session. It is not safe for concurrent use.
type Engine struct {
	cfg         Config
	options     keyOptions
	baseState   *basestate.State
	end         *programState // after the last run; nil if it did not reach the end
	facts       map[state.Digest]*depgraph.Facts
	dialects    []depgraph.Dialect // those of the program that was analysed last
	keys        map[unitPlace][]nodeKeys
	valid       map[state.Digest]bool // blocks that the language accepts, by factsKey
	environ     map[string]string
	kernel      kernel.Kernel // nil: none is started
	kernelState kernelState
	foreign     bool // the last interpreter has loaded a value of a foreign store, see trust
	ledger      ledger
	backlog     backlog
	parts       sync.Map        // state.Digest → true: parts of values that the store was given, or gave, see lost
	spool       *beneath.Folder // see spool.go; nil: none is made
	others      []*Engine       // that execute nodes ahead of their turn
	stale       bool            // set on one of others: a run has begun since it executed last
	isolated    bool            // files are restored after the runs, see Isolated

	// versions has the module: keys of packages at the end of the last run.
	versions  map[depgraph.Key]state.Digest
	boundary  boundary
	spoolLock *state.Lock
	saved     map[string]state.FileRecord // cfg.Files as it is kept
	shared    shared
	compared  int                   // traces, see Work
	kept      map[state.Digest]bool // contents of files that were offered to the store, see keepInput
}

// shared is what an engine knows of its cache, and of what its results depend on.
type shared struct {
	// roots are those of Config. tools are the interpreter's, which a record may name for any key, and pure has the
	// home beside them.
	roots, tools, pure *remote.Roots

	program []*node                       // the nodes of the program that was analysed last
	ahead   bool                          // the cache was asked for their keys
	weak    map[state.Digest]state.Digest // code → weak fingerprint
	asked   map[state.Digest]bool         // values that the cache was asked for
	offered map[state.Digest]bool         // traces and groups that were offered to it
	values  []state.Digest                // groups that may be stored later, see offerValues
	taken   map[state.Digest]bool         // traces that were taken over, and that no outcome has counted
	// withheld is that of remote.Upload, for the program that ran last.
	withheld func(io.Reader) (bool, error)

	facts              map[state.Digest]machine.Fact // code → what its text may ask for
	functions, modules *machine.Fact                 // nil: they are not known yet
	machine            map[machine.Fact]string
}

func newShared(cfg *Config) shared {
	only := func(names ...string) *remote.Roots {
		paths := map[string]string{}
		for _, name := range names {
			paths[name] = cfg.Roots[name]
		}
		return remote.NewRoots(paths)
	}
	return shared{
		roots: remote.NewRoots(cfg.Roots), tools: only(remote.RootPrefix, remote.RootBase),
		pure: only(remote.RootPrefix, remote.RootBase, remote.RootHome),
		weak: map[state.Digest]state.Digest{}, asked: map[state.Digest]bool{}, offered: map[state.Digest]bool{},
		taken: map[state.Digest]bool{}, facts: map[state.Digest]machine.Fact{}, machine: map[machine.Fact]string{},
	}
}

// identity names the interpreter. It says whether the program is a script, and where imports begin, unless that is the
// workspace.
func identity(l kernel.Language, cfg Config, environ map[string]string) string {
	text, i := l.Identity(environ), cfg.Imports
	if cfg.Script {
		text += ", script"
	}
	rel, err := filepath.Rel(cfg.Workspace, i.Folder)
	if i.Folder == "" || err == nil && rel == "." && i.Package == "" {
		return text
	}
	return fmt.Sprintf("%s, imports from %q in package %q", text, rel, i.Package)
}

// ProgramEnviron returns the environment of the program, as NAME=value.
func (cfg *Config) ProgramEnviron() []string {
	return kernel.EnvironLines(cfg.Languages.Environ(cfg.Environ))
}

// script returns the file of a script that ends; "" for any other program.
func (cfg *Config) script() string {
	if !cfg.Ends {
		return ""
	}
	return cfg.File
}

// New returns an engine. No interpreter is started until one is needed.
func New(cfg Config) (*Engine, error) {
	workspace, err := filepath.EvalSymlinks(cfg.Workspace)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, state.NoWorkspace(cfg.Workspace, err)
	}
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	cfg.Workspace = workspace
	environ := cfg.Languages.Environ(cfg.Environ)
	if cfg.Files == nil {
		cfg.Files = map[string]state.FileRecord{}
	}
	store, err := filepath.Abs(cfg.Store.Dir())
	if err != nil {
		return nil, err
	}
	bounds := newBoundary(sandbox.Spec{Folder: workspace, Store: store, Bounds: cfg.Bounds}, cfg.Languages, environ)
	return &Engine{
		cfg:      cfg,
		boundary: bounds,
		options: keyOptions{cfg.Languages, cfg.Observe,
			func(l kernel.Language) string { return identity(l, cfg, environ) }, map[string]string{}, cfg.script()},
		baseState: basestate.New(basestate.Options{Store: cfg.Store, Anew: cfg.Anew, Workspace: workspace,
			File: cfg.File, Environ: environ, Secret: cfg.Secrets.Digest, Forbids: bounds.forbids, Seed: cfg.Seed,
			Records: cfg.Files, Call: recordedCalls(cfg.Journal),
			Arguments: cfg.Invocation.Arguments, Stdin: func() []byte { return cfg.Invocation.content(cfg.Store) }}),
		facts:   map[state.Digest]*depgraph.Facts{},
		keys:    map[unitPlace][]nodeKeys{},
		valid:   map[state.Digest]bool{},
		environ: environ,
		ledger:  ledger{deferred: map[groupDigest]deferral{}, again: map[groupDigest]float64{}},
		saved:   maps.Clone(cfg.Files),
		kept:    map[state.Digest]bool{},
		shared:  newShared(&cfg),
	}, nil
}

// Files returns what the engine knows of the files that the program writes; it goes with the session.
func (e *Engine) Files() map[string]state.FileRecord { return maps.Clone(e.cfg.Files) }

// unsaved reports whether the records of files differ from the stored ones.
func (e *Engine) unsaved() bool { return !maps.Equal(e.cfg.Files, e.saved) }

// SetFiles passes the engine the records of the files that the program writes, since another engine may have run it.
func (e *Engine) SetFiles(files map[string]state.FileRecord) {
	if e.unsaved() {
		return // this engine's records are newer
	}
	clear(e.cfg.Files)
	maps.Copy(e.cfg.Files, files)
	e.saved = files
}

// ForgetFiles drops the records of the files that are as the program left them: they count as files of the workspace.
// Edited files stay recorded, so that a run does not overwrite them unasked.
func (e *Engine) ForgetFiles() {
	maps.DeleteFunc(e.cfg.Files, func(name string, r state.FileRecord) bool {
		return e.baseState.OnDisk(name) == r.Left
	})
}

func (e *Engine) analyse(blocks []state.ProgramBlock) ([]*unit, []*node) {
	e.dialects = dialectsOf(blocks)
	units, nodes := analyse(blocks, e.options, e.facts, e.keys, func(u *unit) *state.ExecError {
		if u.compileChecked = e.valid[factsKey(u.ProgramBlock)]; u.compileChecked {
			return nil
		}
		refusal := e.refused(u)
		if u.compileChecked && refusal == nil {
			e.valid[factsKey(u.ProgramBlock)] = true
		}
		return refusal
	})
	e.shared.program, e.shared.ahead, e.shared.functions = nodes, false, nil
	return units, nodes
}

// traces returns the traces of a code that can be reused, newest first.
func (e *Engine) traces(code state.Digest) ([]state.StoredTrace, error) {
	traces, err := e.cfg.Store.Traces(code)
	return lasting(traces), err
}

// lasting leaves out the traces that say nothing about the next execution.
func lasting(traces []state.StoredTrace) []state.StoredTrace {
	return slices.DeleteFunc(traces, func(t state.StoredTrace) bool { return t.Once })
}

// Close stores deferred values that are costly to compute, for about a tenth of the time spent executing. It then ends
// the interpreter, if there is one.
func (e *Engine) Close() error {
	err := e.storeDeferred(context.Background())
	e.offerValues()
	err = errors.Join(err, e.flushFiles(context.Background()))
	e.dropKernel()
	for _, other := range e.others {
		other.dropKernel()
	}
	e.others = nil
	e.waitForUploads()
	return err
}

// Checkpoint stores what Close would, and keeps the interpreter. The engine's next use may be far away.
func (e *Engine) Checkpoint(ctx context.Context) error {
	err := e.storeDeferred(ctx)
	e.offerValues()
	return err
}

// HasOpen reports whether the program has files open. Data written to them may not be on disk until Close.
func (e *Engine) HasOpen() bool { return e.kernel != nil && len(e.kernelState.open) > 0 }

// HasRunning reports whether something of the program still runs that ends with a program under its interpreter alone:
// child processes, or what has a port.
func (e *Engine) HasRunning() bool {
	return e.kernel != nil && (e.kernelState.running != state.Absent || e.kernel.Listens())
}

// Groups are the groups of processes that the engine keeps.
func (e *Engine) Groups() (groups []int) {
	for _, x := range append([]*Engine{e}, e.others...) {
		if x.kernel != nil {
			groups = append(groups, x.kernel.Groups()...)
		}
	}
	return groups
}

// spaces are those of the languages of the program.
func (e *Engine) spaces() map[string]bool {
	found := map[string]bool{}
	for _, d := range e.dialects {
		if l, err := kernel.Lookup(d); err == nil {
			found[l.Space()] = true
		}
	}
	return found
}

// ownGroups are those of the interpreters that execute nodes in their turn.
func (e *Engine) ownGroups() []int {
	if e.kernel == nil {
		return nil
	}
	return e.kernel.Groups()
}

// SetEnviron changes variables of the environment that the program begins with, as if the engine were made with them.
// A kernel that runs has the former values: they count as what a node set, and the kernel is given the new ones before
// a node runs. The interpreter must not read these variables when it starts.
func (e *Engine) SetEnviron(variables map[string]*string) {
	for name, value := range variables {
		for space := range e.spaces() {
			k := depgraph.Key("env:" + name).In(space)
			if _, differs := e.kernelState.environ[k]; !differs && e.kernel != nil {
				e.kernelState.environ[k] = nil
				if was, ok := e.environ[name]; ok {
					e.kernelState.environ[k] = &was
				}
			}
		}
		if delete(e.environ, name); value != nil {
			e.environ[name] = *value // the base state has the same map
		}
	}
	for _, other := range e.others {
		other.dropKernel()
	}
	e.others = nil
}

func (e *Engine) dropKernel() {
	if e.kernel != nil {
		e.kernel.Close()
		e.kernel = nil
	}
	e.kernelState = newKernelState()
	e.backlog.all.Wait() // for files of the spool
	e.dropSpool()
}

// abort ends the interpreter after an error of the engine, and goes back to the records of files that are kept. Then it
// notes what is in the files that were announced since: else the next run takes them for edits. Where that fails as
// well, the next run does it.
func (e *Engine) abort(err error) error {
	e.dropKernel()
	if e.cfg.OnFiles != nil {
		clear(e.cfg.Files)
		maps.Copy(e.cfg.Files, e.saved)
	}
	e.baseState.Begin()
	if bad := e.recoverFiles(); bad != nil {
		debugf("kernel", "after %v: %v", err, bad)
	}
	return err
}

// verdictKey names the verdict of the language on a block.
func (e *Engine) verdictKey(u *unit) string {
	return string(state.DigestOf(fmt.Appendf(nil, "compile %s %q %s", e.options.interpreter(u.language), u.Dialect,
		u.Version)))
}

// refused returns the error of a block that the language is known not to accept, in its words: one that does not parse,
// or one that does and has a "return" outside a function.
func (e *Engine) refused(u *unit) *state.ExecError {
	data, ok := e.cfg.Store.Memo("compile", e.verdictKey(u))
	if !ok {
		return nil
	}
	u.compileChecked = true
	var v kernel.Verdict
	if json.Unmarshal(data, &v) != nil || v.Valid {
		return nil
	}
	if u.unparsed == nil || lineOf(string(u.unparsed), v.Line) != lineOf(u.Source, v.Line) {
		v.Column = 0 // it is in the block without its magics, which is not the text that people see
	}
	return u.language.Refusal(u.ID, u.Source, v)
}

// lineOf returns a line of a text, from 1, without blanks around it.
func lineOf(text string, line int) string {
	for l := range strings.Lines(text) {
		if line--; line == 0 {
			return strings.TrimSpace(l)
		}
	}
	return ""
}

// compile asks the language for its verdict on every block whose verdict is not known. It reports whether all are as
// the analysis found them: a block that is refused from now on does not run, and one that does not parse has
// other words.
func (e *Engine) compile(ctx context.Context, units []*unit) (bool, error) {
	var asked []*unit
	var blocks []kernel.Source
	for _, u := range units {
		if u.compileChecked { // analyse has seen a refusal
			continue
		}
		source := kernel.Source{Filename: u.filename(), Dialect: u.Dialect, Text: u.unparsed}
		if u.facts != nil {
			source.Text, source.Future = u.facts.Code, u.facts.Features
		}
		if source.Text != nil {
			asked, blocks = append(asked, u), append(blocks, source)
		}
	}
	if len(asked) == 0 {
		return true, nil
	}
	verdicts, err := e.kernel.Check(ctx, blocks)
	if err != nil {
		return false, err
	}
	all := true
	for i, v := range verdicts {
		data, err := json.Marshal(v)
		if err != nil {
			return false, err
		}
		if err := e.cfg.Store.PutMemo("compile", e.verdictKey(asked[i]), data); err != nil {
			return false, err
		}
		all = all && v.Valid
	}
	return all, nil
}
