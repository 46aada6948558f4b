package bash

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/xstate-engine/xstate/depgraph"
	source "github.com/xstate-engine/xstate/depgraph/bash"
	"github.com/xstate-engine/xstate/runner/kernel"
)

// session is what outlives a process of the interpreter: the state that a new one is to have.
type session struct {
	interpreter Interpreter
	launch      kernel.Launch

	began  bool
	base   *snapshot // the shell's, before the first node
	live   *snapshot // the shell's, once pending code was executed
	parked map[kernel.Group][]declaration
	owned  map[string]bool // names that the program has bound; the others are as the environment gave them
	open   map[inode]string
	random []int           // states that the generator of RANDOM may have; none: it is not known
	codes  map[string]code // by text
	made   map[declaration]definition

	unbound map[string]bool // names that the engine has and the shell has not, while a node is prepared
	exports string          // what was exported where the engine bound the name that represents it
	stored  int
	busy    bool // the process has state that cannot be restored

	odd, oddBefore, oddBase string // descriptors that are not files: now, before the node, and in a new shell

	stuck atomic.Bool // a readonly name is to have another value, which takes a new shell
	gone  atomic.Bool // the shell has ended by itself, and the program with it
}

// bashKernel is a kernel whose process is replaced when the program ends its shell.
type bashKernel struct {
	*kernel.Driven
	session *session
}

// Execute runs a node.
func (k *bashKernel) Execute(ctx context.Context, n kernel.Node, sink kernel.Sink) (kernel.Observation, error) {
	if k.session.stuck.Swap(false) {
		k.Driven.Close()
		if err := k.start(ctx); err != nil {
			return kernel.Observation{}, err
		}
	}
	seen, err := k.Driven.Execute(ctx, n, sink)
	if !k.session.gone.Swap(false) || err != nil {
		return seen, err
	}
	k.Driven.Close()
	if err := k.Driven.ReportEnd(ctx, &seen); err != nil {
		return seen, err
	}
	return seen, k.start(ctx)
}

// Check returns the verdicts of the parser. Bash's own depends on options that blocks before may set.
func (k *bashKernel) Check(_ context.Context, blocks []kernel.Source) ([]kernel.Verdict, error) {
	var verdicts []kernel.Verdict
	for _, b := range blocks {
		v := kernel.Verdict{Valid: true}
		if _, err := source.Analyze(b.Text, b.Dialect); err != nil {
			v = kernel.Verdict{Type: typeSyntax, Message: err.Error(), Line: 1}
			if bad, is := err.(*depgraph.SyntaxError); is {
				v.Message, v.Line, v.Column = bad.Msg, bad.Line, bad.Column
			}
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}

// Cite does nothing: messages of Bash cite no text.
func (k *bashKernel) Cite(context.Context, kernel.Citations) error { return nil }

// makePipe makes a pipe at a path and opens it. It is open for reading as well, so that no process waits for the other
// end. Another program of the same session may put a file in its place, to which the engine must not write.
func makePipe(path string) (*os.File, error) {
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		_ = f.Close()
		return nil, fmt.Errorf("%s was replaced", path)
	}
	return f, nil
}

// definition is where the program defines a function.
type definition struct {
	file, text string
	line       int
}
