package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// What a program calls is an input of the node that calls it, see package journal. The result is a key of the base,
// call:KEY#N: a trace is valid as long as the journal has the same result. How many equal calls the program has made is
// state of the program, count:KEY, or effect:SCOPE/KEY where the tool has effects. So a new equal call in front of
// another gives the later one a new number, and only that one happens. scope:SCOPE stands for the effects on a scope so
// far, in order: what reads the scope reads it.
//
// A node that failed has made its calls all the same. They are counted when it succeeds.

// Spaces of these keys.
const (
	spaceCall   = "call"
	spaceCount  = "count"
	spaceEffect = "effect"
	spaceScope  = "scope"
)

// Marks of nodes whose calls have no result that counts.
const (
	markCallLost       = "call-lost"       // the program went on without it
	markCallUnfinished = "call-unfinished" // the node ended before the call
)

// errUncalled says that a speculative execution would have to make a call that may only be made in its turn.
var errUncalled = errors.New("it makes a call")

// callKey returns the key of a recorded call, and callOf is the inverse.
func callKey(c *journal.Call) depgraph.Key {
	sign := "#"
	if c.Def.Class.Effects() {
		sign = "!"
	}
	return depgraph.Key(fmt.Sprintf("%s:%s%s%d", spaceCall, c.Key, sign, c.Number))
}

func callOf(k depgraph.Key) (key state.Digest, effects bool, number int) {
	name := k.Name()
	i := strings.IndexAny(name, "#!")
	if i < 0 {
		return "", false, 0
	}
	number, _ = strconv.Atoi(name[i+1:])
	return state.Digest(name[:i]), name[i] == '!', number
}

// countKey returns the key that counts the calls equal to c; "" where they are not counted.
func countKey(c *journal.Call) depgraph.Key {
	switch {
	case !c.Counted():
		return ""
	case c.Def.Class.Effects():
		return depgraph.Key(fmt.Sprintf("%s:%s/%s", spaceEffect, c.Def.Scope, c.Key))
	}
	return depgraph.Key(fmt.Sprintf("%s:%s", spaceCount, c.Key))
}

// countOf returns how many calls a digest of countKey stands for.
func countOf(d state.Digest) int {
	text, _, _ := strings.Cut(string(d), ".")
	n, _ := strconv.Atoi(text)
	return n
}

// effectsOn digests the effects on a scope, in the order of the nodes that had them, and within a node in its own.
func (p *programState) effectsOn(scope string) entry {
	type effect struct {
		key    depgraph.Key
		writer int
		digest state.Digest
	}
	var found []effect
	last := -1
	for k, e := range p.keys {
		if k.Space() == spaceEffect && strings.HasPrefix(k.Name(), scope+"/") {
			found, last = append(found, effect{k, e.writer, e.digest}), max(last, e.writer)
		}
	}
	if len(found) == 0 {
		return entry{writer: -1}
	}
	slices.SortFunc(found, func(a, b effect) int {
		return cmp.Or(cmp.Compare(a.writer, b.writer), cmp.Compare(sequenceOf(a.digest), sequenceOf(b.digest)),
			cmp.Compare(a.key, b.key))
	})
	text := "effects\n"
	for _, f := range found {
		text += fmt.Sprintf("%q %d\n", f.key, countOf(f.digest))
	}
	return entry{digest: state.DigestOf([]byte(text)), writer: last}
}

// sequenceOf returns the place of an effect among those of its node.
func sequenceOf(d state.Digest) int {
	_, text, _ := strings.Cut(string(d), ".")
	n, _ := strconv.Atoi(text)
	return n
}

// recordedCalls returns what the base state knows of recorded calls.
func recordedCalls(j *journal.Journal) func(depgraph.Key) state.Digest {
	if j == nil {
		return nil
	}
	return func(k depgraph.Key) state.Digest {
		key, effects, number := callOf(k)
		d, err := j.Digest(context.Background(), key, effects, number)
		if err != nil {
			return unknown // whoever needs it calls, and gets the error
		}
		return d
	}
}

// calls answers the calls of one execution.
type calls struct {
	x *execution

	mu       sync.Mutex
	made     []*journal.Call
	numbers  map[depgraph.Key][]int // of made, by countKey, that are in use
	after    map[string]state.Digest
	scopes   map[string]state.Digest // read, as they were before the node
	stopped  *state.ExecError        // why the node cannot go on
	lost     bool
	uncalled bool // see errUncalled
}

func newCalls(x *execution) *calls {
	return &calls{x: x, numbers: map[depgraph.Key][]int{}, after: map[string]state.Digest{},
		scopes: map[string]state.Digest{}}
}

// Tools describes what can be called.
func (c *calls) Tools(ctx context.Context) []kernel.ToolInfo {
	var all []kernel.ToolInfo
	if j := c.x.walk.e.cfg.Journal; j != nil {
		for _, t := range j.Tools(ctx) {
			all = append(all, kernel.ToolInfo{Name: t.Name, Description: t.Description, Input: t.Input,
				Output: t.Output, Class: string(t.Class)})
		}
	}
	return all
}

// Call answers one call.
func (c *calls) Call(ctx context.Context, r kernel.CallRequest, via kernel.CallVia) kernel.CallReply {
	j := c.x.walk.e.cfg.Journal
	if j == nil {
		return failedCall(&state.Error{Code: journal.CodeNoTool, Message: "this program has no journal of calls"})
	}
	call, err := j.Prepare(ctx, c.request(r), c.effects)
	if err != nil {
		return failedCall(err)
	}
	if via.Step != nil && call.Kind == journal.KindStep {
		call.Run = func(ctx context.Context, rec *state.Call) (journal.Answer, error) {
			result, err := via.Step(ctx, rec.ID)
			return journal.Answer{Result: result}, err
		}
	}
	call.OnPiece, call.ServeOnly = via.Piece, c.serveOnly(call)
	c.begin(call)
	result, err := j.Do(ctx, call)
	c.end(call, err)
	reply := kernel.CallReply{Call: result.Call.ID, Result: result.JSON, Pieces: result.Call.Pieces}
	if err != nil {
		failed := failedCall(err)
		reply.Error, reply.Suspended = failed.Error, failed.Suspended
	}
	return reply
}

// request is a call of the program, as the journal takes it.
func (c *calls) request(r kernel.CallRequest) journal.Request {
	x := c.x
	caller := x.walk.o.Caller
	caller.Block, caller.Node, caller.Line = x.node.unit.ID, x.node.at, r.Line
	q := journal.Request{Kind: journal.Kind(r.Kind), Tool: r.Tool, Args: r.Args, Sample: r.Sample, Version: r.Version,
		Parent: r.Parent, Caller: caller}
	if q.Kind == journal.KindAsk {
		q.Question = &state.Approval{Question: r.Question, Choices: r.Choices}
	}
	return q
}

// serveOnly reports whether only the journal may answer: the execution is not the program's next one.
func (c *calls) serveOnly(call *journal.Call) bool {
	w := c.x.walk
	if w.speculative {
		return call.Def.Class != journal.Pure
	}
	return !c.x.live || w.o.Discard || w.readOnly
}

// effects returns the effects on a scope before a call of this node, and notes that the node depends on them.
func (c *calls) effects(scope string) state.Digest {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.scopes[scope]; !known {
		c.scopes[scope] = c.x.pos.effectsOn(scope).digest
	}
	if d, own := c.after[scope]; own {
		return d
	}
	return c.scopes[scope]
}

// begin numbers a call: equal calls before the node come first, then those of the node that are under way or have an
// outcome.
func (c *calls) begin(call *journal.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = append(c.made, call)
	k := countKey(call)
	if k == "" {
		return
	}
	call.Number = countOf(c.x.pos.get(k).digest)
	for slices.Contains(c.numbers[k], call.Number) {
		call.Number++
	}
	c.numbers[k] = append(c.numbers[k], call.Number)
}

// end notes how a call ended. One without an outcome gives its number back.
func (c *calls) end(call *journal.Call, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && call.Def.Class.Effects() {
		scope := call.Def.Scope
		before, own := c.after[scope]
		if !own {
			before = c.x.pos.effectsOn(scope).digest
		}
		c.after[scope] = state.DigestOf(fmt.Appendf(nil, "effect %s %s %d", before, call.Key, call.Number))
	}
	code := codeOf(err)
	switch {
	case err == nil || code == journal.CodeRefused || code == journal.CodeDenied:
		return
	case code == journal.CodeUnrecorded:
		c.uncalled = true
	case code == journal.CodeWaiting:
		c.stop(TypeWaiting, err.Error())
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

// stop notes why the node cannot go on. The first reason counts.
func (c *calls) stop(kind, message string) {
	if c.stopped == nil {
		c.stopped = &state.ExecError{Type: kind, Message: message}
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
		e.Hint = coded.Hint
	}
	return kernel.CallReply{Error: &e, Suspended: e.Code == journal.CodeWaiting || e.Code == journal.CodeBudget}
}

// callReads adds what the calls of the node read to found, and callWrites returns what they count.
func (x *execution) callReads(found map[depgraph.Key]state.Digest) {
	c := x.calls
	if c == nil {
		return
	}
	for scope, d := range c.scopes {
		found[depgraph.Key(spaceScope+":"+scope)] = d
	}
	for _, call := range c.made {
		if k := countKey(call); k != "" {
			found[k] = x.pos.get(k).digest
		}
		k := callKey(call)
		x.walk.e.baseState.Renew(k)
		found[k] = x.pos.get(k).digest
	}
	if c.lost {
		x.seen.Marks = appendNew(x.seen.Marks, markCallLost)
	}
}

func (x *execution) callWrites() (writes []state.Access) {
	if x.calls == nil {
		return nil
	}
	counted := map[depgraph.Key]bool{}
	sequence := 0
	for _, call := range slices.Backward(x.calls.made) {
		k := countKey(call)
		if k == "" || counted[k] {
			continue
		}
		counted[k] = true
		d := strconv.Itoa(slices.Max(x.calls.numbers[k]) + 1)
		if call.Def.Class.Effects() {
			sequence--
			d += "." + strconv.Itoa(len(x.calls.made)+sequence)
		}
		writes = append(writes, state.Access{Key: k, Digest: state.Digest(d)})
	}
	return writes
}

// stopCalls makes the failure of a node whose calls cannot go on that of the engine.
func (x *execution) stopCalls() {
	e := x.calls.stopped
	f := kernel.Failure{Type: e.Type, Message: e.Message}
	if was := x.seen.Failure; was != nil {
		f.Line, f.Traceback = was.Line, was.Traceback
	}
	x.seen.Failure, x.seen.Ending = &f, nil
}
