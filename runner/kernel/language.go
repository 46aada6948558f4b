package kernel

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/inspect"
)

// Language is an implementation of a programming language on this machine, such as one interpreter of Python: how its
// programs are read, what identifies it in keys, and how its kernels are started. It is immutable.
type Language interface {
	// Name is what the registry calls the language.
	Name() string
	// String names the interpreter and its version for people: "cpython 3.12.1".
	String() string
	// Command is the path of the interpreter.
	Command() string

	Keys
	Reading
	Failures

	// Environ returns the environment of a program, from one as NAME=value.
	Environ(lines []string) map[string]string
	// Sandboxed returns how its interpreter is observed and bounded, given what is common to all languages, and a
	// program's environment. It adds the folders of the interpreter and its packages.
	Sandboxed(s sandbox.Spec, environ map[string]string) sandbox.Spec
	// Start starts a kernel for a program, and StartTests a process that runs tests and speaks with its caller in
	// frames.
	Start(ctx context.Context, l Launch) (Kernel, error)
	StartTests(ctx context.Context, l TestLaunch) (*Process, error)
}

// Languages are the languages of one program, see package mixed.
type Languages interface {
	// Of returns the language of a dialect. The error has CodeUnknownLanguage, or says why the language cannot be had
	// on this machine.
	Of(d depgraph.Dialect) (Language, error)
	// Environ returns the environment of a program, from one as NAME=value.
	Environ(lines []string) map[string]string
	// String names the interpreters that were found.
	String() string
	// Start returns a kernel for programs in all of the languages.
	Start(ctx context.Context, l Launch) (Kernel, error)
}

// Keys are what a language contributes to keys of results.
type Keys interface {
	// Identity names the interpreter, and the variables of environ that it reads when it starts.
	Identity(environ map[string]string) string
	// Semantics names the language's driver by what it observes: results of drivers that observe the same may be
	// shared.
	Semantics() string
	// Opening says how the text of a program's first node is read otherwise than elsewhere; "" when it is not.
	Opening(text []byte) string
}

// Reading is what the engine must know of an analysis, besides the facts.
type Reading interface {
	// Construct says what the engine must know of a dynamic construct of an analysis.
	Construct(what string) Construct
}

// Construct is a kind of a dynamic construct.
type Construct int

// Kinds of constructs.
const (
	Unobserved     Construct = iota // it may read any name, and the kernel does not see which
	Observed                        // the kernel sees what it reads
	ListsClasses                    // observed; it lists the subclasses of a class
	ReachesModules                  // observed; it reaches every module that is loaded
)

// Failures are what a language knows of errors.
type Failures interface {
	// Refusal is the error of a block that the language does not accept. source is the text of the block.
	Refusal(block state.BlockID, source string, v Verdict) *state.ExecError
	// Transient reports whether a failure of a type does not prove that the code fails on the same inputs.
	Transient(kind string) bool
	// Ends reports whether a failure of a type ended the interpreter: what the program had left for its end has run.
	Ends(kind string) bool
	// Interrupted reports whether a failure of a type is how a program ends that was interrupted.
	Interrupted(kind string) bool
	// Missing returns the name of the variable whose absence made an execution fail; "" when the failure is another.
	Missing(e *state.ExecError) string
}

// Launch is what a kernel needs to start.
type Launch struct {
	Driver  string            // a folder in which the driver may be installed
	Environ map[string]string // the program's, as Environ returned it
	Folder  string            // the folder the program runs in; absolute
	File    string            // the program's own file; "" when it has none
	Imports ImportBase        // where imports begin
	// Script says that the program is a script and has no cells: figures stay open from block to block.
	Script bool
	// Arguments are those of the program, without its name. Stdin is a file with its standard input; "": that is empty
	Arguments []string
	Stdin     string
	Spool     string             // a folder for values in transit and what the program prints
	Store     string             // the folder of the store, which is not part of the workspace; absolute
	Seed      uint64             // for random number generators that programs do not seed
	Observe   string             // forces a way to observe, see the language; "" leaves the choice to the kernel
	Dialects  []depgraph.Dialect // the dialects of the program's blocks
	Guard     *Guard             // nil: the program may do what it likes
	// Sandbox is how the interpreter is observed and bounded; nil: not at all. The language adds the folders of its
	// own.
	Sandbox *sandbox.Spec
	// Recording makes calls of the program's requests over HTTP; nil: they are not recorded.
	Recording *Recording
	// Ahead is what the interpreter may have imported already; nil: nothing.
	Ahead *Ahead
}

// ImportBase says where the imports of a program begin.
type ImportBase struct {
	Folder  string // in which modules are looked for first; absolute; "" is the folder that the program runs in
	Package string // that relative imports start from; "" if the program is not a module of a package
}

// TestLaunch is what a process that runs tests needs to start.
type TestLaunch struct {
	Driver  string   // a folder in which the driver may be installed
	Environ []string // NAME=value
	Folder  string
	Spool   string
	Sandbox *sandbox.Spec // as of Launch
	Options any           // the first frame
}

// Guard keeps a program from effects that cannot be taken back: processes, the network, and changes of files elsewhere
// than it may. A forbidden attempt fails, and marks the node "refused". Of the folders that a file lies in, the
// innermost decides.
type Guard struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
}

// Kernel is an interpreter that lives. It answers one call at a time. An error that is ErrDied says that it is of no
// use any more; after another error it can be used, but what the call was to do may be done in part.
type Kernel interface {
	Program
	Values
	Surroundings

	// Inspect returns what the language shows of the value of a name, or of the part of it at a place. Nothing of the
	// program is called but what makes the text. Without a place there is no description.
	Inspect(ctx context.Context, name string, at *inspect.Place) (Inspected, error)

	// Level is how far the interpreter and its child processes are observed.
	Level() sandbox.Level
	// HasOpen reports whether the interpreter can read a file through a handle or a mapping.
	HasOpen(path string) bool
	// Listens reports whether the interpreter has a port: it listens with TCP, or has an address with UDP.
	Listens() bool
	// Exit says how the interpreter ended, once it has.
	Exit() string
	// Groups are the groups of processes that the interpreters lead.
	Groups() []int
	// Stop ends the interpreter. Unsent then puts out what it printed and did not send.
	Stop()
	Unsent(sink Sink)
	// Close ends the interpreter and gives up all that it holds.
	Close()
}

// Program is the part of a kernel that runs a program.
type Program interface {
	// Check returns the language's verdicts on blocks, in order.
	Check(ctx context.Context, blocks []Source) ([]Verdict, error)
	// Cite gives the kernel the texts of blocks, so that errors can cite them.
	Cite(ctx context.Context, c Citations) error
	// Execute runs a node. When ctx ends the node is interrupted, and the interpreter killed if that does not help.
	// With an error, the observation holds what is known: at least how long the node ran.
	Execute(ctx context.Context, n Node, sink Sink) (Observation, error)
}

// Values is the part of a kernel that holds the program's values.
type Values interface {
	// Bind changes which names are bound.
	Bind(ctx context.Context, b Binding) error
	// Store makes bytes of the values that names are bound to.
	Store(ctx context.Context, v Storing) (Stored, error)
	// Load binds a stored group.
	Load(ctx context.Context, l Loading) (Loaded, error)
}

// Surroundings is the part of a kernel that holds state other than the program's values.
type Surroundings interface {
	// Hidden returns generators, options or the working directory of a key as bytes; none where that cannot be.
	Hidden(ctx context.Context, key depgraph.Key) ([]byte, error)
	// SetHidden restores them, under the digest that they had. pristine: as they are before the first node.
	SetHidden(ctx context.Context, key depgraph.Key, d state.Digest, pristine bool, data []byte) error
	// SetEnviron sets variables; nil unsets one. first has libraries that the kernel may import later by itself.
	SetEnviron(ctx context.Context, set map[string]*string, first map[string]FirstImport) error
	// Import imports modules of libraries that the program has imported, ahead of the first node that needs them.
	Import(ctx context.Context, modules []string) error
	// Detach makes the interpreter forget files that are open, named as in Files.Open. It returns the paths of those
	// that a handle may still write: the caller puts other files there.
	Detach(ctx context.Context, files []string) (paths []string, err error)
	// Flush writes to files what handles hold of them in buffers, as the end of the program does.
	Flush(ctx context.Context) error
	// CloseDisplays forgets displays that are begun and not shown.
	CloseDisplays(ctx context.Context) error
	// Unload takes workspace modules from the interpreter, and with them what depends on them, or says that only a new
	// interpreter is without them.
	Unload(ctx context.Context, modules []string) (Unloaded, error)
	// Refresh unloads workspace modules whose files were edited, and forgets parked groups.
	Refresh(ctx context.Context) (Unloaded, error)
}

// KeyEnd is hidden state: whether a script has left something for its end, in the space of its language. Absent: it has
// not. The handlers and timers themselves are this state, or the interpreter's alone (Observation.Modules).
const KeyEnd depgraph.Key = "conf:exit"

// CodeUnknownLanguage is the code of errors about a language, or a dialect of one, that nothing here runs.
const CodeUnknownLanguage state.Code = "unknown-language"

// Entry is a language in the registry: one that can be found on a machine.
type Entry struct {
	// Name is that of the language's row in package lang, which has its dialects and the space of its names.
	Name string
	// Locate returns the path of the interpreter that a search leads to. The error says what to install, or to name.
	Locate func(s Search) (Located, error)
	// Identify asks the interpreter at a path what it is. The error says why it cannot be used.
	Identify func(ctx context.Context, s Search, path string) (Language, error)
}

// Located is an interpreter that a search led to.
type Located struct {
	Path  string
	Named bool   // the user named the interpreter itself
	Hint  string // how the user names one
}

// Space begins the names of the language's programs in keys ("js" in "var:js:rows"); "": they have no prefix.
func (e Entry) Space() string {
	v, _ := lang.Of(depgraph.Dialect(e.Name))
	return v.Language.Space
}

// Find returns the implementation that a search leads to.
func (e Entry) Find(ctx context.Context, s Search) (Language, error) {
	at, err := e.Locate(s)
	if err == nil && s.Known != nil {
		err = s.Known.Check(at.Path, at.Named, at.Hint)
	}
	if err != nil {
		return nil, err
	}
	return e.Identify(ctx, s, at.Path)
}

// Interpreters returns the paths of the interpreters that programs in a folder may use.
func (s Search) Interpreters() (paths []string) {
	for _, e := range registry {
		if at, err := e.Locate(s); err == nil {
			paths = append(paths, at.Path)
		}
	}
	return paths
}

// Search is where an implementation of a language is looked for.
type Search struct {
	Asked   string   // the path or name of an interpreter; "": any will do
	Folder  string   // that the program runs in
	Environ []string // the program's, NAME=value
	Cache   string   // a folder for what is found out, where the user has none
	// Bounds are those of the program; nil: it has none. An interpreter is asked what it is in bounds, too, see Probe.
	Bounds *sandbox.Bounds
	Known  *Interpreters // nil: any interpreter may be used
}

// Command locates the interpreter asked for, the one that a variable names, or the command of a name on the path.
func (s Search) Command(variable, name string) (Located, error) {
	asked := cmp.Or(s.Asked, Getenv(s.Environ, variable))
	at := Located{Path: cmp.Or(asked, name), Named: asked != ""}
	path, err := LookPath(at.Path, Getenv(s.Environ, "PATH"))
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return at, err
	}
	at.Path, at.Hint = path, variable+"="+path
	return at, nil
}

// Probe returns a question to the interpreter at a path.
func (s Search) Probe(path string, args ...string) Probe {
	return Probe{Path: path, Args: args, Environ: s.Environ, Folder: s.Folder, Bounds: s.Bounds, Cache: s.Cache}
}

// registry holds the languages by name. The packages of languages fill it when the program starts.
var registry = map[string]Entry{}

// Register adds a language. Only init functions may call it. It panics when there is one of that name, or when package
// lang has no row of that name.
func Register(e Entry) {
	if v, ok := lang.Of(depgraph.Dialect(e.Name)); !ok || v.Language.Name != e.Name {
		panic("kernel: internal error: no language has the name " + e.Name)
	}
	if _, twice := registry[e.Name]; twice {
		panic("kernel: internal error: two languages of the name " + e.Name)
	}
	registry[e.Name] = e
}

// Lookup returns the language of a dialect. The error is that of Unknown.
func Lookup(dialect depgraph.Dialect) (Entry, error) {
	if v, ok := lang.Of(dialect); ok {
		if e, ok := registry[v.Language.Name]; ok {
			return e, nil
		}
	}
	return Entry{}, Unknown(dialect)
}

// Unknown returns the error about a dialect that nothing here runs. Its hint names what there is.
func Unknown(dialect depgraph.Dialect) error {
	var known []string
	for _, d := range lang.Dialects() {
		if v, _ := lang.Of(d); registry[v.Language.Name].Name != "" {
			known = append(known, string(d))
		}
	}
	slices.Sort(known)
	return &state.Error{
		Code:    CodeUnknownLanguage,
		Message: fmt.Sprintf("there is no language %q", dialect),
		Hint:    "a block's language is one of: " + strings.Join(known, ", "),
	}
}

// LookupSpace returns the language of a space.
func LookupSpace(space string) (Entry, error) {
	if l, ok := lang.InSpace(space); ok {
		if e, ok := registry[l.Name]; ok {
			return e, nil
		}
	}
	return Entry{}, &state.Error{Code: CodeUnknownLanguage, Message: fmt.Sprintf("no language has the space %q", space),
		Hint: "this build lacks the language: build it anew with it"}
}
