package runner

import (
	"context"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// Plan reports what a run would do. It is computed without executing anything. It lists the nodes that are not simply
// reused. Blocks reads the details of all the others, which costs as much as a walk of the program.
type Plan struct {
	Total   int                // nodes of the program
	Nodes   []PlanNode         // those that run, may run or are blocked, in program order
	Refused []*state.ExecError // why blocks cannot be analysed, in program order
	Edited  []EditedFile       // results that were edited: the run is refused
	Work    Work               // what the decisions took

	start  float64 // seconds, of an interpreter; see Preparation
	blocks []PlanBlock
	walk   func(context.Context) (*Plan, error) // reads blocks; nil when they are there
}

// Blocks returns the plan of every block, in program order. A plan of an open session reads them on the first call,
// from the program as it was when the plan was made.
func (p *Plan) Blocks(ctx context.Context) ([]PlanBlock, error) {
	if p.walk != nil {
		whole, err := p.walk(ctx)
		if err != nil {
			return nil, err
		}
		p.blocks, p.start, p.walk = whole.blocks, whole.start, nil
	}
	return p.blocks, nil
}

// newPlan returns a plan of these blocks.
func newPlan(blocks []PlanBlock) *Plan {
	p := &Plan{blocks: blocks}
	for _, b := range blocks {
		if b.Err != nil {
			p.Refused = append(p.Refused, b.Err)
		}
		for _, n := range b.Nodes {
			if p.Total++; n.Action != ActReuse {
				p.Nodes = append(p.Nodes, n)
			}
		}
	}
	p.Work.Visited = p.Total
	return p
}

// Work counts what a plan took.
type Work struct {
	Enqueued int // nodes that the planner queued for a decision
	Visited  int // nodes decided
	Compared int // traces compared
}

// PlanBlock sums up the nodes of one block.
type PlanBlock struct {
	ID      state.BlockID
	Title   string
	Index   int
	Action  Action
	Reason  state.Reason
	Seconds float64 // recorded cost of the nodes that run or may run
	Saved   float64 // recorded cost of the nodes reused
	Nodes   []PlanNode
	Err     *state.ExecError // why the block is refused
	Failure *state.ExecError // for the action fail: how it fails, as before
	Whole   string           // why a function that the block calls once is one node; "" if there is none
}

// IsEnd reports whether the node is the end of the program.
func (n PlanNode) IsEnd() bool { return n.Facts.Kind == depgraph.KindEnd }

// Plan reports what Run would do with blocks. It executes and writes nothing. It visits every node, see Planner.
func (e *Engine) Plan(ctx context.Context, blocks []state.ProgramBlock) (*Plan, error) {
	units, nodes := e.analyse(blocks)
	e.baseState.Begin()
	if err := e.adoptRelatives(); err != nil {
		return nil, err
	}
	p := newProgramStateFor(e.baseState.Get, len(nodes))
	acts := make([]PlanNode, len(nodes))
	stopped := map[*unit]bool{}
	edited := editedSearch{open: e.editedFiles()}
	for i, n := range nodes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		g := decideOptions{stopped: stopped[n.unit], pin: n.unit.pin()}
		if n.isEnd() {
			g = decideOptions{}
		}
		d, err := e.decide(walkPlace{p, units, nodes}, n, g)
		if err != nil {
			return nil, err
		}
		acts[i] = d.PlanNode
		edited.pass(&d)
		if !p.advance(i, n, &d, stopped) {
			p.markUnknown(i, n, d.Last)
		}
	}
	plan := newPlan(planBlocks(units, acts))
	plan.start, plan.Edited = e.startSeconds(dialectsOf(blocks)), edited.found
	return plan, nil
}

// possibleWrites returns the keys that a node that has not run may write: what its text defines and deletes, and what
// its last execution wrote.
func possibleWrites(n *node, last *state.Trace) map[depgraph.Key]bool {
	keys := map[depgraph.Key]bool{}
	for _, names := range [][]string{n.facts.Defines, n.facts.Deletes} {
		for _, name := range names {
			keys[depgraph.Var(name)] = true
		}
	}
	if last != nil {
		for _, w := range last.Writes {
			keys[w.Key] = true
		}
	}
	return keys
}

// markUnknown makes p the state after node i, which has not run. Its writes are unknown.
func (p *programState) markUnknown(i int, n *node, last *state.Trace) {
	for k := range possibleWrites(n, last) {
		p.keys.set(k, entry{digest: unknown, writer: i})
	}
	if last != nil && last.Ending != nil && p.end.by == "" {
		p.end.by = n.unit.ID
	}
}

// planBlocks sums up what is planned for the nodes of each block.
func planBlocks(units []*unit, acts []PlanNode) []PlanBlock {
	var blocks []PlanBlock
	rank := []Action{ActReuse, ActBlock, ActMaybe, ActRun}
	for i, u := range units {
		b := PlanBlock{
			ID:     u.ID,
			Title:  u.Title,
			Index:  i,
			Action: ActReuse,
			Reason: state.Reason{Code: state.ReasonReused},
			Err:    u.err,
			Whole:  u.whole,
		}
		if u.err != nil {
			b.Action, b.Reason = ActBlock, state.Reason{Code: state.ReasonSyntax}
		}
		var fails *state.ExecError
		for _, n := range u.all(func(end *node) bool { return acts[end.index].Action != ActNone }) {
			a := acts[n.index]
			b.Nodes = append(b.Nodes, a)
			if a.Action == ActReuse {
				b.Saved += a.Seconds
				if a.Last != nil && a.Last.Failure() != nil {
					fails = a.Last.Failure()
				}
			} else if a.Action != ActBlock {
				b.Seconds += a.Seconds
			}
			if slices.Index(rank, a.Action) > slices.Index(rank, b.Action) {
				b.Action, b.Reason = a.Action, a.Reason
			}
		}
		if fails != nil && (b.Action == ActReuse || b.Action == ActBlock) {
			b.Action, b.Reason, b.Failure = ActFail, state.Reason{Code: state.ReasonReused}, fails
		}
		if len(b.Nodes) > 0 && b.Nodes[0].Action == ActSkip {
			b.Action, b.Reason = ActSkip, b.Nodes[0].Reason
		}
		blocks = append(blocks, b)
	}
	return blocks
}
