package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

// Snapshot is a program after a step: the code that was in effect; what each block read, wrote and printed; each
// block's author. It prints as JSON and is immutable.
type Snapshot struct {
	Session string `json:"session"`
	Step    Entry  `json:"step"`
	// If the step is an edit: the first run after it; 0 if there is none within runNear steps.
	NextRun state.StepNumber `json:"next_run,omitempty"`
	NotRun  bool             `json:"not_run,omitempty"` // it is an edit, and no run came after it
	Total   int              `json:"total"`             // number of blocks of the program
	Blocks  []BlockView      `json:"blocks"`
}

// StatusStale is the status of a block that ran, and has not since the program leaves other values of what it read: a
// run was stopped before it, or none came after an edit.
const StatusStale = "stale"

// BlockView is one block of a Snapshot. Facts about its execution are those of the last run at or before the step.
type BlockView struct {
	ID       state.BlockID    `json:"id"`
	Index    int              `json:"index"`
	Title    string           `json:"title,omitempty"`
	Dialect  depgraph.Dialect `json:"dialect"`
	Version  state.Digest     `json:"version"`
	Source   string           `json:"source"`
	Edited   state.StepNumber `json:"edited"` // the step that gave it this version
	EditedAt time.Time        `json:"edited_at,omitzero"`
	Origin   state.Origin     `json:"origin"` // that step's
	Status   string           `json:"status"` // see state.Status.String, and StatusStale
	RanAt    state.StepNumber `json:"ran_at,omitempty"`
	Verified state.StepNumber `json:"verified,omitempty"` // the step that recorded an equal run from scratch
	Nodes    []NodeView       `json:"nodes"`
	Outputs  []output.Output  `json:"outputs"`
	Error    *state.ExecError `json:"error"`
	Marks    []string         `json:"marks,omitempty"`
	Seconds  float64          `json:"seconds"` // that its nodes took when they were last executed

	// FailedAt is the run that executed what fails, if the block failed; 0: not known. Later runs reused the failure.
	FailedAt state.StepNumber `json:"-"`
}

// NodeView is one node of a BlockView.
type NodeView struct {
	Name    string       `json:"node"` // as reasons name it: the block, or block#2 for the second of several
	Status  string       `json:"status"`
	Reason  state.Reason `json:"reason"`
	Seconds float64      `json:"seconds"` // that it took when it was last executed
	Code    state.Digest `json:"code"`
	Trace   state.Digest `json:"trace,omitempty"`
	Lost    bool         `json:"lost,omitempty"` // its trace is gone: reads, writes and outputs are not known
	// Trust says on whose word the store has the result: "" for its own, trusted or foreign.
	Trust  state.Tier   `json:"trust,omitempty"`
	Signer string       `json:"signer,omitempty"` // the id of the key by which it is trusted
	Reads  []AccessView `json:"reads"`
	Writes []AccessView `json:"writes"`
}

// AccessView is a key that a node read or wrote, with its value as far as the runner described it at the time.
type AccessView struct {
	Key    depgraph.Key     `json:"key"`
	Digest state.Digest     `json:"digest"` // "": there was no value
	Value  *state.ValueInfo `json:"value,omitempty"`
	// For a read: the node that wrote it last; "" for the workspace or a builtin
	By string `json:"by,omitempty"`

	Tool  string `json:"-"` // a call's
	Stale bool   `json:"-"` // read: the program leaves another value; written: by a block that read such a value
}

// At returns the program after step n with everything that is recorded of it. It executes nothing and needs no
// interpreter.
func (h *History) At(ctx context.Context, n state.StepNumber) (*Snapshot, error) {
	return h.Start(ctx, n, 0)
}

// Start is At for the first blocks of a program, at most limit of them; 0 means all.
func (h *History) Start(ctx context.Context, n state.StepNumber, limit int) (*Snapshot, error) {
	snap := &Snapshot{Session: h.name, Blocks: []BlockView{}}
	if err := h.DescribeStep(ctx, n, snap); err != nil {
		return nil, err
	}
	blocks, total, err := h.programStart(ctx, n, limit)
	if err != nil {
		return nil, err
	}
	snap.Total = total
	edits := map[state.StepNumber]state.Step{}
	last := map[depgraph.Key]AccessView{} // the last writer of each key so far
	for i := range blocks {
		v, err := h.view(ctx, i, &blocks[i], last)
		if err != nil {
			return nil, err
		}
		step, known := edits[v.Edited]
		if !known && v.Edited > 0 {
			if step, err = h.Step(ctx, v.Edited); err != nil {
				return nil, err
			}
			edits[v.Edited] = step
		}
		v.Origin, v.EditedAt = step.Origin, step.Time
		snap.Blocks = append(snap.Blocks, v)
	}
	return snap, nil
}

// Block returns a block of the snapshot by a name, see Shown.
func (s *Snapshot) Block(id state.BlockID) (*BlockView, error) {
	blocks := SnapshotBlocks(s)
	known := IDs(blocks)
	if i := slices.Index(known, string(Shown(id, blocks))); i >= 0 {
		return &s.Blocks[i], nil
	}
	return nil, &state.Error{
		Code:    CodeNoBlock,
		Message: fmt.Sprintf("session %q has no block %q after step %d", s.Session, id, s.Step.Number),
		Hint:    DidYouMean(string(id), known) + "its blocks are: " + Shorten(known),
	}
}

// SnapshotBlocks returns the blocks of a snapshot as package patch knows them.
func SnapshotBlocks(s *Snapshot) []patch.Block {
	blocks := make([]patch.Block, 0, len(s.Blocks))
	for _, b := range s.Blocks {
		blocks = append(
			blocks,
			patch.Block{ID: string(b.ID), Title: b.Title, Dialect: string(b.Dialect), Source: b.Source},
		)
	}
	return blocks
}

// DescribeStep adds the log entry of step n to snap, and the first run after it if the step is an edit.
func (h *History) DescribeStep(ctx context.Context, n state.StepNumber, snap *Snapshot) error {
	if n == 0 {
		return nil
	}
	step, err := h.Step(ctx, n)
	if err != nil {
		return err
	}
	if snap.Step, err = h.EntryOf(ctx, step); err != nil {
		return err
	}
	if step.Kind == state.KindRun {
		return nil
	}
	seen := 0
	for next, err := range h.store.Steps(ctx, h.name, n+1, n+runNear) {
		if err != nil {
			return err
		}
		if next.Kind == state.KindRun {
			snap.NextRun = next.Number
			return nil
		}
		seen++
	}
	snap.NotRun = seen < runNear && step.Kind.Changes()
	return nil
}

// runNear is how many steps after an edit a search for its run goes. A program that is loaded makes one step a block,
// so the run may be many steps away; an unbounded search would read the whole history for an edit that never ran.
const runNear = 512

// Step returns one step without its changes.
func (h *History) Step(ctx context.Context, n state.StepNumber) (state.Step, error) {
	for step, err := range h.store.Steps(ctx, h.name, n, n) {
		return step, err
	}
	return h.store.Step(ctx, h.name, n) // its error
}

// view describes one block; last is what was written before it, and after it what it wrote, too.
func (h *History) view(
	ctx context.Context, index int, b *state.ProgramBlock, last map[depgraph.Key]AccessView,
) (BlockView, error) {
	kept := b.Before
	v := BlockView{
		ID:      b.ID,
		Index:   index,
		Title:   b.Title,
		Dialect: b.Dialect,
		Version: b.Version,
		Source:  b.Source,
		Edited:  kept.Edited,
		Status:  state.StatusWith(kept.Status, kept.Err),
		Nodes:   []NodeView{},
		Outputs: []output.Output{},
		Error:   kept.Err,
	}
	if kept.RanAt < kept.Edited {
		return v, nil // edited since: the results belong to an earlier version
	}
	v.RanAt, v.Verified = kept.RanAt, kept.Verified
	stale := false
	for i, n := range kept.Nodes {
		node, t, err := h.nodeView(ctx, NodeName(b.ID, i, state.Statements(kept.Nodes), n.Part), n, last)
		if err != nil {
			return v, err
		}
		v.Nodes = append(v.Nodes, node)
		v.Seconds += node.Seconds
		stale = stale || !IsPinned(&n) && slices.ContainsFunc(node.Reads, func(r AccessView) bool { return r.Stale })
		if t == nil {
			continue
		}
		outputs, _, err := h.store.Outputs(t)
		if err != nil {
			return v, err
		}
		v.Outputs = append(v.Outputs, outputs...)
		if e := t.Failure(); e != nil {
			v.Error, v.Status = e, state.StatusWith(kept.Status, e)
		}
		for _, m := range t.Marks {
			v.Marks = AppendNew(v.Marks, m)
		}
		if IsPinned(&n) {
			v.Marks = AppendNew(v.Marks, state.MarkPinned)
		}
	}
	v.Outputs = append([]output.Output{}, output.Join(v.Outputs)...)
	if v.Status == state.StatusFailed.String() {
		var err error
		if v.FailedAt, err = h.failedAt(ctx, kept); err != nil {
			return v, err
		}
	}
	if stale && (kept.Status == state.StatusRan || kept.Status == state.StatusReused) {
		v.Status = StatusStale
		for _, n := range v.Nodes {
			for _, w := range n.Writes {
				w.Stale = true
				last[w.Key] = w
			}
		}
	}
	return v, nil
}

func (h *History) nodeView(
	ctx context.Context,
	name string,
	n state.NodeResult,
	last map[depgraph.Key]AccessView,
) (NodeView, *state.Trace, error) {
	v := NodeView{
		Name:    name,
		Status:  n.Status.String(),
		Reason:  n.Reason,
		Seconds: n.Seconds,
		Code:    n.Code,
		Trace:   n.Trace,
		Reads:   []AccessView{},
		Writes:  []AccessView{},
	}
	if n.Trace == "" {
		return v, nil, nil
	}
	t, ok, err := h.store.Trace(n.Trace)
	if err != nil {
		return v, nil, err
	}
	if !ok {
		v.Lost = true
		return v, nil, nil
	}
	v.Seconds, v.Status = t.Seconds, state.StatusWith(n.Status, t.Failure())
	v.Trust, v.Signer = t.Tier, t.Signer
	for _, a := range t.Reads {
		read := AccessView{Key: a.Key, Digest: a.Digest}
		if w, ok := last[a.Key]; ok && w.Digest == a.Digest {
			read.Value, read.By, read.Stale = w.Value, w.By, w.Stale
		} else if a.Key.Space() == "var" && a.Digest != state.Absent && !strings.HasPrefix(string(a.Digest), "!") {
			read.Stale = true // else a failed block would have written it
		}
		if read.Value == nil {
			read.Value, read.Tool = h.callValue(ctx, a.Key, a.Digest)
		}
		v.Reads = append(v.Reads, read)
	}
	for _, a := range t.Writes {
		wrote := AccessView{Key: a.Key, Digest: a.Digest, Value: ValueOf(&t, a.Key)}
		v.Writes = append(v.Writes, wrote)
		wrote.By = name
		last[a.Key] = wrote
	}
	return v, &t, nil
}

// Trust returns on whose word the store has the results of a block: the least of its nodes.
func (b *BlockView) Trust() (worst state.Trust) {
	for _, n := range b.Nodes {
		if n.Trust == state.TierForeign || worst.Tier == state.TierOwn {
			worst = state.Trust{Tier: n.Trust, Signer: n.Signer}
		}
		if worst.Tier == state.TierForeign {
			break
		}
	}
	return worst
}

// ValueOf returns the recorded description of the value that a trace wrote to a key, or nil.
func ValueOf(t *state.Trace, k depgraph.Key) *state.ValueInfo {
	if info, ok := t.Info[k]; ok {
		return &info
	}
	return nil
}

// NodeName names a node as reasons do: by its block, and its place there or in a function ("b3#2", "b3#main[2]").
func NodeName(id state.BlockID, at, of int, part string) string {
	switch {
	case part != "":
		return fmt.Sprintf("%s#%s", id, part)
	case of == 1:
		return string(id)
	}
	return fmt.Sprintf("%s#%d", id, at+1)
}

// AppendNew appends x to list unless list contains it.
func AppendNew[T comparable](list []T, x T) []T {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}
