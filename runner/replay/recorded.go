package replay

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// replayer is the state of one replay.
type replayer struct {
	subject *Subject
	options Options
	found   *Report
	folder  string // for copies of the workspace, and for what is proved
	config  runner.Config
	files   map[string]state.FileRecord // as the session has them now

	mu      sync.Mutex
	stopped atomic.Bool
	again   callsAgain
}

// callsAgain are calls that were made again.
type callsAgain struct {
	mu   sync.Mutex
	done map[state.CallID]journal.Compared
	kept map[state.CallID]bool // that were not made
}

func (r *replayer) miss(m Missing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.ContainsFunc(r.found.Missing, func(x Missing) bool { return x.What == m.What && x.Why == m.Why }) {
		r.found.Missing = append(r.found.Missing, m)
	}
}

func message(err error) string {
	if e := (*state.Error)(nil); errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// nodeRef names a node by its place.
type nodeRef struct {
	block state.BlockID
	at    int
}

// recordedNode is the record of a node in the replayed run.
type recordedNode struct {
	state.NodeResult
	name    string
	trace   *state.Trace // nil: there is none, or it is gone
	damaged bool         // it is gone because the record is damaged
	outputs string
}

// replaying is the replay of one run.
type replaying struct {
	*replayer
	subject  *Subject
	step     state.Step
	store    *state.Store // the store under test
	root     string       // the folder that the store and the copy of the workspace lie in
	program  []state.ProgramBlock
	order    []nodeRef
	recorded map[nodeRef]*recordedNode
	served   map[nodeRef]*ServedNode
	known    map[nodeRef]bool // nodes whose divergence was found
	executed map[nodeRef]bool
	ours     map[state.Digest]bool // digests of code as this engine has them
	engine   *runner.Engine
	folder   string          // the copy of the workspace
	copy     *beneath.Folder // the same, held
	present  *beneath.Folder // the workspace as it is now; an empty one if it is gone
	found    *RunReport
}

// run executes a program, except for the served nodes.
func (x *replaying) run(
	ctx context.Context,
	program []state.ProgramBlock,
	force func(state.BlockID, int) bool,
) (*runner.Outcome, error) {
	out, err := x.engine.Run(
		ctx,
		program,
		runner.RunOptions{
			Timeout: x.options.Timeout,
			Part:    x.options.Block != "",
			Force:   force,
			Serve: func(block state.BlockID, at int) *state.StoredTrace {
				ref := nodeRef{block, at}
				if x.served[ref] == nil || x.recorded[ref].trace == nil {
					return nil
				}
				t := *x.recorded[ref].trace
				t.Writes = slices.DeleteFunc(
					slices.Clone(t.Writes),
					func(a state.Access) bool { // what is outside is left as it is
						return a.Key.Space() != "env" && filepath.IsAbs(a.Key.Name())
					},
				)
				return &state.StoredTrace{Digest: x.recorded[ref].Trace, Trace: t}
			},
		},
	)
	if err != nil {
		return nil, err
	}
	for i := range out.Blocks {
		for j := range out.Blocks[i].Nodes {
			x.ours[out.Blocks[i].Nodes[j].Code] = true
			if n := &out.Blocks[i].Nodes[j]; n.Seconds > 0 {
				x.executed[nodeRef{out.Blocks[i].ID, j}] = true
				x.found.Seconds += n.Seconds
			}
		}
	}
	return out, out.Stopped
}

// read collects the record of the run.
func (x *replaying) read(ctx context.Context) error {
	program, err := x.subject.ProgramAt(ctx, x.step.Number)
	if err != nil {
		return err
	}
	if run := x.step.Run; run != nil { // an interrupted run did not reach the last blocks
		program = program[:min(len(program), run.Blocks.Sum())]
	}
	program = slices.DeleteFunc(program, func(b state.ProgramBlock) bool { // nor to these
		return b.Before.RanAt < b.Before.Edited || b.Before.Status == state.StatusNew
	})
	if x.options.Block != "" {
		if program, err = x.needed(ctx, program); err != nil {
			return err
		}
	}
	x.recorded = map[nodeRef]*recordedNode{}
	for i := range program {
		b := &program[i]
		for at, n := range b.Before.Nodes {
			ref := nodeRef{b.ID, at}
			rec, err := x.recordOf(query.NodeName(b.ID, at, state.Statements(b.Before.Nodes), n.Part), n)
			if err != nil {
				return err
			}
			x.recorded[ref] = rec
			x.order = append(x.order, ref)
		}
	}
	x.program, x.found.Nodes = program, len(x.order)
	return nil
}

// needed is the requested block with its dependencies.
func (x *replaying) needed(ctx context.Context, program []state.ProgramBlock) ([]state.ProgramBlock, error) {
	at := slices.IndexFunc(program, func(b state.ProgramBlock) bool { return b.ID == x.options.Block })
	if at < 0 {
		return nil, x.subject.NoBlock(x.options.Block, query.PatchBlocks(program))
	}
	program = program[:at+1]
	var planned []runner.PlanBlock
	for i := range program {
		b := runner.PlanBlock{ID: program[i].ID, Err: program[i].Before.Err}
		for _, n := range program[i].Before.Nodes {
			t, ok, err := x.subject.Store().Trace(n.Trace)
			if err != nil {
				return nil, err
			}
			pn := runner.PlanNode{}
			if ok {
				pn.Last = &t
				if e := t.Failure(); e != nil {
					b.Err = e
				}
			}
			b.Nodes = append(b.Nodes, pn)
		}
		planned = append(planned, b)
	}
	return restsOn(program, planned), nil
}

func (x *replaying) recordOf(name string, n state.NodeResult) (*recordedNode, error) {
	rec := &recordedNode{NodeResult: n, name: name}
	if n.Trace == "" {
		return rec, nil
	}
	store := x.subject.Store()
	t, ok, err := store.Trace(n.Trace)
	if err != nil {
		return nil, err
	}
	if !ok || t.Identity() != n.Trace {
		rec.damaged = ok || x.damaged("trace "+string(n.Trace))
		return rec, nil
	}
	outputs, ok, err := store.Outputs(&t)
	if err != nil {
		return nil, err
	}
	if !ok {
		rec.damaged = x.damaged("blob " + string(t.Outputs))
		return rec, nil
	}
	rec.trace, rec.outputs = &t, query.Text(outputs)
	return rec, nil
}

// damaged reports whether the store noticed damage of a record, or of all results.
func (x *replaying) damaged(what string) bool {
	return slices.ContainsFunc(x.subject.Store().Notices(), func(n string) bool {
		return strings.Contains(n, what) || strings.Contains(n, "results.db") && strings.Contains(n, "set aside")
	})
}

// serve makes a node use its recorded result from now on.
func (x *replaying) serve(ref nodeRef, why string, what []string) {
	x.served[ref] = &ServedNode{Node: x.recorded[ref].name, Why: why, What: what}
}
