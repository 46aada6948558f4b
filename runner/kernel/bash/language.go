package bash

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
)

// Name is what the registry calls Bash.
const Name = "bash"

// Semantics is the version of what the driver observes. It is part of every key, so raising it invalidates every user's
// results. Raise it when an earlier driver would have reported other reads, writes, digests or marks of some program.
const Semantics = 9

func init() {
	kernel.Register(kernel.Entry{Name: Name, Locate: locate, Identify: identify})
}

var _ kernel.Language = Interpreter{}

// Name returns "bash".
func (i Interpreter) Name() string { return Name }

// Command returns the path of the interpreter.
func (i Interpreter) Command() string { return i.Path }

// Semantics names the driver by what it observes.
func (i Interpreter) Semantics() string { return fmt.Sprintf("%s %d", Name, Semantics) }

// Opening returns "": the first text of a program is read as any other.
func (i Interpreter) Opening([]byte) string { return "" }

// Construct returns Observed: the kernel itself reports which names a construct may read, see uses.
func (i Interpreter) Construct(string) kernel.Construct { return kernel.Observed }

// Types of failures.
const (
	typeSyntax      = "SyntaxError"
	typeShell       = "ShellError" // an error that ends a shell
	typeNoPlainForm = "NoPlainForm"
)

// Refusal is the error of a block that does not parse.
func (i Interpreter) Refusal(block state.BlockID, text string, v kernel.Verdict) *state.ExecError {
	v.Type = cmp.Or(v.Type, typeSyntax)
	e := &state.ExecError{Type: v.Type, Message: v.Message, Block: block, Line: v.Line}
	e.Traceback = []string{fmt.Sprintf("<%s>: line %d: %s", block, v.Line, v.Message)}
	if lines := strings.Split(text, "\n"); v.Line >= 1 && v.Line <= len(lines) {
		e.Traceback = append(e.Traceback, "    "+strings.TrimSpace(lines[v.Line-1]))
	}
	return e
}

// Transient returns false: an interrupt ends the interpreter, which the engine distinguishes from failures.
func (i Interpreter) Transient(string) bool { return false }

// Ends reports that the shell has ended, and has executed its handler of EXIT.
func (i Interpreter) Ends(kind string) bool { return kind == typeShell }

// Interrupted returns false: an interrupt ends the interpreter.
func (i Interpreter) Interrupted(string) bool { return false }

// Missing returns the name in the message about an unset variable.
func (i Interpreter) Missing(e *state.ExecError) string {
	if e == nil || e.Type != typeShell {
		return ""
	}
	return missing(e.Message)
}

// missing returns the name that a message of Bash calls unset; "" when the message is another.
func missing(message string) string {
	name, what, _ := strings.Cut(message, ": ")
	switch what {
	case "unbound variable", "parameter not set", "parameter null or not set":
		name, _, _ = strings.Cut(name, "[")
		return name
	}
	return ""
}

// Environ returns the environment of a program.
func (i Interpreter) Environ(lines []string) map[string]string { return kernel.Environ(lines) }

// Start starts a kernel.
func (i Interpreter) Start(ctx context.Context, l kernel.Launch) (kernel.Kernel, error) {
	s := &session{interpreter: i, launch: l}
	k := &bashKernel{session: s}
	return k, k.start(ctx)
}

// nameOf is what Bash is to call the program's file.
func nameOf(l kernel.Launch) string {
	if l.File == "" {
		return Name
	}
	name, err := filepath.Rel(l.Folder, l.File)
	if err != nil || strings.HasPrefix(name, "..") {
		return filepath.Base(l.File)
	}
	return name
}

// start starts the process of a kernel.
func (k *bashKernel) start(ctx context.Context) error {
	s := k.session
	folder, err := os.MkdirTemp(s.launch.Spool, "sh-")
	if err != nil {
		return fmt.Errorf("start kernel: %w", err)
	}
	name := nameOf(s.launch)
	script := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(script), 0o755); err != nil {
		return fmt.Errorf("start kernel: %w", err)
	}
	pipe, err := makePipe(script)
	if err != nil {
		return fmt.Errorf("start kernel: %w", err)
	}
	c := kernel.Command{
		Args: append([]string{s.interpreter.Path, "--norc", "--noprofile", name}, s.launch.Arguments...),
		Environ: append(kernel.EnvironLines(s.launch.Environ),
			"XSTATE_KERNEL_STDIN="+cmp.Or(s.launch.Stdin, os.DevNull)),
		Folder: folder, Spool: s.launch.Spool, Recording: s.launch.Recording,
		Sandbox: s.launch.Sandbox, Options: struct{}{}, Unhooked: true,
		Drive: func(p *kernel.Peer) {
			defer pipe.Close()
			newShell(s, p, pipe).serve()
		},
	}
	p, err := kernel.StartProcess(ctx, c)
	var bad *kernel.StartError
	if errors.As(err, &bad) {
		said, _ := kernel.ReadSpooled(filepath.Join(s.launch.Spool, "stderr"))
		pipe.Close()
		return broken(s.interpreter.Path, &kernel.StartError{Err: bad.Err, Stderr: bad.Stderr + string(said)})
	}
	if err != nil {
		pipe.Close()
		return err
	}
	k.Driven = kernel.NewDriven(p, c)
	return nil
}

// Sandboxed implements kernel.Language: Bash needs no folders.
func (i Interpreter) Sandboxed(s sandbox.Spec, _ map[string]string) sandbox.Spec { return s }

// StartTests is refused: tests run as blocks.
func (i Interpreter) StartTests(context.Context, kernel.TestLaunch) (*kernel.Process, error) {
	return nil, &state.Error{
		Code:    "no-tests",
		Message: "tests in Bash are not collected",
		Hint:    "run the file as a program: `xstate run FILE`",
	}
}
