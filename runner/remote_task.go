package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/remote"
	"github.com/xstate-engine/xstate/state"
)

// CodeNotExecuted is the code of errors about a block that a worker cannot execute as its caller would.
const CodeNotExecuted state.Code = "remote-not-executed"

func taskError(format string, values ...any) error {
	return &state.Error{Code: CodeNotExecuted, Message: "the worker cannot execute the block: " +
		fmt.Sprintf(format, values...), Hint: "the machine that sent it executes it itself"}
}

// ExecuteTask executes a node for another machine, and puts the result into the cache. Nothing of it stays here.
func (e *Engine) ExecuteTask(ctx context.Context, task *remote.Task) error {
	var blocks []state.ProgramBlock
	for _, b := range task.Program {
		blocks = append(blocks, state.ProgramBlock{ID: b.ID, Dialect: b.Dialect, Source: b.Source,
			Version: state.DigestOf([]byte(b.Source))})
	}
	e.ledger.all = true
	x := &taskWalk{e: e, task: task, served: map[nodePlace]*state.StoredTrace{}}
	o := RunOptions{Timeout: time.Duration(task.Seconds * float64(time.Second))}
	if task.Whole {
		return e.executeRun(ctx, blocks, x, o)
	}
	e.cfg.Guard = &Guard{Allow: []string{}, Deny: []string{}}
	e.baseState.Begin()
	o.Serve = func(b state.BlockID, at int) *state.StoredTrace { return x.served[nodePlace{b, at}] }
	w, t, err := e.executeAhead(ctx, blocks, task.At, o, x)
	switch {
	case ctx.Err() != nil || state.CodeOf(err) == CodeNotExecuted:
		return cmp.Or(ctx.Err(), err)
	case errors.Is(err, errNotSpeculative):
		return taskError("it fails, or it has effects or leaves values that cannot be shared")
	case errors.Is(err, errNotKept), errors.Is(err, errServed):
		return taskError("a value that it reads is not in the cache")
	case err != nil:
		return taskError("%v", err)
	}
	u, ok := e.portable(w.nodes[task.At], &t.Trace)
	if !ok {
		return taskError("the result is not shared")
	}
	e.shared.withheld = w.withheld()
	done := false
	u.Withheld, u.Done = e.shared.withheld, func() { done = true }
	e.shared.values = append(e.shared.values, groupsWritten(w.pos, &t.Trace)...)
	e.offerValues()
	e.cfg.Cache.Upload([]*remote.Upload{u})
	e.cfg.Cache.Wait(ctx)
	if !done {
		return taskError("the result could not be put into the cache")
	}
	return nil
}

// executeRun runs the program of a task as a worker.
func (e *Engine) executeRun(ctx context.Context, blocks []state.ProgramBlock, x *taskWalk, o RunOptions) error {
	e.cfg.Guard = &Guard{Allow: []string{e.cfg.Workspace}, Deny: []string{}}
	e.cfg.Journal = nil // calls are made by the caller
	out, err := e.run(ctx, blocks, o, x)
	if err != nil {
		return err
	}
	e.cfg.Cache.Wait(ctx)
	return out.Stopped
}

// nodePlace names a node by its block and its index there.
type nodePlace struct {
	block state.BlockID
	at    int
}

// taskWalk gives a walk of a worker the results of the nodes before.
type taskWalk struct {
	e      *Engine
	task   *remote.Task
	served map[nodePlace]*state.StoredTrace
}

// begin asks for all results at once, and fails where the program is another one here.
func (x *taskWalk) begin(ctx context.Context, w *walk) error {
	at := x.task.At
	if !x.task.Whole && (at < 0 || at >= len(w.nodes)) {
		return taskError("the program has no node %d", at)
	}
	var strong []state.Digest
	for i := range w.nodes {
		want := x.task.Weak
		if g := x.task.Given[i]; g != nil {
			strong, want = append(strong, g.Strong), g.Weak
		} else if x.task.Whole || i != at {
			continue
		}
		if weak, ok := x.e.weakOf(w.nodes[i]); !ok || weak != want {
			return taskError("xstate, the interpreter or its packages are not those of the caller")
		}
	}
	x.e.cfg.Cache.Results(ctx, strong)
	return nil
}

// next has the walk, which is at the place of node i, take what that was given.
func (x *taskWalk) next(ctx context.Context, w *walk, i int) error {
	g := x.task.Given[i]
	if g == nil {
		return nil
	}
	cache, n := x.e.cfg.Cache, w.nodes[i]
	found := cache.Results(ctx, []state.Digest{g.Strong})[0]
	if x.task.Whole {
		if found != nil {
			x.e.adopt(ctx, walkPlace{w.pos, w.units, w.nodes}, n, g.Keys, found)
		}
		return nil // without it, the node executes
	}
	if found == nil {
		return taskError("the cache lacks the result of %s", n.id())
	}
	t := found.Record.Trace
	t.Code, t.AliasSensitive, t.CitedBlocks = n.code, g.Keys.AliasSensitive, g.Keys.Cited
	t.Trust = state.Trust{Tier: state.TierTrusted, Signer: found.Signer, Here: true}
	if paths, ok := x.e.localPaths(g.Keys); ok {
		t.Paths = paths
		x.e.baseState.Learn(paths)
	}
	for _, portable := range g.Keys.Reads {
		if key, ok := x.e.rootsOf(g.Keys).Local(string(portable)); ok {
			k := depgraph.Key(key)
			t.Reads = append(t.Reads, state.Access{Key: k, Digest: w.pos.get(k).digest})
		}
	}
	slices.SortFunc(t.Reads, byKey)
	// Files are inputs here, as far as they were foreseen.
	t.Writes = slices.DeleteFunc(slices.Clone(t.Writes), func(a state.Access) bool {
		return slices.Contains([]string{"file", "link", "mode", "dir"}, a.Key.Space())
	})
	sets := func(a state.Access) bool { return a.Key.Space() == "env" && a.Digest.IsContent() }
	if slices.ContainsFunc(t.Writes, sets) && !cache.Fetch(ctx, found.Record.Blobs) {
		return taskError("the cache lacks a variable of %s", n.id())
	}
	id, err := x.e.cfg.Store.PutTrace(t)
	if err == nil {
		x.served[nodePlace{n.unit.ID, n.at}] = &state.StoredTrace{Digest: id, Trace: t}
	}
	return err
}
