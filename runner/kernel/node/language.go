package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
)

// Name is what the registry calls the languages that Node runs.
const Name = "javascript"

// Semantics is the version of what the driver observes. It is part of every key, so raising it invalidates every user's
// results. Raise it when an earlier driver would have reported other reads, writes, digests or marks of some program.
const Semantics = 12

func init() {
	kernel.Register(kernel.Entry{Name: Name, Locate: locate, Identify: identify})
}

var _ kernel.Language = Interpreter{}

// Name returns "javascript".
func (i Interpreter) Name() string { return Name }

// Command returns the path of the interpreter.
func (i Interpreter) Command() string { return i.Path }

// Semantics names the driver by what it observes.
func (i Interpreter) Semantics() string { return fmt.Sprintf("%s %d", Name, Semantics) }

// Opening returns "": the first text of a program is read as any other.
func (i Interpreter) Opening([]byte) string { return "" }

// constructs are dynamic constructs whose reads are observed: whatever code they run, the program's names are
// properties of the global object.
var constructs = map[string]kernel.Construct{
	"eval": kernel.Observed, "Function": kernel.Observed, "new Function": kernel.Observed, "with": kernel.Observed,
	"import": kernel.Observed, "require": kernel.Observed, "setTimeout": kernel.Observed,
	"setInterval":         kernel.Observed,
	"vm.runInThisContext": kernel.Observed, "AsyncFunction": kernel.Observed, "GeneratorFunction": kernel.Observed,
}

// Construct says what is observed of a dynamic construct.
func (i Interpreter) Construct(what string) kernel.Construct { return constructs[what] }

// Refusal is the error of a block that Node does not accept, as it words it.
func (i Interpreter) Refusal(block state.BlockID, text string, v kernel.Verdict) *state.ExecError {
	v.Type = cmp.Or(v.Type, "SyntaxError")
	e := &state.ExecError{Type: v.Type, Message: v.Message, Block: block, Line: v.Line}
	place := fmt.Sprintf("<%s>:%d", block, v.Line)
	if v.Column > 0 {
		place += fmt.Sprintf(":%d", v.Column)
	}
	e.Traceback = []string{place}
	if lines := strings.Split(text, "\n"); v.Line >= 1 && v.Line <= len(lines) {
		e.Traceback = append(e.Traceback, "    "+strings.TrimSpace(lines[v.Line-1]))
	}
	e.Traceback = append(e.Traceback, v.Type+": "+v.Message)
	return e
}

// interrupted is the type of the failure that an interrupt makes.
const interrupted = "Interrupted"

// Transient reports whether a failure does not prove that the code fails on these inputs.
func (i Interpreter) Transient(kind string) bool { return kind == interrupted }

// Ends returns false: a failure leaves the interpreter as it is.
func (i Interpreter) Ends(string) bool { return false }

// Interrupted reports whether a failure is the one of an interrupt.
func (i Interpreter) Interrupted(kind string) bool { return kind == interrupted }

// Missing returns the name in the message of a ReferenceError.
func (i Interpreter) Missing(e *state.ExecError) string {
	if e == nil || e.Type != "ReferenceError" {
		return ""
	}
	name, found := strings.CutSuffix(e.Message, " is not defined")
	if !found || strings.ContainsAny(name, " '") {
		return ""
	}
	return name
}

// Environ returns the environment of a program.
func (i Interpreter) Environ(lines []string) map[string]string { return kernel.Environ(lines) }

// options is the first frame that the driver expects.
type options struct {
	File      string   `json:"file,omitempty"`
	Arguments []string `json:"arguments,omitempty"`
	Imports   string   `json:"imports"` // the folder in which modules are looked for first
	Stdin     string   `json:"stdin,omitempty"`
	Folder    string   `json:"folder"`
	Spool     string   `json:"spool"`
	Store     string   `json:"store"`
	Seed      string   `json:"seed"`
	Script    bool     `json:"script,omitempty"`
}

// Start starts a kernel.
func (i Interpreter) Start(ctx context.Context, l kernel.Launch) (kernel.Kernel, error) {
	folder, err := installDriver(l.Driver)
	if err != nil {
		return nil, err
	}
	if err := kernel.Nameable(l.Folder, l.Store); err != nil {
		return nil, err
	}
	// The descriptors 1 and 2 are to be the files that the engine reads. Node cannot put them in place, a shell can.
	c := kernel.Command{
		Args: []string{"/bin/sh", "-c", `exec "$0" "$@" <"$XSTATE_KERNEL_STDIN" >&5 2>&6`, i.Path,
			"--experimental-vm-modules", "--zero-fill-buffers", filepath.Join(folder, driverRoot, "main.js")},
		Environ: append(kernel.EnvironLines(l.Environ), "XSTATE_KERNEL_STDIN="+cmp.Or(l.Stdin, os.DevNull)),
		Folder:  l.Folder, Spool: l.Spool, Recording: l.Recording, Calls: true, OneCall: true,
		Sandbox: i.started(l.Sandbox, l.Environ, folder),
		Options: options{
			File: l.File, Imports: cmp.Or(l.Imports.Folder, l.Folder), Arguments: l.Arguments, Stdin: l.Stdin,
			Folder: l.Folder, Spool: l.Spool, Store: l.Store, Seed: fmt.Sprint(l.Seed),
			Script: l.Script,
		},
	}
	p, err := kernel.StartProcess(ctx, c)
	var bad *kernel.StartError
	if errors.As(err, &bad) {
		said, _ := kernel.ReadSpooled(filepath.Join(l.Spool, "stderr"))
		return nil, broken(i.Path, &kernel.StartError{Err: bad.Err, Stderr: bad.Stderr + string(said)})
	}
	if err != nil {
		return nil, err
	}
	return &nodeKernel{Driven: kernel.NewDriven(p, c), dialects: l.Dialects}, nil
}

// Sandboxed implements kernel.Language: files of Node and of its packages are tools.
func (i Interpreter) Sandboxed(s sandbox.Spec, _ map[string]string) sandbox.Spec {
	s.System = slices.Clone(s.System)
	s.AddTool(filepath.Dir(filepath.Dir(i.Path)))
	for d := range parents.Up(s.Folder) {
		if info, err := os.Stat(filepath.Join(d, "node_modules")); err == nil && info.IsDir() {
			s.System = append(s.System, filepath.Join(d, "node_modules"))
		}
	}
	return s
}

// started is the sandbox of a process that is started with the driver in folder.
func (i Interpreter) started(asked *sandbox.Spec, environ map[string]string, folder string) *sandbox.Spec {
	if asked == nil {
		return nil
	}
	s := i.Sandboxed(*asked, environ)
	s.AddTool(folder)
	return &s
}

// StartTests is refused: tests of node:test run as blocks.
func (i Interpreter) StartTests(context.Context, kernel.TestLaunch) (*kernel.Process, error) {
	return nil, &state.Error{
		Code:    "no-tests",
		Message: "tests in JavaScript and TypeScript are not collected",
		Hint:    "run the file as a program: `xstate run FILE`",
	}
}
