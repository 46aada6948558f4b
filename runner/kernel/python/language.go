package python

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	source "github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/kernel/caches"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
)

// Name is what the registry calls Python.
const Name = "python"

// Semantics is the version of what the driver observes. It is part of every key, so raising it invalidates every user's
// results. Raise it when an earlier driver would have reported other reads, writes, digests or marks of some program.
const Semantics = 17

func init() {
	kernel.Register(kernel.Entry{Name: Name, Locate: locate,
		Identify: func(ctx context.Context, s kernel.Search, path string) (kernel.Language, error) {
			return Identify(ctx, s, path)
		}})
}

// locate is the registry's way to Find.
func locate(s kernel.Search) (kernel.Located, error) {
	environ := func(name string) string { return kernel.Getenv(s.Environ, name) }
	path, err := Find(s.Asked, s.Folder, environ)
	return kernel.Located{Path: path, Named: s.Asked != "" || environ("XSTATE_PYTHON") != "",
		Hint: "`--python " + path + "`"}, err
}

var _ kernel.Language = Interpreter{}

// Name returns "python".
func (i Interpreter) Name() string { return Name }

// Command returns the path of the interpreter.
func (i Interpreter) Command() string { return i.Path }

// Semantics names the driver by what it observes.
func (i Interpreter) Semantics() string { return fmt.Sprintf("%s %d", Name, Semantics) }

// Opening returns "docstring" for a text that begins with a string: in a program's first node it becomes __doc__.
func (i Interpreter) Opening(text []byte) string {
	rest := bytes.TrimLeft(text, "rRuU")
	if len(rest) > 0 && (rest[0] == '"' || rest[0] == '\'') {
		return "docstring"
	}
	return ""
}

// constructs are dynamic constructs whose reads are observed: the driver sees the code that they run, and the program's
// module and pandas report which names they are asked for. Any other construct is unobserved.
var constructs = map[string]kernel.Construct{
	"eval": kernel.Observed, "exec": kernel.Observed, "compile": kernel.Observed, "query @": kernel.Observed,
	"eval_str": kernel.Observed, "annotation": kernel.Observed, "__main__": kernel.Observed,
	"import *": kernel.Observed, "get_ipython": kernel.Observed, "%timeit": kernel.Observed,
	"getattr": kernel.Observed, "setattr": kernel.Observed, "delattr": kernel.Observed, "__import__": kernel.Observed,
	"sys.modules": kernel.ReachesModules, "__subclasses__": kernel.ListsClasses,
}

// Construct says what is observed of a dynamic construct.
func (i Interpreter) Construct(what string) kernel.Construct { return constructs[what] }

// Refusal is the error of a block that CPython does not compile, as CPython words it. A verdict with a column comes
// from the analysis, which knows the line.
func (i Interpreter) Refusal(block state.BlockID, source string, v kernel.Verdict) *state.ExecError {
	v.Type = cmp.Or(v.Type, "SyntaxError")
	e := &state.ExecError{Type: v.Type, Message: v.Message, Block: block, Line: v.Line}
	place := fmt.Sprintf("  File %q, line %d", "<"+string(block)+">", v.Line)
	if v.Column > 0 {
		place += fmt.Sprintf(", column %d", v.Column)
	}
	e.Traceback = []string{place}
	if lines := strings.Split(source, "\n"); v.Column > 0 && v.Line >= 1 && v.Line <= len(lines) {
		e.Traceback = append(e.Traceback, "    "+strings.TrimSpace(lines[v.Line-1]))
	}
	e.Traceback = append(e.Traceback, v.Type+": "+v.Message)
	return e
}

// transient are failures that another try may not have: they depend on the machine, or on a user's interrupt.
var transient = map[string]bool{
	"KeyboardInterrupt": true, "MemoryError": true, "BlockingIOError": true, "TimeoutError": true,
}

// Transient reports whether an exception does not prove that the code fails on these inputs.
func (i Interpreter) Transient(kind string) bool { return transient[kind] }

// Ends returns false: a failure leaves the interpreter as it is.
func (i Interpreter) Ends(string) bool { return false }

// Interrupted reports whether an exception is the one of an interrupt.
func (i Interpreter) Interrupted(kind string) bool { return kind == "KeyboardInterrupt" }

// Missing returns the name in the message of a NameError.
func (i Interpreter) Missing(e *state.ExecError) string {
	if e == nil || e.Type != "NameError" && e.Type != "UnboundLocalError" {
		return ""
	}
	name, found := strings.CutPrefix(e.Message, "name '")
	name, ends := strings.CutSuffix(name, "' is not defined")
	if !found || !ends {
		return ""
	}
	return name
}

// Environ returns the environment of a program.
func (i Interpreter) Environ(lines []string) map[string]string { return kernel.Environ(lines) }

// options is the first frame that the driver expects.
type options struct {
	File      string        `json:"file,omitempty"`
	Arguments []string      `json:"arguments,omitempty"`
	Imports   string        `json:"imports"` // the folder in which modules are looked for first
	Package   string        `json:"package,omitempty"`
	Script    bool          `json:"script,omitempty"`
	Stdin     string        `json:"stdin,omitempty"`
	Folder    string        `json:"folder"`
	Spool     string        `json:"spool"`
	Store     string        `json:"store"`
	Seed      uint64        `json:"seed"`
	Observe   string        `json:"observe,omitempty"`
	Check     string        `json:"check,omitempty"`
	IPython   bool          `json:"ipython,omitempty"`
	Guard     *kernel.Guard `json:"guard,omitempty"`
	Engines   []int         `json:"engines,omitempty"` // processes that the program may not signal
	// Caches are the folders of caches that libraries may fill.
	Caches   caches.Folders `json:"caches"`
	Recorded bool           `json:"recorded,omitempty"` // requests to the proxy of the environment are calls
}

// Start starts a kernel. Observe "static" forces the way to observe names of CPython before 3.12.
func (i Interpreter) Start(ctx context.Context, l kernel.Launch) (kernel.Kernel, error) {
	c := kernel.Command{
		Environ: kernel.EnvironLines(l.Environ), Folder: l.Folder, Spool: l.Spool, Calls: true, Recording: l.Recording,
		Sandbox: i.started(l.Sandbox, l.Environ, l.Driver),
		Options: options{
			File: l.File, Imports: cmp.Or(l.Imports.Folder, l.Folder), Package: l.Imports.Package,
			Script:    l.Script,
			Arguments: l.Arguments, Stdin: l.Stdin,
			Folder: l.Folder, Spool: l.Spool, Store: l.Store, Seed: l.Seed, Observe: l.Observe, Check: checked(),
			IPython: slices.Contains(l.Dialects, source.IPython), Guard: l.Guard,
			Engines: []int{os.Getpid()}, Recorded: l.Recording != nil,
			Caches: kernel.CacheFolders(l.Sandbox, kernel.EnvironLines(l.Environ)),
		},
	}
	if p := i.fork(ctx, l, c); p != nil {
		return kernel.NewDriven(p, c), nil
	}
	p, err := i.start(ctx, "main", l.Driver, c)
	if err != nil {
		return nil, err
	}
	return kernel.NewDriven(p, c), nil
}

// fork returns an interpreter that was forked from a template; nil: it is to start by itself.
func (i Interpreter) fork(ctx context.Context, l kernel.Launch, c kernel.Command) *kernel.Process {
	if l.Ahead == nil || c.Sandbox == nil {
		return nil
	}
	folder, err := installDriver(l.Driver)
	if err != nil || !isFile(filepath.Join(folder, driverRoot, nativeName)) {
		return nil
	}
	own := c.Options.(options)
	common := own // what a fork does not set for itself, see template.py
	common.Spool, common.Stdin, common.Arguments, common.Seed = "", "", nil, 0
	if own.File != "" {
		common.File = "file"
	}
	exact := own
	exact.Spool = ""
	plain := *c.Sandbox
	plain.System = slices.Clip(plain.System)
	options, request := must(json.Marshal(common)), must(json.Marshal(exact))
	return l.Ahead.Fork(ctx, i.Path+" "+folder+" "+string(options), string(request), c,
		func(ctx context.Context, spool string, door *os.File) (*kernel.Process, error) {
			plain.Observe, plain.Spool, plain.Journal = sandbox.LevelHooks, spool, ""
			own.Spool, own.Stdin = spool, ""
			made := c
			made.Options, made.Sandbox, made.Spool, made.Door = own, &plain, spool, door
			return i.start(ctx, "main", l.Driver, made)
		})
}

// checked says which values of what a node read are compared with what they were: "all" those that pure readers read,
// too, see pure_readers.py, and with "proofs" the driver fails where one of these changed. XSTATE_DEBUG requests both.
func checked() string {
	switch {
	case kernel.Debugged("check"):
		return "all"
	case kernel.Debugged("proofs"):
		return "proofs"
	}
	return ""
}

// helpers are processes that multiprocessing and joblib keep for the next pool, see sandbox.Spec.
var helpers = []string{"multiprocessing.resource_tracker", "multiprocessing.forkserver", "loky.backend"}

// Sandboxed implements kernel.Language: files of the interpreter and its packages are tools. An environment may lie in
// a folder with the workspace, or be one above it: so its own folders are named.
func (i Interpreter) Sandboxed(s sandbox.Spec, environ map[string]string) sandbox.Spec {
	s.System, s.Helpers = slices.Clone(s.System), helpers
	for _, prefix := range []string{i.Prefix, i.BasePrefix} {
		for _, name := range []string{"bin", "lib", "lib64", "include", "share", "pyvenv.cfg"} {
			s.AddTool(filepath.Join(prefix, name))
		}
	}
	if i.Launched() { // a script of pyenv's reads what else is there, to choose one
		s.AddTool(filepath.Dir(filepath.Dir(i.Path)))
	}
	if home := environ["HOME"]; filepath.IsAbs(home) {
		s.AddTool(filepath.Join(home, ".local", "lib"))
	}
	if s.Bounds != nil { // modules that lie elsewhere are not tools: what they hold is followed
		b, modules := *s.Bounds, filepath.SplitList(environ["PYTHONPATH"])
		b.Read = slices.Concat(b.Read, slices.DeleteFunc(modules, func(folder string) bool {
			return !filepath.IsAbs(folder)
		}))
		s.Bounds = &b
	}
	return s
}

// started is the sandbox of a process that is started with the driver.
func (i Interpreter) started(asked *sandbox.Spec, environ map[string]string, driver string) *sandbox.Spec {
	if asked == nil {
		return nil
	}
	s := i.Sandboxed(*asked, environ)
	if folder, err := installDriver(driver); err == nil {
		s.AddTool(folder)
	}
	if s.Record != nil {
		s.AddTool(s.Record.Roots)
	}
	return &s
}

// StartTests starts a process that collects and runs tests.
func (i Interpreter) StartTests(ctx context.Context, l kernel.TestLaunch) (*kernel.Process, error) {
	return i.start(ctx, "suite.main", l.Driver, kernel.Command{
		Environ: l.Environ, Folder: l.Folder, Spool: l.Spool, Options: l.Options,
		Sandbox: i.started(l.Sandbox, i.Environ(l.Environ), l.Driver),
	})
}

// bootstrap takes the current directory, which -c puts first, off the path: the kernel's own imports must not find the
// program's files.
const bootstrap = `import sys; sys.path[0] = sys.argv[1]; import xstate_kernel.bundle as b; ` +
	`m = b.load("%s", sys.argv[2]); del sys.path[0]; m.start()`

// makeBundle prints the compiled code of a module of the driver and of what it imports, see xstate_kernel/bundle.py.
const makeBundle = `import sys; sys.path.insert(0, sys.argv[1]); import xstate_kernel.bundle as b; ` +
	`b.make(sys.argv[2])`

// bundle returns the path of that code. The first time, the interpreter makes it, without what its environment adds to
// a start. It serves that interpreter alone, and what is made in bounds serves in bounds alone: a program may have made
// the interpreter, or what it loads. It is "" if there is none; the driver is compiled then.
func (i Interpreter) bundle(ctx context.Context, module, folder, install string, c kernel.Command) string {
	p := kernel.Probe{
		Path: i.Path, Args: []string{"-I", "-S", "-B", "-c", makeBundle, folder, module},
		Environ: c.Environ, Folder: c.Folder, Reads: []string{folder}, Cache: install,
		Memo: "bundle", Key: i.Identity(nil) + " " + folder + " " + module,
	}
	if c.Sandbox != nil && c.Sandbox.Bounds != nil {
		p.Bounds = c.Sandbox.Bounds
		p.Key += " bounded"
	}
	path, err := p.Kept(ctx)
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(path); err == nil && c.Sandbox != nil {
		c.Sandbox.System = append(c.Sandbox.System, real)
	}
	return path
}

// start starts the interpreter with a module of the driver.
func (i Interpreter) start(ctx context.Context, module, install string, c kernel.Command) (*kernel.Process, error) {
	if err := kernel.Nameable(c.Folder, install); err != nil {
		return nil, err
	}
	folder, err := installDriver(install)
	if err != nil {
		return nil, err
	}
	c.Args = []string{i.Path, "-c", fmt.Sprintf(bootstrap, module), folder, i.bundle(ctx, module, folder, install, c)}
	p, err := kernel.StartProcess(ctx, c)
	if bad := (*kernel.StartError)(nil); errors.As(err, &bad) {
		return nil, broken(i.Path, bad)
	}
	return p, err
}
