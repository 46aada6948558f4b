package replay

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// BisectOptions configures Bisect. The zero value is the usual choice.
type BisectOptions struct {
	// Good and Bad are the ends of the search. 0 means the last step for Bad. For Good it means the last run before it
	// in which the block did not fail and its outcome was different, else the first in which it did not fail.
	Good, Bad state.StepNumber
	Value     string        // only this variable counts of what the block makes
	Recorded  bool          // execute nothing: answer as well as what is recorded allows
	Timeout   time.Duration // for one node; 0 means none
}

// Bisection names the first edit after which a block failed or produced something different.
type Bisection struct {
	Block state.BlockID `json:"block"`
	Test  string        `json:"test"` // failed or changed
	First *query.Entry  `json:"first"`
	// Between lists the candidates if only recorded outcomes are used; First is the last of them.
	Between  []query.Entry `json:"between,omitempty"`
	Good     Probe         `json:"good"`
	Bad      Probe         `json:"bad"`
	Probes   []Probe       `json:"probes"`   // in the order in which they were made, without Good and Bad
	Executed int           `json:"executed"` // blocks, a block that was executed in two programs counting twice
	Restored int           `json:"restored"` // nodes executed again for a value that was not kept
	Seconds  float64       `json:"seconds"`  // spent executing
}

// Probe is the outcome of the block in the program after a step.
type Probe struct {
	Step state.StepNumber `json:"step"`
	How  string           `json:"how"` // recorded or executed
	// Status is done, failed, blocked, unknown, or absent if the program had no such block.
	Status string                            `json:"status"`
	Error  string                            `json:"error,omitempty"`
	Makes  map[depgraph.Key]query.AccessView `json:"makes,omitempty"` // variables and files
	Marks  []string                          `json:"marks,omitempty"` // why it may vary from run to run
	output string
	bad    bool
}

// unknownStatus is the status of a probe whose outcome is not recorded.
const unknownStatus = "unknown"

// CodeUnchanged is the code of errors about a search for a change that does not exist.
const CodeUnchanged state.Code = "unchanged"

// Bisect finds the edit after which a block failed. If the block does not fail at the end, Bisect finds the edit after
// which it produced something different. It halves the edits in between, so of N edits it probes log2(N) at
// most. It reads recorded outcomes first. Only where none is recorded does it execute the block, with its dependencies
// in the program of that step, and of these only the nodes without a cached result.
//
// It records nothing in the session, and restores the files that these executions write. It caches their results like
// others. Effects outside the workspace happen.
func Bisect(ctx context.Context, s *Subject, id state.BlockID, o BisectOptions) (*Bisection, error) {
	engine, release, err := s.Engine(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	b := &bisecting{
		subject: s,
		engine:  engine,
		options: o,
		known:   map[state.StepNumber]*Probe{},
		found:   &Bisection{Block: id, Probes: []Probe{}},
	}
	return b.found, engine.Isolated(func() error {
		if err := b.ends(ctx); err != nil {
			return err
		}
		return b.search(ctx)
	})
}

type bisecting struct {
	engine  *runner.Engine
	subject *Subject
	options BisectOptions
	found   *Bisection
	edits   []state.Step       // between the ends, in order; the last is the one that the search may end with
	runs    []state.StepNumber // between the ends
	known   map[state.StepNumber]*Probe
	blocks  int // the number in the program that was looked at last
}

// ends fills in the ends of the search that the caller left open, and lists the edits between them.
func (b *bisecting) ends(ctx context.Context) error {
	s, o := b.subject, &b.options
	head, _, err := s.Store().Head(ctx, s.Name())
	if err != nil {
		return err
	}
	if o.Bad == 0 {
		o.Bad = head
	}
	if o.Good == 0 && o.Bad <= head {
		if o.Good, err = b.lastOther(ctx); err != nil {
			return err
		}
	}
	if o.Good >= o.Bad || o.Bad > head {
		return &state.Error{
			Code:    state.CodeNoStep,
			Message: fmt.Sprintf("there are no steps from %d to %d", o.Good, o.Bad),
			Hint:    fmt.Sprintf("`--good` must be before `--bad`, and the last step is %d", head),
		}
	}
	for step, err := range s.Store().Steps(ctx, s.Name(), o.Good+1, o.Bad) {
		if err != nil {
			return err
		}
		switch {
		case query.IsEdit(step.Kind) || step.Kind == state.KindRollback:
			b.edits = append(b.edits, step)
		case step.Kind == state.KindRun:
			b.runs = append(b.runs, step.Number)
		}
	}
	if len(b.edits) == 0 {
		return &state.Error{
			Code:    CodeUnchanged,
			Message: fmt.Sprintf("no edit lies between step %d and step %d", o.Good, o.Bad),
			Hint:    "name other steps: `--good STEP --bad STEP`",
		}
	}
	return nil
}

// lastOther is the last run in which the block did not fail and had another outcome than at the end of the search, if
// that can be found without executing the programs of runs.
func (b *bisecting) lastOther(ctx context.Context) (state.StepNumber, error) {
	first, err := b.firstGood(ctx)
	if err != nil {
		return 0, err
	}
	bad, err := b.probe(ctx, b.options.Bad, !b.options.Recorded)
	if err != nil || bad.Status == unknownStatus {
		return first, err
	}
	var runs []state.StepNumber
	for step, err := range b.subject.Store().Steps(ctx, b.subject.Name(), first+1, b.options.Bad-1) {
		if err != nil {
			return 0, err
		}
		if step.Kind == state.KindRun {
			runs = append(runs, step.Number)
		}
	}
	if len(runs)*b.blocks > nearBlocks {
		return first, nil
	}
	for _, n := range slices.Backward(runs) {
		p, err := b.probe(ctx, n, false)
		if err != nil {
			return 0, err
		}
		if p.Status == "done" && b.isBad(p, bad) {
			return n, nil
		}
	}
	return first, nil
}

// firstGood is the first run in which the block did not fail.
func (b *bisecting) firstGood(ctx context.Context) (state.StepNumber, error) {
	s, id := b.subject, b.found.Block
	ever := false
	for step, err := range s.Store().Steps(ctx, s.Name(), 1, b.options.Bad) {
		if err != nil {
			return 0, err
		}
		ever = ever || step.Block == id
		if step.Kind != state.KindRun {
			continue
		}
		block, found, err := s.Store().BlockAt(ctx, s.Name(), step.Number, id)
		if err != nil {
			return 0, err
		}
		if found && (block.Status == state.StatusRan || block.Status == state.StatusReused) {
			return step.Number, nil
		}
	}
	if !ever {
		return 0, &state.Error{
			Code:    query.CodeNoBlock,
			Message: fmt.Sprintf("session %q never had a block %q", s.Name(), id),
			Hint:    "`xstate query` lists its blocks",
		}
	}
	return 0, &state.Error{
		Code:    query.CodeNoBlock,
		Message: fmt.Sprintf("block %q was never run without a failure", id),
		Hint:    "name a step to begin with: `--good STEP`; `xstate log` lists them",
	}
}

// near is how many edits on either side of the middle are searched for one with a recorded outcome: a lookup is cheaper
// than an execution. In a large program each lookup costs more, so near counts the blocks that are planned for it.
const (
	near        = 64
	nearBlocks  = 1 << 16
	nearAtLeast = 4
)

func (b *bisecting) search(ctx context.Context) error {
	good, err := b.probe(ctx, b.options.Good, !b.options.Recorded)
	if err != nil {
		return err
	}
	bad, err := b.probe(ctx, b.options.Bad, !b.options.Recorded)
	if err != nil {
		return err
	}
	b.found.Good, b.found.Bad = *good, *bad
	if err := b.test(good, bad); err != nil {
		return err
	}
	if err := b.narrow(ctx, good); err != nil {
		return err
	}
	lo, hi := -1, len(b.edits)-1 // the last edit known to be good, the first known to be bad
	for hi-lo > 1 {
		i, p, err := b.next(ctx, lo, hi)
		if err != nil {
			return err
		}
		if p == nil {
			break
		}
		if p.bad = b.isBad(good, p); p.bad {
			hi, b.found.Bad = i, *p
		} else {
			lo, b.found.Good = i, *p
		}
	}
	return b.answer(ctx, lo, hi)
}

// narrow keeps the edits from the last good recorded run to the first bad one after it. Of a block that failed, was
// fixed and failed again, the first failure counts. narrow plans each run against the present files instead of taking
// its recorded outcome: a later edit of a file does not count as an edit of the program.
func (b *bisecting) narrow(ctx context.Context, good *Probe) error {
	if len(b.runs)*b.blocks > nearBlocks {
		return nil
	}
	from, to := b.options.Good, b.options.Bad
	for _, n := range b.runs {
		p, err := b.probe(ctx, n, false)
		if err != nil {
			return err
		}
		if p.Status == unknownStatus {
			continue
		}
		if p.bad = b.isBad(good, p); p.bad {
			to, b.found.Bad = n, *p
			break
		}
		from, b.found.Good = n, *p
	}
	b.edits = slices.DeleteFunc(b.edits, func(e state.Step) bool { return e.Number <= from || e.Number > to })
	return nil
}

// next returns an edit between two others, with the outcome of the block after it. It prefers the recorded outcome
// nearest to the middle, else it executes at the middle. It returns none if nothing may execute.
func (b *bisecting) next(ctx context.Context, lo, hi int) (int, *Probe, error) {
	middle := (lo + hi) / 2
	for d := range min(hi-lo, near, max(nearAtLeast, nearBlocks/max(1, b.blocks))) {
		for _, i := range slices.Compact([]int{middle - d, middle + d}) {
			if i <= lo || i >= hi {
				continue
			}
			if p, err := b.probe(ctx, b.edits[i].Number, false); err != nil || p.Status != unknownStatus {
				return i, p, err
			}
		}
	}
	if b.options.Recorded {
		return 0, nil, nil
	}
	p, err := b.probe(ctx, b.edits[middle].Number, true)
	return middle, p, err
}

// test decides what the search looks for.
func (b *bisecting) test(good, bad *Probe) error {
	for _, p := range []*Probe{good, bad} {
		if p.Status == unknownStatus {
			return &state.Error{
				Code:    CodeUnchanged,
				Message: fmt.Sprintf("what block %s came to at step %d is not recorded", b.found.Block, p.Step),
				Hint:    "without `--recorded` it is executed",
			}
		}
	}
	b.found.Test = "changed"
	if broken(bad) && !broken(good) {
		b.found.Test = "failed"
	}
	if bad.bad = b.isBad(good, bad); !bad.bad {
		return &state.Error{
			Code: CodeUnchanged,
			Message: fmt.Sprintf(
				"block %s comes to the same at step %d and at step %d",
				b.found.Block,
				good.Step,
				bad.Step,
			),
			Hint: "name other steps: `--good STEP --bad STEP`",
		}
	}
	return nil
}

func broken(p *Probe) bool { return p.Status == "failed" || p.Status == "blocked" }

func (b *bisecting) isBad(good, p *Probe) bool {
	switch {
	case b.found.Test == "failed":
		return broken(p)
	case good.Status != p.Status || good.Error != p.Error:
		return true
	case b.options.Value != "":
		k := depgraph.Var(b.options.Value)
		return good.Makes[k].Digest != p.Makes[k].Digest
	}
	return good.output != p.output ||
		!maps.EqualFunc(good.Makes, p.Makes, func(x, y query.AccessView) bool { return x.Digest == y.Digest })
}

func (b *bisecting) answer(ctx context.Context, lo, hi int) error {
	for i := lo + 1; i <= hi; i++ {
		e, err := b.subject.EntryOf(ctx, b.edits[i])
		if err != nil {
			return err
		}
		b.found.First = &e
		if hi-lo > 1 {
			b.found.Between = append(b.found.Between, e)
		}
	}
	return nil
}

// probe returns the outcome of the block in the program after a step: the recorded one or, if execute is set, that of
// executing what is missing.
func (b *bisecting) probe(ctx context.Context, n state.StepNumber, execute bool) (*Probe, error) {
	if p := b.known[n]; p != nil {
		return p, nil
	}
	program, err := b.subject.ProgramAt(ctx, n)
	if err != nil {
		return nil, err
	}
	b.blocks = len(program)
	p := &Probe{Step: n, How: "recorded", Status: "absent", Makes: map[depgraph.Key]query.AccessView{}}
	at := slices.IndexFunc(program, func(x state.ProgramBlock) bool { return x.ID == b.found.Block })
	if at >= 0 {
		p.Status = unknownStatus
		if err := b.ask(ctx, program[:at+1], p, execute); err != nil {
			return nil, err
		}
	}
	if p.Status != unknownStatus {
		b.known[n] = p
		told := *p
		told.Makes = nil
		b.found.Probes = append(b.found.Probes, told)
	}
	return p, nil
}

// ask fills in the outcome of the last block of a program. It leaves the outcome unknown if that needs an execution
// that is not allowed.
func (b *bisecting) ask(ctx context.Context, program []state.ProgramBlock, p *Probe, execute bool) error {
	plan, err := b.engine.Plan(ctx, program)
	if err != nil {
		return err
	}
	planned, err := plan.Blocks(ctx)
	if err != nil {
		return err
	}
	last := &planned[len(planned)-1]
	known := func(n runner.PlanNode) bool {
		return n.Action == runner.ActReuse || n.Action == runner.ActBlock || n.Action == runner.ActSkip
	}
	if !slices.ContainsFunc(last.Nodes, func(n runner.PlanNode) bool { return !known(n) }) {
		return b.recorded(last, p)
	}
	if !execute {
		return nil
	}
	out, err := b.engine.Run(ctx, restsOn(program, planned), runner.RunOptions{Timeout: b.options.Timeout, Part: true})
	if err == nil {
		err = out.Stopped
	}
	if err != nil {
		return err
	}
	b.found.Seconds += out.Seconds
	b.found.Restored += out.Recomputed
	for i := range out.Blocks {
		if slices.ContainsFunc(out.Blocks[i].Nodes, func(n runner.NodeOutcome) bool { return n.Seconds > 0 }) {
			b.found.Executed++
		}
	}
	p.How = "executed"
	return b.executed(&out.Blocks[len(out.Blocks)-1], p)
}

// recorded fills in the outcome from the traces of a block.
func (b *bisecting) recorded(x *runner.PlanBlock, p *Probe) error {
	p.Status = "done"
	if x.Err != nil {
		p.Status, p.Error = "failed", query.ErrorLine(x.Err)
	}
	for i := range x.Nodes {
		n := &x.Nodes[i]
		if n.Action == runner.ActBlock {
			if p.Status == "done" {
				p.Status = "blocked"
			}
			continue
		}
		if n.Action == runner.ActSkip {
			p.Status = settled(state.StatusNotReached)
			continue
		}
		if err := b.add(n.Last, p); err != nil {
			return err
		}
	}
	return nil
}

// executed fills in the outcome of a run of a block.
func (b *bisecting) executed(x *runner.BlockOutcome, p *Probe) error {
	p.Status = settled(x.Status)
	if x.Err != nil && len(x.Nodes) == 0 {
		p.Error = query.ErrorLine(x.Err)
	}
	for i := range x.Nodes {
		if x.Nodes[i].Trace == "" {
			continue
		}
		t, ok, err := b.subject.Store().Trace(x.Nodes[i].Trace)
		if err == nil && ok {
			err = b.add(&t, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds the writes and outputs of one execution.
func (b *bisecting) add(t *state.Trace, p *Probe) error {
	if e := t.Failure(); e != nil {
		p.Status, p.Error = "failed", query.ErrorLine(e)
	}
	for _, w := range t.Writes {
		if !query.IsMade(w.Key) {
			continue
		}
		if delete(p.Makes, w.Key); w.Digest != state.Absent {
			p.Makes[w.Key] = query.AccessView{Key: w.Key, Digest: w.Digest, Value: query.ValueOf(t, w.Key)}
		}
	}
	for _, m := range t.Marks {
		p.Marks = query.AppendNew(p.Marks, m)
	}
	outputs, _, err := b.subject.Store().Outputs(t)
	p.output += query.Text(outputs)
	return err
}
