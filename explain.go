package xstate

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/inspect"
	"github.com/xstate-engine/xstate/state/query"
)

// Explanation explains the status of a block: what the last run did with each of its nodes and why, and what the next
// run would do.
type Explanation struct {
	Block  BlockID    `json:"block"`
	Status string     `json:"status"` // see state.Status.String; "new" when this version was not run yet
	Edited StepNumber `json:"edited"`
	Origin Origin     `json:"origin"` // the edit's
	RanAt  StepNumber `json:"ran_at,omitempty"`
	// Pending is "edited", "moved" or "deleted" if the file has such an edit that is not recorded yet.
	Pending string           `json:"pending,omitempty"`
	Nodes   []NodeReason     `json:"nodes"` // what the last run did
	Next    []NodeReason     `json:"next"`  // what the next run would do; empty when that is not known
	Error   *state.ExecError `json:"error"`
}

// NodeReason is one node with its action and the reason for it.
type NodeReason struct {
	Name string `json:"node"`
	// Action is a status (ran, reused, …) or what a plan intends (run, maybe, reuse, fail, block, skip).
	Action   string           `json:"action"`
	Reason   state.Reason     `json:"reason"`
	WasValue *state.ValueInfo `json:"was_value,omitempty"` // the value of digest Reason.Was, if it is recorded
	NowValue *state.ValueInfo `json:"now_value,omitempty"`
	Seconds  float64          `json:"seconds"`
	// Trust says on whose word the store has the result of the last run: "" for its own, trusted or foreign.
	Trust  state.Tier `json:"trust,omitempty"`
	Signer string     `json:"signer,omitempty"` // the id of the key by which it is trusted
}

// Why explains a block of the present program. blocks are those of a file that may have been edited since it was
// loaded; nil means the present program. Why needs an interpreter for the plan but executes none. If it cannot plan,
// planned is the reason.
func (s *Session) Why(
	ctx context.Context,
	id BlockID,
	blocks []patch.Block,
) (x *Explanation, planned error, err error) {
	head, _, err := s.store.state.Head(ctx, s.name)
	if err != nil {
		return nil, nil, err
	}
	snap, err := s.history.At(ctx, head)
	if err != nil {
		return nil, nil, err
	}
	b, err := snap.Block(id)
	if err != nil {
		return nil, nil, err
	}
	x = &Explanation{
		Block:  b.ID,
		Status: b.Status,
		Edited: b.Edited,
		Origin: b.Origin,
		RanAt:  b.RanAt,
		Error:  b.Error,
		Nodes:  []NodeReason{},
		Next:   []NodeReason{},
	}
	values := &valueFinder{session: s, from: runAt(snap, b)}
	for _, n := range b.Nodes {
		r := NodeReason{Name: n.Name, Action: n.Status, Reason: n.Reason, Seconds: n.Seconds, Trust: n.Trust,
			Signer: n.Signer}
		if err := values.add(ctx, &r); err != nil {
			return nil, nil, err
		}
		x.Nodes = append(x.Nodes, r)
	}
	if blocks != nil {
		x.Pending = pending(patch.Match(query.SnapshotBlocks(snap), blocks), id)
	}
	plan, planned := s.walkPlan(ctx, blocks)
	if planned != nil {
		return x, planned, nil
	}
	next, err := plan.Blocks(ctx)
	if err != nil {
		return nil, nil, err
	}
	values.from = head
	for i := range next {
		if next[i].ID != id {
			continue
		}
		for j, n := range next[i].Nodes {
			r := NodeReason{
				Name:    query.NodeName(id, j, state.Statements(next[i].Nodes), n.Facts.Label()),
				Action:  string(nodeAction(&n)),
				Reason:  n.Reason,
				Seconds: n.Seconds,
			}
			if err := values.add(ctx, &r); err != nil {
				return nil, nil, err
			}
			x.Next = append(x.Next, r)
		}
	}
	return x, nil, nil
}

// nodeAction is what a plan intends for a node; fail if what it reuses is a failure.
func nodeAction(n *runner.PlanNode) runner.Action {
	if n.Action == runner.ActReuse && n.Last != nil && n.Last.Failure() != nil {
		return runner.ActFail
	}
	return n.Action
}

// runAt returns the step whose values a block's reasons refer to.
func runAt(s *query.Snapshot, b *query.BlockView) StepNumber {
	if b.RanAt > 0 {
		return b.RanAt
	}
	return s.Step.Number
}

func pending(edits []patch.Edit, id BlockID) string {
	for _, e := range edits {
		if e.ID != string(id) {
			continue
		}
		switch e.Op {
		case patch.OpPatch:
			return "edited"
		case patch.OpMove:
			return "moved"
		case patch.OpDelete:
			return "deleted"
		}
	}
	return ""
}

// valueFinder looks for the descriptions of values by their digests, in the program after step from and in those of
// the runs before it.
type valueFinder struct {
	session *Session
	from    StepNumber
	seen    map[StepNumber]map[state.Access]*state.ValueInfo
}

// valueSteps bounds how many steps back a value is looked for.
const valueSteps = 64

func (f *valueFinder) add(ctx context.Context, r *NodeReason) error {
	if r.Reason.Key.Space() != "var" {
		return nil
	}
	var err error
	if r.NowValue, err = f.find(ctx, r.Reason.Key, r.Reason.Now); err != nil {
		return err
	}
	r.WasValue, err = f.find(ctx, r.Reason.Key, r.Reason.Was)
	return err
}

func (f *valueFinder) find(ctx context.Context, k Key, d Digest) (*state.ValueInfo, error) {
	if d == state.Absent {
		return nil, nil
	}
	for n := f.from; n > 0 && n+valueSteps > f.from; n-- {
		values, err := f.at(ctx, n)
		if err != nil {
			return nil, err
		}
		if v := values[state.Access{Key: k, Digest: d}]; v != nil {
			return v, nil
		}
	}
	return nil, nil
}

// at returns the values that the blocks changed in step n wrote; for the first step looked at, those of all blocks.
func (f *valueFinder) at(ctx context.Context, n StepNumber) (map[state.Access]*state.ValueInfo, error) {
	if v, ok := f.seen[n]; ok {
		return v, nil
	}
	if f.seen == nil {
		f.seen = map[StepNumber]map[state.Access]*state.ValueInfo{}
	}
	found := map[state.Access]*state.ValueInfo{}
	f.seen[n] = found
	store := f.session.history.Store()
	var nodes []state.NodeResult
	if n == f.from {
		blocks, err := store.ProgramAt(ctx, f.session.name, n)
		if err != nil {
			return nil, err
		}
		for _, b := range blocks {
			nodes = append(nodes, b.Nodes...)
		}
	}
	step, err := store.Step(ctx, f.session.name, n)
	if err != nil {
		return nil, err
	}
	for _, c := range step.Changes {
		if c.Block != nil {
			nodes = append(nodes, c.Block.Nodes...)
		}
	}
	for _, node := range nodes {
		if node.Trace == "" {
			continue
		}
		t, ok, err := store.Trace(node.Trace)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		for _, w := range t.Writes {
			if info := query.ValueOf(&t, w.Key); info != nil {
				found[w] = info
			}
		}
	}
	return found, nil
}

// PlanNew returns the plan of a program with no record: every block runs.
func PlanNew(blocks []patch.Block) []runner.PlanBlock {
	var plan []runner.PlanBlock
	names := patch.Names(blocks)
	for i, b := range blocks {
		plan = append(plan, runner.PlanBlock{ID: BlockID(names[i]), Title: b.Title, Index: i, Action: runner.ActRun,
			Reason: state.Reason{Code: state.ReasonNew}})
	}
	return plan
}

// Impact reports what the program loses and which effects it repeats if it runs as planned.
func (s *Session) Impact(ctx context.Context, plan *Plan) (*query.Impact, error) {
	program, _, err := s.history.Program(ctx)
	if err != nil {
		return nil, err
	}
	made, err := s.history.Made(program)
	if err != nil {
		return nil, err
	}
	blocks, err := plan.Blocks(ctx)
	if err != nil {
		return nil, err
	}
	e := &query.Impact{Lost: []query.Lost{}, Fires: []query.RepeatedEffect{}}
	will := map[Key]bool{}
	for i := range blocks {
		b := &blocks[i]
		for j := range b.Nodes {
			willMake(&b.Nodes[j], will)
			n := &b.Nodes[j]
			name := query.NodeName(b.ID, j, state.Statements(b.Nodes), n.Facts.Label())
			e.Fires = append(e.Fires, repeatedEffects(n, name)...)
			calls, err := s.repeatedCalls(ctx, n, name)
			if err != nil {
				return nil, err
			}
			e.Fires = append(e.Fires, calls...)
		}
	}
	e.Lost = query.NotKept(made, func(k Key) bool { return will[k] })
	return e, nil
}

// willMake adds to will what a node makes or may make, and removes what it deletes.
func willMake(n *runner.PlanNode, will map[Key]bool) {
	if n.Action == runner.ActBlock || n.Action == runner.ActSkip {
		return
	}
	if n.Last != nil && n.Last.Err == nil {
		for _, w := range n.Last.Writes {
			if query.IsMade(w.Key) && (n.Last.Code == n.Code || w.Key.Space() == "file") {
				will[w.Key] = w.Digest != state.Absent
			}
		}
	}
	if n.Action == runner.ActReuse {
		return
	}
	for _, name := range n.Facts.Deletes {
		delete(will, depgraph.Var(name))
	}
	for _, name := range n.Facts.Defines {
		will[depgraph.Var(name)] = true
	}
	for _, f := range n.Facts.Effects {
		if f.Kind == depgraph.EffectFile && f.Arg != "" {
			will[depgraph.Key("file:"+f.Arg)] = true
		}
	}
}

// repeatedEffects returns the outside effects of a node that runs or may run.
func repeatedEffects(n *runner.PlanNode, name string) []query.RepeatedEffect {
	if n.Action != runner.ActRun && n.Action != runner.ActMaybe {
		return nil
	}
	var found []query.RepeatedEffect
	add := func(effect, evidence string) {
		if !slices.ContainsFunc(found, func(f query.RepeatedEffect) bool { return f.Effect == effect }) {
			found = append(
				found,
				query.RepeatedEffect{Node: name, Action: string(n.Action), Effect: effect, Evidence: evidence},
			)
		}
	}
	if n.Last != nil {
		evidence := "observed"
		if n.Last.Code != n.Code {
			evidence = "former"
		}
		for _, effect := range query.OutsideEffects(n.Last.Marks, n.Last.Writes) {
			add(effect, evidence)
		}
	}
	for _, f := range n.Facts.Effects {
		if f.Kind == depgraph.EffectNetwork || f.Kind == depgraph.EffectSubprocess {
			add(string(f.Kind), "predicted")
		}
	}
	return found
}

// repeatedCalls returns the calls with effects of a node that runs or may run, whose arguments vary: it may make them
// with others. The run asks before it does, unless it knows that they are the same.
func (s *Session) repeatedCalls(
	ctx context.Context, n *runner.PlanNode, name string,
) (found []query.RepeatedEffect, err error) {
	if n.Action != runner.ActRun && n.Action != runner.ActMaybe || n.Last == nil {
		return nil, nil
	}
	for _, a := range n.Last.Reads {
		at, is := state.CallPlaceOf(a.Key)
		if !is || !at.Effects {
			continue
		}
		c, err := s.journal.Recorded(ctx, at)
		if err != nil {
			return nil, err
		}
		if c == nil || !c.Varied || !journal.MayHaveHappened(c) {
			continue
		}
		found = append(found, query.RepeatedEffect{Node: name, Action: string(n.Action), Evidence: "asks",
			Effect: fmt.Sprintf("call:%d %s", c.ID, c.Text())})
	}
	return found, nil
}

// Value returns the value that a variable had after step n, as the blocks of that step left it in their last run. If
// the recorded description is complete (None, a number, a short text, a small container of them), Value returns that.
// Otherwise a separate interpreter loads the value from its blob. It executes only the imports, functions and classes
// that the value needs. If the value was not stored, the error has runner.CodeNotKept.
//
// With a place, Value also describes what is there: rows of a table, items of nested data. nil: the text is enough. At
// its beginning, a value that the record shows in full has no description.
func (s *Session) Value(
	ctx context.Context, n StepNumber, name string, at *inspect.Place,
) (*query.ValueView, error) {
	d, err := s.history.Dependencies(ctx, n)
	if err != nil {
		return nil, err
	}
	v, err := d.Variable(name)
	if err != nil {
		return nil, err
	}
	if text, ok := complete(v); ok && (at == nil || at.Beginning()) {
		v.Text = text
		return v, nil
	}
	v.Loaded = true
	found, err := s.load(ctx, n, v.Name, at)
	v.Text, v.Description = found.Text, found.Description
	return v, err
}

var plainTypes = []string{
	"NoneType",
	"bool",
	"int",
	"float",
	"complex",
	"str",
	"bytes",
	"list",
	"tuple",
	"set",
	"frozenset",
	"dict",
}

// complete returns the recorded description of a value and whether it is the whole repr. reprlib writes "..." for
// omitted parts, and "<" begins a value that it could not print.
func complete(v *query.ValueView) (string, bool) {
	ok := v.Text != "" && slices.Contains(plainTypes, v.Type) && !strings.Contains(v.Text, "...") &&
		!strings.HasPrefix(v.Text, "<")
	return v.Text, ok
}

// load reads a stored value with a separate interpreter.
func (s *Session) load(ctx context.Context, n StepNumber, name string, at *inspect.Place) (kernel.Inspected, error) {
	blocks, err := s.history.ProgramAt(ctx, n)
	if err != nil {
		return kernel.Inspected{}, err
	}
	scratch, err := os.MkdirTemp("", "xstate-*")
	if err != nil {
		return kernel.Inspected{}, fmt.Errorf("make a folder for a value: %w", err)
	}
	defer os.RemoveAll(scratch)
	cfg, err := s.config(ctx)
	if err != nil {
		return kernel.Inspected{}, err
	}
	cfg.Scratch = scratch
	if s.history.Trust().Tier == state.TierForeign {
		strict := policy.Policy{Level: policy.Strict}
		cfg.Environ = strict.Environ(cfg.Environ)
		if err := cfg.ForForeignValue(name); err != nil {
			return kernel.Inspected{}, err
		}
	}
	engine, err := runner.New(cfg)
	if err != nil {
		return kernel.Inspected{}, err
	}
	defer engine.Close()
	return engine.Value(ctx, blocks, name, at)
}
