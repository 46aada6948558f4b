package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/wording"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// markCallLost marks a node that went on without the result of a call.
const markCallLost = "call-lost"

// errUncalled says that an execution would have to make a call, and only records may answer it: it is speculative, or
// is to give back what an earlier one left. That one may have made other calls, under another version of a tool.
var errUncalled = errors.New("it makes a call")

// errHalted says that a call is not made because another one waits, or a budget is spent.
var errHalted = errors.New("the block goes on later")

// calls answers the calls of one execution.
type calls struct {
	journal *journal.Journal // nil: no tools
	pos     *programState    // before the node
	caller  state.Caller
	// serves reports whether only the journal may answer calls of a class
	serves func(journal.Class) bool

	mu       sync.Mutex
	made     []*journal.Call
	numbers  map[depgraph.Key][]int         // numbers in made that are in use, by countKey
	had      map[*journal.Call]bool         // effects
	found    map[*journal.Call]state.Digest // outcomes
	tools    map[depgraph.Key]bool          // that were named
	scopes   map[string]state.Digest        // read, as they were before the node
	stopped  *state.ExecError               // why the node cannot continue
	waiting  []state.WaitingCall            // the calls that must be decided before it can
	lost     bool
	uncalled bool       // see errUncalled
	same     *sameCalls // nil: no tools
}

func newCalls(j *journal.Journal, pos *programState, caller state.Caller, serves func(journal.Class) bool) *calls {
	return &calls{journal: j, pos: pos, caller: caller, serves: serves, numbers: map[depgraph.Key][]int{},
		had: map[*journal.Call]bool{}, found: map[*journal.Call]state.Digest{}, scopes: map[string]state.Digest{},
		tools: map[depgraph.Key]bool{}}
}

// Tools describes what can be called.
func (c *calls) Tools(ctx context.Context) []kernel.ToolInfo {
	var all []kernel.ToolInfo
	if c.journal != nil {
		for _, t := range c.journal.Tools(ctx) {
			all = append(all, kernel.ToolInfo{Name: t.Name, Source: t.Source, Description: t.Description,
				Input: t.Input, Order: t.Order, Output: t.Output, Class: string(t.Class)})
		}
	}
	return all
}

// Call answers one call.
func (c *calls) Call(ctx context.Context, r kernel.CallRequest, via kernel.CallVia) kernel.CallReply {
	j := c.journal
	if j == nil {
		return failedCall(&state.Error{Code: journal.CodeNoTool, Message: "this program has no journal of calls"})
	}
	request := c.request(r)
	call, err := j.Prepare(ctx, request, c.effects)
	c.named(request, err)
	if err != nil {
		return failedCall(err)
	}
	if via.Step != nil && call.Kind == journal.KindStep {
		call.Run = func(ctx context.Context, rec *state.Call) (journal.Answer, error) {
			result, again, err := via.Step(ctx, rec.ID)
			return journal.Answer{Result: result, Again: cmp.Or(again, c.calledWithin(rec.ID))}, err
		}
	}
	call.OnPiece, call.ServeOnly, call.Unseen = via.Piece, c.serves(call.Def.Class), r.Varies == nil
	call.Halted = c.halted
	if err := c.begin(ctx, call, r); err != nil {
		return failedCall(err)
	}
	if via.Numbered != nil {
		via.Numbered()
	}
	result, err := j.Do(ctx, call)
	c.end(call, result.Digest, err)
	reply := kernel.CallReply{Call: result.Call.ID, Result: result.JSON, Pieces: result.Call.Pieces}
	if err != nil {
		failed := failedCall(err)
		reply.Error, reply.Suspended = failed.Error, failed.Suspended || errors.Is(err, errHalted)
	}
	return reply
}

// request is a call of the program, as the journal takes it.
func (c *calls) request(r kernel.CallRequest) journal.Request {
	caller := c.caller
	caller.Line = r.Line
	q := journal.Request{Kind: journal.Kind(r.Kind), Tool: r.Tool, Args: r.Args, Sample: r.Sample, Version: r.Version,
		Parent: r.Parent, Caller: caller}
	if q.Kind == journal.KindAsk {
		q.Version = string(c.same.code)
		q.Question = &state.Approval{Question: r.Question, Choices: r.Choices}
	}
	return q
}

// named notes that the node depends on what the name of a tool means. err is what Prepare returned.
func (c *calls) named(r journal.Request, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := toolKey(r); k != "" {
		c.tools[k] = true
	}
	if code := codeOf(err); err != nil && code != journal.CodeNoTool && code != journal.CodeArguments {
		c.lost = true // not because of the tool
	}
}

// effects returns the effects on a scope before a call of this node, and notes that the node depends on them.
func (c *calls) effects(scope string) state.Digest {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.scopes[scope]; !known {
		c.scopes[scope] = c.pos.effectsOn(scope).digest
	}
	d := c.scopes[scope]
	for _, call := range c.made { // in the order in which they began: that of their ends may differ from run to run
		if c.had[call] && call.Def.Scope == scope {
			d = state.DigestOf(fmt.Appendf(nil, "effect %s %s %d", d, call.Key, call.Number))
		}
	}
	return d
}

// begin numbers a call: equal calls before the node come first, then those of the node that are under way or have an
// outcome. It may turn out to be a call of an earlier execution, with other arguments. r is what the program asked for.
func (c *calls) begin(ctx context.Context, call *journal.Call, r kernel.CallRequest) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := countKey(call); k != "" {
		call.Number = countOf(c.pos.get(k).digest)
		for slices.Contains(c.numbers[k], call.Number) {
			call.Number++
		}
	}
	c.same.heard(r)
	if err := c.same.tell(ctx, call); err != nil {
		c.lost = true
		return err
	}
	c.made = append(c.made, call)
	if k := countKey(call); k != "" {
		c.numbers[k] = append(c.numbers[k], call.Number)
	}
	return nil
}

// end notes how a call ended. One without an outcome gives its number back.
func (c *calls) end(call *journal.Call, found state.Digest, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.same.over(call)
	c.found[call] = found
	if err == nil && call.Def.Class.Effects() {
		c.had[call] = true
	}
	code := codeOf(err)
	switch {
	case err == nil || code == journal.CodeRefused || code == journal.CodeDenied:
		return
	case errors.Is(err, errHalted):
	case code == journal.CodeUnrecorded:
		c.uncalled = true
	case code == journal.CodeWaiting:
		c.stop(TypeWaiting, err.Error())
		c.waits(err)
		return
	case code == journal.CodeBudget:
		c.stop(TypeBudget, err.Error())
	default:
		c.lost = true
	}
	if k := countKey(call); k != "" {
		c.numbers[k] = slices.DeleteFunc(c.numbers[k], func(n int) bool { return n == call.Number })
	}
	c.made = slices.DeleteFunc(c.made, func(other *journal.Call) bool { return other == call })
}

// settled notes that the node has ended. A node that ended the program by a failure, or continued without the
// result of a call, may make its calls again.
func (c *calls) settled(ctx context.Context, failed bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.same == nil || c.same.before == nil || failed || c.lost {
		return nil
	}
	return c.same.keepDraws(ctx, true)
}

// calledWithin returns the counted call that was made within a step; "" if there is none. The step must run again, so
// that the call counts again.
func (c *calls) calledWithin(step state.CallID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.made {
		if call.Parent == step && call.Counted() {
			return "it called " + call.Tool
		}
	}
	return ""
}

// halted returns errHalted once the node cannot continue: a program that catches that, or another of its threads, must
// not have effects that it would not have after the decision.
func (c *calls) halted() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", errHalted, c.stopped.Message)
}

// stop notes why the node cannot continue. The first reason counts.
func (c *calls) stop(kind, message string) {
	if c.stopped == nil {
		c.stopped = &state.ExecError{Type: kind, Message: message}
	}
}

// waits notes a call that waits for a decision.
func (c *calls) waits(err error) {
	var s *journal.Suspended
	if errors.As(err, &s) {
		if w := s.Call.Waits(); w != nil {
			c.waiting = append(c.waiting, *w)
		}
	}
}

// codeOf returns the code of an error of the journal.
func codeOf(err error) state.Code {
	var coded *state.Error
	var suspended *journal.Suspended
	switch {
	case errors.As(err, &suspended):
		return journal.CodeWaiting
	case errors.As(err, &coded):
		return coded.Code
	}
	return journal.CodeLost
}

// failedCall is the reply about a call that has no result.
func failedCall(err error) kernel.CallReply {
	e := state.CallError{Code: codeOf(err), Message: err.Error()}
	var coded *state.Error
	if errors.As(err, &coded) {
		e.Hint = wording.Program.Hint(coded.Hint)
	}
	return kernel.CallReply{Error: &e, Suspended: e.Code == journal.CodeWaiting || e.Code == journal.CodeBudget}
}

// reads adds what the calls of the node read to found. renew makes the base look at a key again.
func (c *calls) reads(found map[depgraph.Key]state.Digest, renew func(depgraph.Key)) {
	for scope, d := range c.scopes {
		found[depgraph.Key(spaceScope+":"+scope)] = d
	}
	for k := range c.tools {
		renew(k)
		found[k] = c.pos.get(k).digest
	}
	for _, call := range c.made {
		if k := countKey(call); k != "" {
			found[k] = c.pos.get(k).digest
		}
		k := call.Place().TraceKey()
		renew(k)
		found[k] = cmp.Or(c.found[call], c.pos.get(k).digest) // the record may be another one by now
	}
}

// writes returns the counts of calls after the node.
func (c *calls) writes() (writes []state.Access) {
	counted := map[depgraph.Key]bool{}
	for i, call := range slices.Backward(c.made) {
		k := countKey(call)
		if k == "" || counted[k] {
			continue
		}
		counted[k] = true
		d := strconv.Itoa(slices.Max(c.numbers[k]) + 1)
		if call.Def.Class.Effects() {
			d += "." + strconv.Itoa(i)
		}
		writes = append(writes, state.Access{Key: k, Digest: state.Digest(d)})
	}
	return writes
}
