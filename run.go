package xstate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/journal/rule"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/preflight"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Plan reports what Run would do. It executes and records nothing. If blocks is not nil, Plan plans these blocks, such
// as those of a file that is not loaded yet, in place of the session's program.
//
// The first plan of the session's program costs as much as a walk. While the session is open, a later plan costs as
// much as the edits since and the nodes that they affect: 10 of 1,000,000 nodes take under a millisecond. With
// XSTATE_VERIFY=plan in the environment, Plan compares each of these plans with a walk and fails if they differ.
func (s *Session) Plan(ctx context.Context, blocks []patch.Block) (*Plan, error) {
	if blocks != nil {
		return s.walkPlan(ctx, blocks)
	}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	if err := s.followEdits(ctx); err != nil {
		return nil, err
	}
	at := s.plannedAt
	program := func(ctx context.Context) ([]state.ProgramBlock, error) { return s.history.ProgramAt(ctx, at) }
	plan, err := s.planner.Plan(ctx, program)
	if err == nil && os.Getenv("XSTATE_VERIFY") == "plan" {
		err = s.planner.Check(ctx, plan)
	}
	return plan, err
}

// walkPlan plans with a walk of the whole program. It costs less than Plan for a caller that needs every block once.
func (s *Session) walkPlan(ctx context.Context, blocks []patch.Block) (*Plan, error) {
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	program, _, err := s.history.Program(ctx)
	if err != nil {
		return nil, err
	}
	if blocks != nil {
		if program, err = withBlocks(program, blocks); err != nil {
			return nil, err
		}
	}
	return s.engine.Plan(ctx, program)
}

// withBlocks returns the program that Load would make of blocks.
func withBlocks(program []state.ProgramBlock, blocks []patch.Block) ([]state.ProgramBlock, error) {
	before := map[BlockID]*state.Block{}
	for _, b := range program {
		before[b.ID] = b.Before
	}
	old := query.PatchBlocks(program)
	now, err := patch.Apply(old, patch.Match(old, blocks))
	if err != nil {
		return nil, err
	}
	var next []state.ProgramBlock
	for _, b := range now {
		next = append(next, query.ProgramBlock(b, before[BlockID(b.ID)]))
	}
	return next, nil
}

// followEdits passes the planner the changes of the program since its last plan. A rollback may change any block, so
// followEdits then starts a new planner.
func (s *Session) followEdits(ctx context.Context) error {
	head, _, err := s.store.state.Head(ctx, s.name)
	if err != nil {
		return err
	}
	for s.planner != nil && s.plannedAt < head {
		step, err := s.store.state.Step(ctx, s.name, s.plannedAt+1)
		if err != nil {
			return err
		}
		if step.Kind == state.KindRollback {
			s.planner = nil
			break
		}
		for _, c := range step.Changes {
			if err := s.planner.Change(c.Op, c.ID, c.After); err != nil {
				s.planner = nil
				return err
			}
		}
		s.plannedAt = step.Number
	}
	if s.planner != nil {
		return nil
	}
	order, err := s.store.state.BlockOrder(ctx, s.name, head)
	if err != nil {
		return err
	}
	s.planner, s.plannedAt = s.engine.NewPlanner(s.blockNow), head
	after := BlockID("")
	for _, id := range order {
		if err := s.planner.Change(state.OpInsert, id, after); err != nil {
			return err
		}
		after = id
	}
	return nil
}

// blockNow returns a block of the program that the planner follows.
func (s *Session) blockNow(ctx context.Context, id BlockID) (state.ProgramBlock, error) {
	b, found, err := s.store.state.BlockAt(ctx, s.name, s.plannedAt, id)
	if err != nil || !found {
		return state.ProgramBlock{}, errors.Join(err, fmt.Errorf("block %q cannot be read", id))
	}
	source, err := s.history.Source(ctx, b.Version)
	return b.WithSource(source), err
}

// Subject returns the session in the form that package replay takes.
func (s *Session) Subject() *replay.Subject {
	return &replay.Subject{
		History: s.history,
		Named:   s.options.Python != "" || kernel.Getenv(s.options.Environ, "XSTATE_PYTHON") != "",
		Chosen:  s.options.Python != "",
		Config: func(ctx context.Context, any bool) (runner.Config, error) {
			own := *s
			if any {
				own.options.Python = AnyPython
			}
			return own.config(ctx)
		},
		Engine: func(ctx context.Context) (*runner.Engine, func(), error) {
			own, release, err := s.withOwnEngine(ctx)
			if err != nil {
				return nil, nil, err
			}
			return own.engine, release, nil
		},
		BeginCalls: func(ctx context.Context) error { return s.beginCalls(ctx, "") },
	}
}

// Run brings every block up to date and records the run as a step. It executes only the affected nodes. If ctx stops
// the run, Run records the finished part, and Outcome.Stopped holds the reason.
func (s *Session) Run(ctx context.Context, o runner.RunOptions, origin Origin) (*Outcome, Step, error) {
	began := time.Now()
	release, err := s.Hold(ctx)
	if err != nil {
		return nil, Step{}, err
	}
	defer release()
	if err := s.start(ctx); err != nil {
		return nil, Step{}, err
	}
	if err := s.keepStdin(); err != nil {
		return nil, Step{}, err
	}
	if err := s.setFiles(ctx); err != nil {
		return nil, Step{}, err
	}
	volatile, err := s.history.VaryingCode(ctx)
	if err != nil {
		return nil, Step{}, err
	}
	s.engine.SetVolatile(codesOf(volatile))
	program, head, err := s.history.Program(ctx)
	if err != nil {
		return nil, Step{}, err
	}
	if err := s.admit(ctx, program, &o, state.Caller{Session: s.name, Step: head, Agent: origin.Agent}); err != nil {
		return nil, Step{}, err
	}
	prepared := time.Since(began).Seconds()
	outcome, err := s.engine.Run(ctx, program, o)
	if err != nil {
		return nil, Step{}, err
	}
	differs, err := s.undeclared(ctx, s.gate.Manifest(), outcome)
	if err != nil {
		return nil, Step{}, err
	}
	outcome.Warnings = slices.Concat(s.gate.Warnings(), differs, s.cacheWarnings())
	outcome.ResultSeconds += prepared
	outcome.Spend(prepared)
	step, err := s.record(context.WithoutCancel(ctx), head, outcome, origin)
	if err == nil && step.Number == head+1 {
		err = s.rememberUpToDate(context.WithoutCancel(ctx), outcome, o, step)
	}
	outcome.TotalSeconds = time.Since(began).Seconds()
	return outcome, step, err
}

// decides returns what decides about a run of the program: rules, its manifest, budgets.
func (s *Session) decides(program []state.ProgramBlock, agent string) (r rule.Run, err error) {
	r.Agent = agent
	if r.Manifest, err = rule.ManifestIn(s.options.File); r.Manifest == nil && err == nil {
		r.Manifest, err = manifestOf(program)
	}
	if err != nil {
		return r, err
	}
	if p := s.options.Policy; p != nil {
		if r.Rules, err = rule.Compile(p.Rules); err != nil {
			return r, err
		}
		r.Generated = p.Generated
		r.Budgets = p.Budgets
	}
	r.Budgets = rule.Limits(r.Budgets, s.options.Budgets, r.Manifest)
	return r, nil
}

func manifestOf(program []state.ProgramBlock) (*rule.Manifest, error) {
	return rule.ManifestOf(func(yield func(name, text string) bool) {
		for _, b := range program {
			if !yield("block "+string(b.ID), b.Source) {
				return
			}
		}
	})
}

// admit begins a run, unless a rule denies the program: then nothing starts.
func (s *Session) admit(ctx context.Context, program []state.ProgramBlock, o *runner.RunOptions,
	by state.Caller) error {
	o.Caller = by
	r, err := s.decides(program, by.Agent)
	if err != nil {
		return err
	}
	if r.Rules.About(rule.OnProgram) {
		text, err := preflight.Read(program)
		if err != nil {
			return err
		}
		v, err := r.Rules.Program(ctx, &text.Uses)
		if err != nil {
			return err
		}
		if v.Action != journal.Allow {
			return &Error{Code: rule.CodeDenied, Message: "the program is not run: " + v.Reason,
				Hint: "`xstate preflight` shows what it would use"}
		}
	}
	if err := s.gate.Begin(ctx, r); err != nil {
		return err
	}
	if rule.BoundsNodes(r.Budgets) {
		o.BeforeNode = s.gate.BeforeNode
	}
	return nil
}

// beginCalls begins calls that no program makes. Rules and budgets decide about them, and not what the program declares
// that it needs.
func (s *Session) beginCalls(ctx context.Context, agent string) error {
	r, err := s.decides(nil, agent)
	if err != nil {
		return err
	}
	return s.gate.Begin(ctx, r)
}

// Revert takes the effect of a call back, by the tool that its record names, and returns that tool's call. A program
// that still makes the reverted call makes it again.
func (s *Session) Revert(ctx context.Context, id state.CallID, origin Origin) (*state.Call, error) {
	if err := s.beginCalls(ctx, origin.Agent); err != nil {
		return nil, err
	}
	head, _, err := s.store.state.Head(ctx, s.name)
	if err != nil {
		return nil, err
	}
	return s.journal.Revert(ctx, id, state.Caller{Session: s.name, Step: head, Agent: origin.Agent})
}

// undeclared says how what a run was seen to use differs from the manifest. Reused results count, for the program uses
// them.
func (s *Session) undeclared(ctx context.Context, m *rule.Manifest, o *Outcome) ([]string, error) {
	if m == nil || o.Stopped != nil {
		return nil, nil
	}
	var results []*state.Trace
	for i := range o.Blocks {
		for j := range o.Blocks[i].Nodes {
			t := o.Blocks[i].Nodes[j].Result()
			if t == nil {
				return nil, nil // what the program uses is not known
			}
			results = append(results, t)
		}
	}
	return m.Undeclared(results, func(k Key) (*state.Call, error) { return s.history.Call(ctx, k) })
}

// record commits a run. Edits that were committed during the run stay. The outcomes of blocks that these edits did not
// change are recorded after them, and the next run finds out what they affect.
func (s *Session) record(ctx context.Context, head StepNumber, o *Outcome, origin Origin) (Step, error) {
	for {
		steps, err := s.store.state.Commit(ctx, s.name, head, []state.Draft{s.runDraft(o, origin)})
		if err == nil {
			return steps[0], nil
		}
		if state.CodeOf(err) != state.CodeConflict {
			return Step{}, err
		}
		var program []state.Block
		if head, _, err = s.store.state.Head(ctx, s.name); err == nil {
			program, err = s.store.state.ProgramAt(ctx, s.name, head)
		}
		if err != nil {
			return Step{}, err
		}
		now := map[BlockID]*state.Block{}
		for i := range program {
			now[program[i].ID] = &program[i]
		}
		o = &Outcome{Blocks: slices.DeleteFunc(slices.Clone(o.Blocks), func(b runner.BlockOutcome) bool {
			return now[b.ID] == nil || now[b.ID].Version != b.Version || now[b.ID].Dialect != b.Dialect
		}), Seconds: o.Seconds, Engine: o.Engine, Saved: o.Saved}
		for i := range o.Blocks {
			b := &o.Blocks[i]
			b.Before = now[b.ID]
			b.Title = b.Before.Title
		}
	}
}

// runDraft returns the step that a run becomes.
func (s *Session) runDraft(o *Outcome, origin Origin) state.Draft {
	d := state.Draft{Kind: state.KindRun, Origin: origin, Run: summarize(o, s.languages.String())}
	for i := range o.Blocks {
		b := &o.Blocks[i]
		next := &state.Block{ID: b.ID, Title: b.Title, Dialect: b.Dialect, Version: b.Version, Status: b.Status}
		if b.Before != nil {
			next.Edited = b.Before.Edited
		}
		next.Waiting = state.StatusWith(b.Status, b.Err) == state.StatusWaiting
		if len(b.Nodes) == 0 {
			next.Err = b.Err
		}
		for _, n := range b.Nodes {
			next.Nodes = append(next.Nodes, n.NodeResult)
		}
		if b.Status == state.StatusNew || sameResult(b.Before, next) {
			continue
		}
		if b.Before != nil && sameTraces(b.Before, next) {
			next.Verified = b.Before.Verified // it reproduced the confirmed result
		}
		d.Changes = append(d.Changes, state.Change{Op: state.OpUpdate, ID: b.ID, Block: next})
	}
	s.addRecords(&d)
	return d
}

// sameResult reports whether a run left a block as the last step did, so that the new step need not repeat it. A block
// that ran before and is reused now keeps the reason why it ran, for later questions.
func sameResult(before *state.Block, now *state.Block) bool {
	if before == nil || !sameTraces(before, now) {
		return false
	}
	if now.Status == state.StatusNotReached {
		return before.Status == now.Status && slices.Equal(before.Nodes, now.Nodes)
	}
	if now.Status != state.StatusReused {
		return false
	}
	return before.Status == state.StatusReused ||
		before.Status == state.StatusRan // new: the version was never said to be done
}

func sameTraces(before, now *state.Block) bool {
	if before.Version != now.Version || before.RanAt == 0 || len(before.Nodes) != len(now.Nodes) {
		return false
	}
	for i := range now.Nodes {
		x, y := &before.Nodes[i], &now.Nodes[i]
		if x.Code != y.Code || x.Trace != y.Trace || query.IsPinned(x) != query.IsPinned(y) {
			return false
		}
	}
	return true
}

// summarize counts the blocks and nodes of a run by status.
func summarize(o *Outcome, interpreter string) *state.RunSummary {
	sum := &state.RunSummary{Seconds: o.Seconds, SavedSeconds: o.Saved, Interpreter: interpreter,
		Observed: string(o.Observed), Interrupted: o.Stopped != nil}
	for _, b := range o.Blocks {
		count(&sum.Blocks, b.Status, b.Err)
		if b.Ending != nil {
			sum.Ended = &state.Ended{By: b.ID, Code: b.Ending.Code}
		}
		for _, n := range b.Nodes {
			count(&sum.Nodes, n.Status, b.Err)
		}
	}
	return sum
}

func count(c *state.Counts, s state.Status, e *state.ExecError) {
	if state.StatusWith(s, e) == state.StatusWaiting {
		c.Waiting++
		return
	}
	switch s {
	case state.StatusRan:
		c.Ran++
	case state.StatusReused:
		c.Reused++
	case state.StatusFailed:
		c.Failed++
	case state.StatusBlocked:
		c.Blocked++
	case state.StatusNotReached:
		c.NotReached++
	}
}

func codesOf(volatile map[Digest][]string) map[Digest]bool {
	codes := map[Digest]bool{}
	for d := range volatile {
		codes[d] = true
	}
	return codes
}

// upToDateRecord is a memo of a run of a file that executed and changed nothing. If the memo is missing or was made
// with other results, the runner walks the program.
type upToDateRecord struct {
	Head     Digest               `json:"head"`    // hash of the step that records the run
	Results  string               `json:"results"` // see state.Store.ResultsGeneration
	Options  string               `json:"options"`
	Summary  state.RunSummary     `json:"summary"`
	Volatile []BlockID            `json:"volatile"` // blocks whose results may differ in another run
	Standing runner.Preconditions `json:"standing"`
	Codes    map[Digest]string    `json:"codes"` // known volatile code, with its quoted reasons
}

// UpToDateRun is a run that found everything up to date.
type UpToDateRun struct {
	Step     Step
	Volatile []BlockID // reused, though another run may produce different results
}

// RunIfChanged records a run without walking the program if the last run of the same file executed nothing and none of
// its preconditions has changed since. It then records the same step as LoadFile and Run would. Its cost is that of
// checking the preconditions and does not grow with the program. Otherwise ok is false, RunIfChanged has recorded
// nothing, and the caller calls LoadFile and Run.
func (s *Session) RunIfChanged(
	ctx context.Context,
	name string,
	data []byte,
	origin Origin,
) (done UpToDateRun, ok bool, err error) {
	release, err := s.Hold(ctx)
	if err != nil {
		return done, false, err
	}
	defer release()
	key := s.loadKey(name, data)
	text, ok := s.store.state.Memo("settled", key)
	if !ok {
		return done, false, nil
	}
	var r upToDateRecord
	if json.Unmarshal(text, &r) != nil {
		return done, false, nil
	}
	head, hash, err := s.store.state.Head(ctx, s.name)
	if err != nil || hash != r.Head || r.Results != s.store.state.ResultsGeneration() ||
		r.Options != s.upToDateOptions() {
		return done, false, err
	}
	if err := s.start(ctx); err != nil {
		return done, false, err
	}
	if err := s.keepStdin(); err != nil {
		return done, false, err
	}
	if err := s.setFiles(ctx); err != nil {
		return done, false, err
	}
	codes, err := s.history.VaryingCode(ctx)
	if err != nil || !sameCodes(codes, r.Codes) {
		return done, false, err
	}
	if stands, err := s.engine.UpToDate(r.Standing); err != nil || !stands {
		return done, false, err
	}
	draft := state.Draft{Kind: state.KindRun, Origin: origin, Run: &r.Summary}
	s.addRecords(&draft)
	steps, err := s.store.state.Commit(ctx, s.name, head, []state.Draft{draft})
	if err != nil {
		if state.CodeOf(err) == state.CodeConflict {
			return done, false, nil // another caller edited it meanwhile
		}
		return done, false, err
	}
	r.Head, s.loaded = steps[0].Hash, loadedFile{key, steps[0].Number}
	return UpToDateRun{steps[0], r.Volatile}, true, s.putUpToDate(&r)
}

// rememberUpToDate stores a memo for RunIfChanged if the run executed nothing and the program was that of a file, with
// no edit between LoadFile and the run.
func (s *Session) rememberUpToDate(ctx context.Context, o *Outcome, options runner.RunOptions, step Step) error {
	if s.loaded.key == "" || s.loaded.at != step.Number-1 {
		return nil
	}
	s.loaded.at = step.Number
	if !options.Usual() || o.Stopped != nil || step.Run == nil || len(step.Changes) > 0 || o.Recomputed > 0 {
		return nil
	}
	r := upToDateRecord{
		Head:    step.Hash,
		Results: s.store.state.ResultsGeneration(),
		Options: s.upToDateOptions(),
		Summary: *step.Run,
	}
	for i := range o.Blocks {
		b := &o.Blocks[i]
		if b.Status == state.StatusNotReached {
			continue
		}
		if b.Status != state.StatusReused || slices.Contains(b.Marks, state.MarkPinned) ||
			b.Reason.Code != state.ReasonReused {
			return nil
		}
		if len(b.Marks) > 0 {
			r.Volatile = append(r.Volatile, b.ID)
		}
	}
	codes, err := s.history.VaryingCode(ctx)
	if err != nil {
		return err
	}
	r.Codes = map[Digest]string{}
	for code, why := range codes {
		r.Codes[code] = fmt.Sprintf("%q", why)
	}
	var ok bool
	if r.Standing, ok = s.engine.Preconditions(); !ok {
		return nil
	}
	return s.putUpToDate(&r)
}

func (s *Session) putUpToDate(r *upToDateRecord) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return s.store.state.PutMemo("settled", s.loaded.key, text)
}

// rulesText is what of the rules decides whether a program may run as it is.
func (s *Session) rulesText() string {
	var b strings.Builder
	if p := s.options.Policy; p != nil {
		for _, r := range p.Rules {
			b.WriteString(r.Then + " " + r.On + " " + r.When + "\n")
		}
	}
	return b.String()
}

// upToDateOptions returns the options of the session that a run records.
func (s *Session) upToDateOptions() string {
	return fmt.Sprintf("%q %q %s %q", s.options.Python, s.name, s.options.Policy.Digest(), s.rulesText())
}

func sameCodes(now map[Digest][]string, then map[Digest]string) bool {
	return maps.EqualFunc(now, then, func(why []string, text string) bool { return text == fmt.Sprintf("%q", why) })
}
