package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	source "github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

// BaselineConfig is what a Baseline works with.
type BaselineConfig struct {
	Python    Interpreter
	Workspace string   // the folder the program runs in; absolute
	File      string   // the program's own file, for __file__; "" when it has none
	Scratch   string   // a private folder: the driver, what is printed, snapshots
	Seed      uint64   // as in kernel.Launch
	Environ   []string // the program's, NAME=value
	IPython   bool     // a block is of that dialect
}

// Baseline is an interpreter that executes blocks in one namespace, without xstate: it observes nothing, and stores and
// restores values only on request. xstate is measured against it. It is not safe for concurrent use.
type Baseline struct {
	process *kernel.Process
	python  Interpreter
}

// BaselineBlock is a block to execute.
type BaselineBlock struct {
	ID      state.BlockID
	Dialect depgraph.Dialect
	Source  string
}

// BaselineResult is what a Baseline executed a block to.
type BaselineResult struct {
	Outputs []output.Output
	Err     *state.ExecError // without a traceback
}

// StartBaseline starts an interpreter. Close it.
func StartBaseline(ctx context.Context, cfg BaselineConfig) (*Baseline, error) {
	p, err := cfg.Python.start(ctx, "baseline", cfg.Scratch, kernel.Command{
		Environ: kernel.EnvironLines(kernel.Environ(cfg.Environ)), Folder: cfg.Workspace, Spool: cfg.Scratch,
		Options: options{
			File: cfg.File, Folder: cfg.Workspace, Spool: cfg.Scratch, Store: cfg.Scratch, Seed: cfg.Seed,
			IPython: cfg.IPython,
		},
	})
	if err != nil {
		return nil, err
	}
	return &Baseline{process: p, python: cfg.Python}, nil
}

// Close ends the interpreter.
func (b *Baseline) Close() { b.process.Close() }

// Run executes the block at a place of the program, counted from 0. timeout bounds its time; 0 means none. After an
// error the interpreter is of no use: it died, or the block ran too long. An error of the program is in the result.
func (b *Baseline) Run(
	ctx context.Context, block BaselineBlock, place int, timeout time.Duration,
) (BaselineResult, error) {
	found := BaselineResult{}
	facts, err := source.Analyze([]byte(block.Source), block.Dialect)
	if err != nil {
		found.Err = &state.ExecError{Type: "SyntaxError", Message: err.Error(), Block: block.ID}
		return found, nil
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	var reply struct {
		Failure *struct{ Type, Message string } `json:"failure"`
	}
	header := map[string]any{
		"op": "run", "filename": "<" + string(block.ID) + ">", "future": facts.Features, "first": place == 0,
		"quiet": facts.Quiet, "dialect": string(block.Dialect),
	}
	var outputs output.Screen
	b.process.Begin()
	_, err = b.process.Request(ctx, header, facts.Code, &reply, kernel.Events{
		Event: func(header json.RawMessage, body []byte) {
			b.process.Printed(header, body, kernel.Sink{Record: outputs.Add})
		},
	})
	switch {
	case ctx.Err() != nil:
		return found, fmt.Errorf("block %s: %w", block.ID, ctx.Err())
	case errors.Is(err, kernel.ErrDied):
		return found, fmt.Errorf("block %s: the interpreter died: %s", block.ID, b.process.Exit())
	case err != nil:
		return found, err
	}
	if reply.Failure != nil {
		found.Err = &state.ExecError{Type: reply.Failure.Type, Message: reply.Failure.Message, Block: block.ID}
	}
	found.Outputs = output.Join(outputs.Outputs())
	return found, nil
}

// Values returns the digests of the program's variables, as runner.Outcome.Values has them; "" for a value that cannot
// be named by content. It changes nothing.
func (b *Baseline) Values(ctx context.Context) (map[string]state.Digest, error) {
	var reply struct {
		Values map[string]state.Digest `json:"values"`
	}
	_, err := b.process.Request(ctx, map[string]any{"op": "values"}, nil, &reply, kernel.Events{})
	return reply.Values, err
}

// Unbind removes names from the namespace.
func (b *Baseline) Unbind(ctx context.Context, names []string) error {
	_, err := b.process.Request(ctx, map[string]any{"op": "unbind", "names": names}, nil, nil, kernel.Events{})
	return err
}

// Save pickles the values of the namespace that can be pickled as snapshot n, and returns its size in bytes.
func (b *Baseline) Save(ctx context.Context, n int) (int64, error) {
	var reply struct {
		Bytes int64 `json:"bytes"`
	}
	_, err := b.process.Request(ctx, map[string]any{"op": "save", "number": n}, nil, &reply, kernel.Events{})
	return reply.Bytes, err
}

// Restore makes the namespace that of snapshot n. Values that could not be pickled stay as they are now.
func (b *Baseline) Restore(ctx context.Context, n int) error {
	_, err := b.process.Request(ctx, map[string]any{"op": "restore", "number": n}, nil, nil, kernel.Events{})
	return err
}
