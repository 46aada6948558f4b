package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// Config is what an Engine works with.
type Config struct {
	Store     *state.Store
	Session   string      // tells apart what several sessions of a store leave when they are killed
	Workspace string      // the folder the program runs in; absolute
	File      string      // the program's own file, for __file__; "" when it has none
	Python    Interpreter // see FindPython and Identify
	Seed      uint64      // of random and numpy.random, for programs that do not seed them
	Observe   string      // "static" forces the observation of CPython before 3.12
	Environ   []string    // of the program, NAME=value
	Files     map[string]FileRecord
	OnFiles   func(map[string]FileRecord) error       // keeps Files, whenever a node wrote one; may be nil
	Scratch   string                                  // a folder for values in transit; the store when empty
	Relatives func() ([]map[string]FileRecord, error) // Files of the sessions in this workspace that are versions of the same program; may be nil
	Volatile  map[state.Digest]bool                   // code that came to something else from the same state: it is marked
	Anew      bool                                    // the workspace is made anew for each engine: digests of its files are not remembered
	Guard     *Guard                                  // nil: the program may do what it likes
}

// Guard keeps a program from effects that cannot be taken back: processes, the network, and changes of files elsewhere than it
// may. What it tries fails, and marks the node "refused". Of the folders that a file lies in, the innermost decides.
type Guard struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
}

// Engine plans and runs programs of one session. It is not safe for concurrent use.
type Engine struct {
	cfg         Config
	options     keyOptions
	baseState   *baseState
	facts       map[state.Digest]*depgraph.Facts
	environ     map[string]string
	kernel      *kernel
	kernelState kernelState
	ledger      ledger
	backlog     backlog
	spool       string    // see journal.go
	others      []*Engine // that execute nodes ahead of their turn
	stale       bool      // of one of these: a run has begun since it executed last

	spoolLock *state.Lock
	saved     map[string]FileRecord // cfg.Files as it is kept
	compared  int                   // traces, see Work
	kept      map[state.Digest]bool // contents of files that were offered to the store, see keepInput
}

// New returns an engine. No interpreter is started until one is needed.
func New(cfg Config) (*Engine, error) {
	workspace, err := filepath.EvalSymlinks(cfg.Workspace)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	cfg.Workspace = workspace
	environ := environOfProgram(cfg.Environ)
	if cfg.Files == nil {
		cfg.Files = map[string]FileRecord{}
	}
	return &Engine{
		cfg:       cfg,
		options:   keyOptions{interpreter: cfg.Python.identity(environ), observe: cfg.Observe},
		baseState: newBaseState(cfg, workspace, environ, cfg.Files),
		facts:     map[state.Digest]*depgraph.Facts{},
		environ:   environ,
		ledger:    ledger{deferred: map[groupDigest]deferral{}, again: map[groupDigest]float64{}},
		saved:     maps.Clone(cfg.Files),
		kept:      map[state.Digest]bool{},
	}, nil
}

// environOfProgram returns the environment of a program, from one as NAME=value.
func environOfProgram(lines []string) map[string]string {
	environ := map[string]string{}
	for _, line := range lines {
		if name, value, ok := strings.Cut(line, "="); ok && name != "" && !strings.HasPrefix(name, "XSTATE_") {
			environ[name] = value
		}
	}
	environ["PYTHONHASHSEED"] = "0"
	delete(environ, "PYTHONSAFEPATH")
	delete(environ, "PYTHONSTARTUP")
	if environ["MPLBACKEND"] == "" {
		environ["MPLBACKEND"] = "Agg"
	}
	return environ
}

func environList(environ map[string]string) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		lines = append(lines, name+"="+environ[name])
	}
	return lines
}

// Files returns what the engine knows of the files that the program writes; it goes with the session.
func (e *Engine) Files() map[string]FileRecord { return maps.Clone(e.cfg.Files) }

// unsaved reports whether the records of files are others than those kept.
func (e *Engine) unsaved() bool { return !maps.Equal(e.cfg.Files, e.saved) }

// SetFiles tells the engine what is recorded of the files that the program writes: another engine may have run it.
func (e *Engine) SetFiles(files map[string]FileRecord) {
	if e.unsaved() {
		return // this one knows better
	}
	clear(e.cfg.Files)
	maps.Copy(e.cfg.Files, files)
	e.saved = files
}

func (e *Engine) analyse(blocks []Block) ([]*unit, []*node) {
	return analyse(blocks, e.options, e.facts, e.refused)
}

// traces returns the traces of a code, newest first.
func (e *Engine) traces(code state.Digest) ([]state.StoredTrace, error) {
	return e.cfg.Store.Traces(code)
}

// Close stores values that are worth it, for about a tenth of the time that was spent executing, and ends the interpreter, if there
// is one.
func (e *Engine) Close() error {
	err := e.storeDeferred(context.Background())
	e.dropKernel()
	for _, other := range e.others {
		other.dropKernel()
	}
	e.others = nil
	return err
}

func (e *Engine) dropKernel() {
	if e.kernel != nil {
		e.kernel.stop()
		e.kernel.release()
		e.kernel = nil
	}
	e.kernelState = newKernelState()
	e.backlog.all.Wait() // for files of the spool
	e.dropSpool()
}

// need starts the kernel if it does not run.
func (e *Engine) need(ctx context.Context, w *walk) error {
	if e.kernel != nil {
		return nil
	}
	folder, err := installDriver(e.cfg.Store.Dir())
	if err != nil {
		return err
	}
	if err := e.recoverFiles(); err != nil {
		return err
	}
	if e.spool == "" {
		if err := e.makeSpool(); err != nil {
			return fmt.Errorf("make a folder for values in transit: %w", err)
		}
	}
	e.kernelState = newKernelState()
	w.cited = false
	store, err := filepath.Abs(e.cfg.Store.Dir())
	if err != nil {
		return err
	}
	e.kernel, err = startKernel(ctx, e.cfg.Python.Path, folder, environList(e.environ), kernelOptions{
		File: e.cfg.File, Folder: e.cfg.Workspace, Spool: e.spool, Store: store, Seed: e.cfg.Seed, Observe: e.cfg.Observe, IPython: w.ipython, Guard: e.cfg.Guard,
	})
	return err
}

// compileMemo is CPython's verdict on a block.
type compileMemo struct {
	Valid   bool   `json:"valid"`
	Type    string `json:"type"`
	Message string `json:"message"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
}

func (e *Engine) compileKey(u *unit) string {
	return string(state.DigestOf(fmt.Appendf(nil, "compile %s %q %s", e.options.interpreter, u.Dialect, u.Version)))
}

// refused returns the error of a block that parses but that CPython is known not to compile ("return" outside a function).
func (e *Engine) refused(u *unit) *state.ExecError {
	data, ok := e.cfg.Store.Memo("compile", e.compileKey(u))
	if !ok {
		return nil
	}
	u.judged = true
	var m compileMemo
	if json.Unmarshal(data, &m) != nil || m.Valid {
		return nil
	}
	return &state.ExecError{Type: m.Type, Message: m.Message, Block: u.ID, Line: m.Line,
		Traceback: []string{fmt.Sprintf("  File %q, line %d", u.filename(), m.Line), m.Type + ": " + m.Message}}
}

// compile asks CPython for its verdict on every block that it was not asked about before. It reports whether all may run.
func (e *Engine) compile(ctx context.Context, units []*unit) (bool, error) {
	type block struct {
		Filename string   `json:"filename"`
		Future   []string `json:"future"`
		Bytes    int      `json:"bytes"`
	}
	var asked []*unit
	var blocks []block
	var text []byte
	for _, u := range units {
		if u.facts != nil && !u.judged { // a refusal was seen by analyse
			asked, text = append(asked, u), append(text, u.facts.Code...)
			blocks = append(blocks, block{u.filename(), u.facts.Features, len(u.facts.Code)})
		}
	}
	if len(asked) == 0 {
		return true, nil
	}
	var reply struct {
		Verdicts []compileMemo `json:"verdicts"`
	}
	if _, err := e.kernel.request(ctx, map[string]any{"op": "compile", "blocks": blocks}, text, &reply, nil); err != nil {
		return false, err
	}
	all := true
	for i, m := range reply.Verdicts {
		data, err := json.Marshal(m)
		if err != nil {
			return false, err
		}
		if err := e.cfg.Store.PutMemo("compile", e.compileKey(asked[i]), data); err != nil {
			return false, err
		}
		all = all && m.Valid
	}
	return all, nil
}
