package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/state"
)

// PlainConfig is what a Plain works with.
type PlainConfig struct {
	Python    Interpreter
	Workspace string   // the folder the program runs in; absolute
	File      string   // the program's own file, for __file__; "" when it has none
	Scratch   string   // a folder of its own: the driver, what is printed, snapshots
	Seed      uint64   // as in Config
	Environ   []string // of the program, NAME=value
	IPython   bool     // a block is of that dialect
}

// Plain is an interpreter that executes blocks as they come, in one namespace. Nothing is observed, kept or put back but on
// request: it is what xstate is measured against. It is not safe for concurrent use.
type Plain struct {
	kernel *kernel
}

// PlainResult is what became of a block that a Plain executed.
type PlainResult struct {
	Outputs []Output
	Err     *state.ExecError // without a traceback
}

// StartPlain starts an interpreter. Close it.
func StartPlain(ctx context.Context, cfg PlainConfig) (*Plain, error) {
	folder, err := installDriver(cfg.Scratch)
	if err != nil {
		return nil, err
	}
	k, err := startDriver(ctx, cfg.Python.Path, "baseline", folder, environList(environOfProgram(cfg.Environ)), cfg.Workspace, cfg.Scratch,
		kernelOptions{File: cfg.File, Folder: cfg.Workspace, Spool: cfg.Scratch, Store: cfg.Scratch, Seed: cfg.Seed, IPython: cfg.IPython})
	if err != nil {
		return nil, err
	}
	return &Plain{kernel: k}, nil
}

// Close ends the interpreter.
func (p *Plain) Close() {
	p.kernel.stop()
	p.kernel.release()
}

// Run executes the block at a place of the program, counted from 0. The error is about the interpreter, which is of no use then: it died, or the block ran longer than
// timeout, where that is not 0.
func (p *Plain) Run(ctx context.Context, b Block, place int, timeout time.Duration) (PlainResult, error) {
	found := PlainResult{}
	facts, err := python.Analyze([]byte(b.Source), b.Dialect)
	if err != nil {
		found.Err = &state.ExecError{Type: "SyntaxError", Message: err.Error(), Block: b.ID}
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
	u := unit{Block: b}
	header := map[string]any{"op": "run", "filename": u.filename(), "future": facts.Features, "first": place == 0, "quiet": b.Dialect == python.IPython && facts.Quiet}
	p.kernel.begin()
	_, err = p.kernel.request(ctx, header, facts.Code, &reply, func(text json.RawMessage) {
		var ev struct {
			Ev string `json:"ev"`
			Output
		}
		if json.Unmarshal(text, &ev) == nil && ev.Ev == "output" {
			found.Outputs = append(found.Outputs, ev.Output)
		}
	})
	switch {
	case ctx.Err() != nil:
		return found, fmt.Errorf("block %s: %w", b.ID, ctx.Err())
	case errors.Is(err, errKernelDied):
		return found, fmt.Errorf("block %s: the interpreter died: %s", b.ID, p.kernel.how())
	case err != nil:
		return found, err
	}
	if reply.Failure != nil {
		found.Err = &state.ExecError{Type: reply.Failure.Type, Message: reply.Failure.Message, Block: b.ID}
	}
	found.Outputs = merge(found.Outputs)
	return found, nil
}

// Values returns the digests of what the program has bound, as Outcome.Values has them; "" for what cannot be named by
// content. It changes nothing.
func (p *Plain) Values(ctx context.Context) (map[string]state.Digest, error) {
	var reply struct {
		Values map[string]state.Digest `json:"values"`
	}
	_, err := p.kernel.request(ctx, map[string]any{"op": "values"}, nil, &reply, nil)
	return reply.Values, err
}

// Unbind takes names from the namespace.
func (p *Plain) Unbind(ctx context.Context, names []string) error {
	_, err := p.kernel.request(ctx, map[string]any{"op": "unbind", "names": names}, nil, nil, nil)
	return err
}

// Save pickles what pickles of the namespace as snapshot n, and returns its size.
func (p *Plain) Save(ctx context.Context, n int) (int64, error) {
	var reply struct {
		Bytes int64 `json:"bytes"`
	}
	_, err := p.kernel.request(ctx, map[string]any{"op": "save", "number": n}, nil, &reply, nil)
	return reply.Bytes, err
}

// Restore makes the namespace that of snapshot n. What did not pickle is as it is now.
func (p *Plain) Restore(ctx context.Context, n int) error {
	_, err := p.kernel.request(ctx, map[string]any{"op": "restore", "number": n}, nil, nil, nil)
	return err
}
