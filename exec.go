package xstate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/journal/rule"
	"github.com/xstate-engine/xstate/runner/remote"
	"github.com/xstate-engine/xstate/state"
)

// ExecOptions are the choices of Exec. The zero value leaves it to Exec which block the code is.
type ExecOptions struct {
	Target Target // the session's file, if it has one; Target.Block is the block to replace
	Append bool   // the code is a new block, whatever it resembles
	// Dialect is the language of the code, as of a block; "" leaves it to the program and to fences.
	Dialect string
	Origin  Origin
	Run     runner.RunOptions
	// Record records the revision with record, and may keep the program's file in step. Nil means record alone.
	Record func(r *Revision, record func() ([]Step, error)) ([]Step, error)
	// Recall reports whether the caller has the result of a submission that is repeated, see Exec. If so, nothing runs
	// and there is no outcome. Nil means that the caller has none.
	Recall func(submission string) bool
}

// ExecResult is what one call of Exec did.
type ExecResult struct {
	*Revision           // how the program changed
	Block     BlockID   // the block that the code became; the last one if it became several
	Blocks    []BlockID // all of them, in the order of the code
	Edits     []Step    // the steps that record the revision
	Outcome   *Outcome  // the whole program's
	Step      Step      // records the run
	Undone    []Step    // the steps that took the code back
	// Submission names the submission where the origin has a CallID, and Repeated says that it was made before.
	Submission string
	Repeated   bool
}

// Exec makes code a block of the program and brings the program up to date. The code is one block, several with
// markers, or a reply with code in fences. Exec decides as Revise does whether a block is new or replaces another, with
// the differences that patch.Submitted states. So the program from top to bottom is always what the results show.
//
// The same code again is the same block, and its recorded result is returned, where executing it again would find and
// leave everything as it is. Otherwise it is a new block: "n += 1" counts each time. Code whose result may vary, such
// as reading a clock, is executed each time.
//
// The same code under the same Origin.CallID is the same submission, such as a retry after a time-out: it makes no
// block and executes nothing that has a result. Other code under the id is another submission, as a call may submit
// several. The record of a submission is part of the step of its edits, and lives as long as the session. So a retry
// finds it after a restart, and after a kill between the edits and the run. Then it brings the program up to date. Code
// that was taken back may be submitted again.
//
// Code that does not parse is a block that fails. Code that is interrupted, or that ends the program, is taken back: it
// would be executed again by the next call, or keep later blocks from being executed.
func (s *Session) Exec(ctx context.Context, code string, o ExecOptions) (*ExecResult, error) {
	release, err := s.Hold(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	key := submissionKey(code, &o)
	if was, err := s.submitted(ctx, key); err != nil || was != nil {
		return s.execAgain(ctx, was, key, o, err)
	}
	p, reply, err := patch.ReadSubmission(code, o.Dialect)
	if err != nil {
		return nil, err
	}
	o.Target.submitted = func(program []state.ProgramBlock) *patch.Submitted {
		on := &patch.Submitted{Reply: reply, Append: o.Append, Known: &s.known}
		s.describe(ctx, program, on)
		return on
	}
	r, err := s.Revise(ctx, p, o.Target)
	if err != nil {
		return nil, err
	}
	done := &ExecResult{Revision: r, Submission: key}
	for _, x := range r.Placements {
		if x.Decision == nil || x.Decision.By != patch.ByKept {
			done.Block = BlockID(x.Block)
			done.Blocks = append(done.Blocks, done.Block)
		}
	}
	was := map[string]any{}
	if key != "" {
		was[submissionRecord+key] = submissionOf(r, done)
	}
	record := func() ([]Step, error) {
		if len(r.Edits) == 0 { // the run reports that the code was submitted again
			for name, value := range was {
				return nil, s.store.state.PutSessionRecord(ctx, s.name, name, value)
			}
			return nil, nil
		}
		r.records = was
		return s.Record(ctx, r, o.Origin)
	}
	if o.Record == nil {
		o.Record = func(_ *Revision, record func() ([]Step, error)) ([]Step, error) { return record() }
	}
	if done.Edits, err = o.Record(r, record); err != nil {
		return nil, err
	}
	if len(done.Edits) > 0 {
		o.Origin = o.Origin.WithoutCost()
	}
	if o.Run.Submitted == nil {
		o.Run.Submitted = func(id BlockID) bool { return slices.Contains(done.Blocks, id) }
	}
	done.Outcome, done.Step, err = s.Run(ctx, o.Run, o.Origin)
	why := ""
	switch {
	case state.CodeOf(err) == rule.CodeDenied:
		why = "a rule denied the code"
	case err != nil && ctx.Err() != nil, err == nil && done.interrupted():
		why = "the code was interrupted"
	case err == nil && done.ended():
		why = "the code ended the program"
	}
	if len(done.Edits) > 0 && why != "" {
		err = errors.Join(err, s.takeBackExec(context.WithoutCancel(ctx), done, o, why))
	}
	return done, err
}

// interrupted reports whether the run was stopped, but not by a budget: with a larger budget it continues.
func (r *ExecResult) interrupted() bool {
	return r.Outcome.Stopped != nil && state.CodeOf(r.Outcome.Stopped) != journal.CodeBudget
}

// ended reports whether a block of the code ended the program.
func (r *ExecResult) ended() bool {
	return slices.ContainsFunc(r.Outcome.Blocks, func(b runner.BlockOutcome) bool {
		return b.Ending != nil && slices.Contains(r.Blocks, b.ID)
	})
}

// takeBackExec undoes the edits of a call.
func (s *Session) takeBackExec(ctx context.Context, r *ExecResult, o ExecOptions, why string) error {
	u, err := s.PlanUndo(ctx, Which{First: r.Edits[0].Number, Last: r.Edits[len(r.Edits)-1].Number})
	if err != nil {
		if state.CodeOf(err) == state.CodeConflict { // others went on from the code
			return nil
		}
		return err
	}
	origin := o.Origin.WithoutCost()
	origin.Reason = why
	record := func() ([]Step, error) { return s.Undo(ctx, u, origin) }
	r.Undone, err = o.Record(&Revision{Revision: patch.Revision{Blocks: u.Blocks, Text: o.Target.Data}}, record)
	if err != nil {
		return err
	}
	return s.runKept(ctx, origin)
}

// runKept brings the program up to date where every result is kept: files and values are as the program says at once,
// and not with the next run.
func (s *Session) runKept(ctx context.Context, origin Origin) error {
	plan, err := s.Plan(ctx, nil)
	executes := func(n runner.PlanNode) bool { return n.Action == runner.ActRun || n.Action == runner.ActMaybe }
	if err != nil || len(plan.Edited) > 0 || slices.ContainsFunc(plan.Nodes, executes) {
		return err
	}
	_, _, err = s.Run(ctx, runner.RunOptions{}, origin)
	return err
}

// traces returns what the store has of the last executions of a block's nodes.
func (s *Session) traces(b *state.Block) (found []state.Trace) {
	if b == nil {
		return nil
	}
	for i := range b.Nodes {
		if b.Nodes[i].Trace == "" {
			continue
		}
		if t, ok, err := s.history.Store().Trace(b.Nodes[i].Trace); err == nil && ok {
			found = append(found, t)
		}
	}
	return found
}

// describe completes what a submission is decided by.
func (s *Session) describe(ctx context.Context, program []state.ProgramBlock, on *patch.Submitted) {
	on.FailedAt = map[string]int{}
	for _, b := range program {
		if !s.faulty(ctx, b.Before) {
			continue
		}
		for _, t := range s.traces(b.Before) {
			if line := statementLine(b.ID, t.Err); line > 0 {
				on.FailedAt[string(b.ID)] = line
			}
		}
	}
	for _, b := range slices.Backward(program) {
		if b.Before == nil || b.Before.Status != state.StatusBlocked {
			if s.faulty(ctx, b.Before) {
				on.Last, on.Unread = string(b.ID), b.Before.Err != nil
			}
			break
		}
	}
	on.Overtaken = func(id string) bool { return s.overtaken(program, BlockID(id)) }
	on.Consumed = func(id string) bool {
		at := slices.IndexFunc(program, func(b state.ProgramBlock) bool { return string(b.ID) == id })
		return s.overtaken(program[:at+1], BlockID(id))
	}
}

// faulty reports whether a block failed by its own text, which was submitted. The text of a file is for its author to
// change; a block that once did what it should fails by another one's fault; and more time may be all that it needs.
func (s *Session) faulty(ctx context.Context, b *state.Block) bool {
	if !b.Failed() {
		return false
	}
	step, err := s.store.state.Step(ctx, s.name, b.Edited)
	if err != nil || step.Placement == nil || step.Placement.Format != string(patch.FormatBlock) {
		return false
	}
	for _, t := range s.traces(b) {
		if t.Err == nil {
			continue
		}
		all, err := s.history.Store().Traces(t.Code)
		worked := slices.ContainsFunc(all, func(x state.StoredTrace) bool { return x.Err == nil })
		if err != nil || t.Limit > 0 || worked {
			return false
		}
	}
	return true
}

// statementLine returns the line of the statement at the top level of a block that failed; 0 if it is not known.
func statementLine(id BlockID, e *state.ExecError) (line int) {
	if e == nil {
		return 0
	}
	own := regexp.MustCompile(`^\s*File "<` + regexp.QuoteMeta(string(id)) + `>", line (\d+), in <module>`)
	for _, text := range e.Traceback {
		if m := own.FindStringSubmatch(text); m != nil {
			line, _ = strconv.Atoi(m[1]) // the last one: of the exception that was not caught
		}
	}
	return line
}

// overtaken reports whether the program has changed what a block read or wrote when it was last executed: the blocks
// after it did that, or the block itself, as "n += 1" does. To execute its code at the end would give something else.
// Loading a library is not a change, and a block that failed has changed nothing.
func (s *Session) overtaken(program []state.ProgramBlock, id BlockID) bool {
	at := slices.IndexFunc(program, func(b state.ProgramBlock) bool { return b.ID == id })
	if at < 0 {
		return false
	}
	read, wrote := map[Key]Digest{}, map[Key]Digest{}
	for _, t := range s.traces(program[at].Before) {
		for _, a := range t.Reads {
			if _, own := wrote[a.Key]; !own && a.Key.Space() != "load" {
				read[a.Key] = a.Digest
			}
		}
		if program[at].Before.Status != state.StatusFailed {
			addWrites(wrote, &t)
		}
	}
	now := maps.Clone(wrote)
	for _, b := range program[at+1:] {
		for _, t := range s.traces(b.Before) {
			addWrites(now, &t)
		}
	}
	for key, digest := range now {
		was, found := read[key]
		left, own := wrote[key]
		if found && was != digest || own && left != digest {
			return true
		}
	}
	return false
}

// addWrites adds what an execution wrote.
func addWrites(to map[Key]Digest, t *state.Trace) {
	if t.Err != nil {
		return
	}
	for _, w := range t.Writes {
		to[w.Key] = w.Digest
	}
}

// submission is what a submission became.
type submission struct {
	Blocks   []BlockID `cbor:"blocks"`
	Versions []Digest  `cbor:"versions"`        // one for each block
	First    BlockID   `cbor:"first,omitempty"` // ExecResult.Block
}

// submissionOf is what a submission becomes by a revision.
func submissionOf(r *Revision, done *ExecResult) submission {
	x := submission{Blocks: done.Blocks, First: done.Block}
	for _, id := range x.Blocks {
		i := slices.IndexFunc(r.Blocks, func(b patch.Block) bool { return b.ID == string(id) })
		x.Versions = append(x.Versions, state.DigestOf([]byte(r.Blocks[i].Source)))
	}
	return x
}

// submissionRecord is the beginning of the names of records of the session.
const submissionRecord = "submission "

// submissionKey names a submission; "": the call has no id.
func submissionKey(code string, o *ExecOptions) string {
	if o.Origin.CallID == "" {
		return ""
	}
	return string(state.DigestOf(fmt.Appendf(nil, "submission\ncall %q\nblock %q\nappend %t\ndialect %q\ncode %q\n",
		o.Origin.CallID, o.Target.Block, o.Append, o.Dialect, code)))
}

// submitted returns what the same submission became before; nil: it is the first, or its blocks are gone.
func (s *Session) submitted(ctx context.Context, key string) (*submission, error) {
	if key == "" {
		return nil, nil
	}
	var was submission
	found, err := s.store.state.SessionRecord(ctx, s.name, submissionRecord+key, &was)
	if err != nil || !found {
		return nil, err
	}
	head, _, err := s.store.state.Head(ctx, s.name)
	if err != nil {
		return nil, err
	}
	order, err := s.store.state.BlockOrder(ctx, s.name, head)
	if err != nil || !slices.ContainsFunc(was.Blocks, func(id BlockID) bool { return slices.Contains(order, id) }) {
		return nil, err
	}
	return &was, nil
}

// execAgain brings the program up to date for a submission that is repeated, unless the caller has its result.
func (s *Session) execAgain(
	ctx context.Context, was *submission, key string, o ExecOptions, err error,
) (*ExecResult, error) {
	if err != nil {
		return nil, err
	}
	done := &ExecResult{Revision: &Revision{}, Block: was.First, Blocks: was.Blocks, Submission: key, Repeated: true}
	if o.Recall != nil && o.Recall(key) {
		return done, nil
	}
	program, _, err := s.history.Program(ctx)
	if err != nil {
		return nil, err
	}
	for i, id := range was.Blocks {
		if !slices.ContainsFunc(program, func(b state.ProgramBlock) bool {
			return b.ID == id && b.Version == was.Versions[i]
		}) {
			return nil, &state.Error{Code: state.CodeConflict,
				Hint: "submit it under another call id to execute it again",
				Message: fmt.Sprintf("call %q submitted this code before, and block %s has changed since",
					o.Origin.CallID, id)}
		}
	}
	done.Outcome, done.Step, err = s.Run(ctx, o.Run, o.Origin)
	return done, err
}

// ExecuteTask executes a node for another machine, as its worker, and puts the result into the cache.
func (s *Session) ExecuteTask(ctx context.Context, task *remote.Task) error {
	if err := s.start(ctx); err != nil {
		return err
	}
	if s.noCache != nil {
		return s.noCache
	}
	return s.engine.ExecuteTask(ctx, task)
}
