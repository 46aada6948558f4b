package runner

import (
	"context"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// A call is named by its arguments. Where these come from a clock or from randomness, each execution of the node names
// another call, so an order whose answer was lost would be ordered again. Three things keep that from happening, each
// where the one before it fails:
//
//   - The node draws again what it drew. Before each call with an effect the engine keeps what the node has drawn
//     (state.Drawn). As long as the node has not come to its end with all calls settled, it is served these draws: its
//     calls have the arguments, and so the records, that they had.
//   - The engine compares the place. The address of an object cannot be served. But where the code and all that the
//     node read are as they were when it was stopped, the nth call of a tool is the nth call of that tool. That holds
//     where nothing but clocks, randomness and the process varies: what came over a network may be another list of
//     orders.
//   - The engine asks a person. If the node or its inputs may vary, and there was a call of the tool that no node makes
//     any more, then this call may be a repetition. It waits, see journal.Call.Doubt.
//
// A node that does not vary, and did not, makes the calls that its code and inputs say. If they differ from those
// before, a user changed the code or an input, and wanted that. If neither changed, the node varies unseen: by a
// library's own randomness, or that of a program that it starts. Nor is there a doubt if a tool declares which
// arguments distinguish its calls (journal.Tool.Identity).
//
// The order of simultaneous calls does not identify a place. The draws of a program in another language, or of a
// request over HTTP, are not known and not served. There, the marks of the last execution show whether the node varies.

// sameCalls determines which calls of a node are those of earlier executions. The lock of its calls guards it.
type sameCalls struct {
	journal *journal.Journal
	session string
	node    state.DrawingNode
	code    state.Digest
	keep    bool                          // what is drawn is kept: the execution is the program's next one
	inputs  func() bool                   // the node's inputs may vary
	stays   func(*state.Call) bool        // what the node read when it made the call is unchanged, see unchangedSince
	others  func() func(*state.Call) bool // see madeByOthers
	varied  func() bool                   // the node's last execution may have varied, or is not known
	repeats func(p *state.Call, unsettled bool) bool
	last    *state.Drawn // before this execution, by the same code; nil: it has had no effect

	before *state.Drawn                      // by the last execution; nil: nothing
	drawn  map[state.DrawingNode]state.Drawn // those of all nodes, see walk
	draws  []state.Draw
	varies bool
	nth    map[string]int // how often each tool was called
	busy   map[string]int // how many of these calls are under way
	prior  []*state.Call  // by earlier executions, and by no other node now; nil until it is asked for
	asked  bool
	made   map[state.CallPlace]bool // by this execution
}

// caller is a node that is about to execute.
type caller struct {
	walk    *walk
	node    *node
	pos     *programState // before it
	dynamic bool          // it may read any name
	keep    bool          // see sameCalls
}

// sameCalls prepares for an execution. drawn is what the node is served.
func (x *caller) sameCalls(ctx context.Context) (same *sameCalls, drawn []state.Draw, err error) {
	w, n := x.walk, x.node
	j := w.e.cfg.Journal
	if j == nil {
		return nil, nil, nil
	}
	s := &sameCalls{journal: j, session: w.o.Caller.Session, code: n.code,
		node: state.DrawingNode{Block: n.unit.ID, Node: n.at}, keep: x.keep,
		inputs: x.inputsVary, stays: x.unchangedSince, others: x.madeByOthers, varied: x.variedBefore,
		repeats: x.repeats,
		nth:     map[string]int{}, busy: map[string]int{}, made: map[state.CallPlace]bool{}}
	if s.session == "" {
		return s, nil, nil
	}
	if w.drawn == nil {
		w.drawn = map[state.DrawingNode]state.Drawn{}
		if w.e.cfg.Store.HasCalls() {
			if w.drawn, err = w.e.cfg.Store.Drawn(ctx, s.session); err != nil {
				return nil, nil, err
			}
		}
	}
	s.drawn = w.drawn
	if d, known := x.drawnBefore(); known {
		if s.before = &d; d.Code == s.code {
			s.last = &d
		}
		if !d.Ended || d.Code == s.code && !w.speculative && !s.keep { // it is made once more to see what it left
			drawn = d.Draws
		}
	}
	return s, drawn, nil
}

// drawnBefore returns what the node drew in its last execution. An edit may have given it another place in its block,
// or other code.
func (x *caller) drawnBefore() (found state.Drawn, known bool) {
	w, n := x.walk, x.node
	at := state.DrawingNode{Block: n.unit.ID, Node: n.at}
	own, known := w.drawn[at]
	if known && own.Code == n.code {
		return own, true
	}
	for i := range n.unit.nodes {
		if d, is := w.drawn[state.DrawingNode{Block: at.Block, Node: i}]; is && d.Code == n.code {
			return d, true
		}
	}
	moved := slices.ContainsFunc(n.unit.nodes, func(o *node) bool { return o.code == own.Code })
	return own, known && !moved
}

// inputsVary reports whether what the node may read depends on a node that may vary. Which names the node reads is not
// known yet, but which ones its text has.
func (x *caller) inputsVary() bool {
	uses := slices.Concat(x.node.facts.Uses, x.node.facts.Later)
	for k, e := range x.pos.keys.all() {
		if len(e.marks) > 0 && (k.Space() != "var" || x.dynamic || slices.Contains(uses, k.Name())) {
			return true
		}
	}
	return false
}

// variedBefore reports whether the last result of the node may have varied, or is not known.
func (x *caller) variedBefore() bool {
	d := x.node.lastTrace()
	if d == "" {
		return true
	}
	t, ok, err := x.walk.e.cfg.Store.Trace(d)
	return err != nil || !ok || len(t.Marks) > 0
}

// placeMarks are the marks of nodes that make the same calls in the same order however they vary: what they read is
// known. Data from a network, or from an unobserved source, may name other calls.
var placeMarks = []string{"clock", "entropy", "process"}

// unchangedSince reports whether the last execution of the node's code made a call, and what it read is unchanged here,
// except for calls. If it read something that no trace has, that counts as changed.
func (x *caller) unchangedSince(c *state.Call) bool {
	traces, err := x.walk.e.cfg.Store.Traces(x.node.code)
	if err != nil {
		return false
	}
	for i := range traces {
		t := &traces[i].Trace
		if !makes(t, c) {
			continue
		}
		if slices.ContainsFunc(t.Marks, func(m string) bool { return !slices.Contains(placeMarks, m) }) {
			return false
		}
		x.walk.e.baseState.Learn(t.Paths)
		return !slices.ContainsFunc(t.Reads, func(a state.Access) bool {
			return !isOfCall(a.Key) && x.pos.get(a.Key).digest != a.Digest
		})
	}
	return false
}

// repeats reports whether the node's code made a call when it had read what it would read now, other effects aside. An
// execution of which nothing is known counts if it did not come to its end.
func (x *caller) repeats(c *state.Call, unsettled bool) bool {
	traces, err := x.walk.e.cfg.Store.Traces(x.node.code)
	if err != nil {
		return true
	}
	for i := range traces {
		if t := &traces[i].Trace; makes(t, c) {
			x.walk.e.baseState.Learn(t.Paths)
			return !slices.ContainsFunc(t.Reads, func(a state.Access) bool {
				at, is := state.CallPlaceOf(a.Key)
				return !(is && at.Effects) && x.pos.get(a.Key).digest != a.Digest
			})
		}
	}
	return unsettled
}

// makes reports whether an execution made a call.
func makes(t *state.Trace, c *state.Call) bool {
	return slices.ContainsFunc(t.Reads, func(a state.Access) bool { return a.Key == c.Place().TraceKey() })
}

// madeByOthers reports whether a call is another node's: it is among the calls of one that this run has passed, or of
// the last result of one, or the node has not come as far as where its code made the call.
func (x *caller) madeByOthers() func(*state.Call) bool {
	made, codes := map[depgraph.Key]bool{}, map[state.Digest]bool{}
	for i, n := range x.walk.nodes {
		if i == x.node.index {
			continue
		}
		t := x.walk.outcomes[i].t
		codes[n.code] = codes[n.code] || t == nil || t.Err != nil
		if t == nil && n.lastTrace() != "" {
			last, ok, err := x.walk.e.cfg.Store.Trace(n.lastTrace())
			if err != nil || !ok || last.Code != n.code {
				continue
			}
			t = &last
		}
		if t == nil {
			continue
		}
		for _, a := range t.Reads {
			if isOfCall(a.Key) {
				made[a.Key] = true
			}
		}
	}
	return func(c *state.Call) bool {
		return made[c.Place().TraceKey()] || codes[c.Code] && c.Caller.Block != x.node.unit.ID
	}
}

func isOfCall(k depgraph.Key) bool {
	_, is := state.CallPlaceOf(k)
	return is
}

// heard takes what a request says of the node.
func (s *sameCalls) heard(r kernel.CallRequest) {
	if r.DrawnFrom <= len(s.draws) && r.DrawnFrom+len(r.Drawn) > 0 {
		s.draws = append(s.draws[:r.DrawnFrom], r.Drawn...)
	}
	s.varies = s.varies || r.Varies != nil && *r.Varies
}

// tell makes c the call of an earlier execution if it is the same, and notes a doubt about that. c has the place that
// its arguments give it.
func (s *sameCalls) tell(ctx context.Context, c *journal.Call) error {
	if !c.Def.Class.Effects() || c.Kind != journal.KindTool && c.Kind != journal.KindAsk {
		return nil
	}
	c.Code, c.Nth = s.code, 0
	name := c.Name()
	if s.nth[name]++; s.busy[name] == 0 {
		c.Nth = s.nth[name]
	}
	s.busy[name]++
	rec, err := s.journal.Recorded(ctx, c.Place())
	if err != nil {
		return err
	}
	var open []*state.Call
	if rec == nil || journal.Unmade(rec) {
		if open, err = s.unmatched(ctx, c); err != nil {
			return err
		}
	}
	if rec == nil {
		rec = s.recognized(c, open)
	}
	for rec != nil && rec.Same != 0 {
		if rec, err = s.journal.Call(ctx, rec.Same); err != nil {
			return err
		}
	}
	if rec == nil || journal.Unmade(rec) {
		s.doubt(c, rec, open)
	}
	if rec != nil {
		if err := s.journal.Become(c, rec); err != nil {
			return err
		}
	}
	s.made[c.Place()] = true
	s.varies = s.varies || c.Varies
	return s.keepDraws(ctx, false)
}

// over notes that a call has ended.
func (s *sameCalls) over(c *journal.Call) {
	if c.Code != "" {
		s.busy[c.Name()]--
	}
}

// recognized returns the call of an earlier execution, among the open ones, that c is, though its arguments differ.
func (s *sameCalls) recognized(c *journal.Call, open []*state.Call) *state.Call {
	for _, p := range open { // the tool declared other arguments as its identity
		if p.Key != c.Key && s.journal.EqualArguments(p, c) {
			return p
		}
	}
	if len(c.Def.Identity) > 0 || s.before == nil || s.before.Code != s.code || s.before.Ended && s.keep {
		return nil
	}
	for _, p := range slices.Backward(open) {
		if p.Caller.Block == s.node.Block && p.Caller.Node == s.node.Node && p.Code == s.code &&
			c.Nth > 0 && p.Nth == c.Nth && (c.Varies || c.Kind != journal.KindAsk) && s.stays(p) {
			return p
		}
	}
	return nil
}

// doubt notes in a call that was not made yet which of the open ones it may repeat. rec is its record; nil: it has
// none. One that waits for an approval has a record, and so does not show that the same code made no other call
// meanwhile, from another place.
func (s *sameCalls) doubt(c *journal.Call, rec *state.Call, open []*state.Call) {
	if len(c.Def.Identity) > 0 {
		return
	}
	c.Varies = c.Varies || slices.ContainsFunc(open, func(p *state.Call) bool {
		return s.last != nil && p.Code == s.code && journal.MayHaveHappened(p) && s.repeats(p, !s.last.Ended)
	})
	for _, p := range open {
		if (c.Varies || p.Varied) && journal.MayHaveHappened(p) && (rec == nil || rec.ID != p.ID) {
			c.Doubt = append(c.Doubt, p.ID)
		}
	}
}

// unmatched returns calls of the tool that earlier executions made, and that neither this one nor another node makes.
// Those of blocks that the program does not have any more count, too: their code may be in this one. There are none
// where no call of the tool varied. It notes whether c does.
func (s *sameCalls) unmatched(ctx context.Context, c *journal.Call) (open []*state.Call, err error) {
	c.Varies = s.varies || c.Unseen && s.varied() || s.inputs()
	if may, err := s.journal.Elsewhere(ctx, c); err != nil || !may && s.last == nil {
		return nil, err
	}
	if !s.asked {
		others := s.others()
		s.prior, err = s.journal.CallsWithEffects(ctx, func(p *state.Call) bool { return !others(p) })
		s.asked = true
	}
	for _, p := range s.prior {
		if p.Kind == string(c.Kind) && p.Source == c.Name() && !s.made[p.Place()] {
			open = append(open, p)
		}
	}
	return open, err
}

// keepDraws keeps what the node has drawn. Of what it is served, nothing is lost while it draws that again.
func (s *sameCalls) keepDraws(ctx context.Context, ended bool) error {
	if !s.keep || s.session == "" {
		return nil
	}
	now := state.Drawn{Code: s.code, Ended: ended, Draws: s.draws}
	if b := s.before; b != nil && len(b.Draws) >= len(now.Draws) &&
		slices.EqualFunc(b.Draws[:len(now.Draws)], now.Draws, sameDraw) {
		if now.Draws = b.Draws; b.Ended == ended && b.Code == s.code {
			return nil
		}
	}
	s.before, s.drawn[s.node] = &now, now
	return s.journal.PutDrawn(ctx, s.session, s.node, now)
}

func sameDraw(a, b state.Draw) bool {
	return a.Source == b.Source && strings.TrimSpace(string(a.Value)) == strings.TrimSpace(string(b.Value))
}
