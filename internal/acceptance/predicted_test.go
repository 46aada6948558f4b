package acceptance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// judged is one node of a program that ran, with what analysis predicts of it and what its execution was seen to do.
type judged struct {
	id        depgraph.NodeID
	facts     *depgraph.Node
	view      *query.NodeView
	trace     *state.Trace          // nil: none is kept
	predicted map[depgraph.Key]bool // names that earlier nodes may write and this one may read
}

// judgedNodes returns the nodes of the program after a step, in order.
func judgedNodes(
	ctx context.Context,
	store *xstate.Store,
	session *xstate.Session,
	step xstate.StepNumber,
) ([]judged, error) {
	d, err := session.History().Dependencies(ctx, step)
	if err != nil {
		return nil, err
	}
	program := make([]*depgraph.Facts, len(d.Snapshot.Blocks))
	for i, b := range d.Snapshot.Blocks {
		if facts, err := python.Analyze([]byte(b.Source), b.Dialect); err == nil {
			program[i] = facts
		}
	}
	unfolding := python.Unfold(program)
	var nodes []judged
	for i := range d.Snapshot.Blocks {
		b := &d.Snapshot.Blocks[i]
		if program[i] == nil {
			continue
		}
		facts := unfolding.Of(i, program[i])
		if len(facts.Nodes) != len(b.Nodes) {
			continue // it does not compile
		}
		for j := range b.Nodes {
			n := judged{
				id:        depgraph.NewNodeID(string(b.ID), j),
				facts:     &facts.Nodes[j],
				view:      &b.Nodes[j],
				predicted: map[depgraph.Key]bool{},
			}
			if n.view.Trace != "" {
				t, ok, err := store.State().Trace(n.view.Trace)
				if err != nil || !ok {
					return nil, fmt.Errorf("trace of %s: found %v, %w", n.id, ok, err)
				}
				n.trace = &t
			}
			for _, e := range d.Graph.Preds(n.id) {
				if e.Basis&depgraph.Predicted != 0 && e.Hazard == depgraph.Flow && e.Key.Space() == "var" {
					n.predicted[e.Key] = true
				}
			}
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

// unpredicted returns the names that executions read and that analysis did not predict, as "node: name". An edge to
// some writer of the name must have been predicted; for a name that nobody had written, that the text of the node, or
// of a function or class made so far, uses it, unless no text does: it is then a builtin, in code that a library made
// (dataclass). Nodes with dynamic names and marked ones are excused. So is, before 3.12, a name that the node may bind
// or not: whether it did cannot be told where the value is the same, and counts as a read. So is what the program has
// put into the interpreter (a signal handler, sys.stdout) may use: it is recorded with what put it there; and a
// definition that an unpickler asks for.
func unpredicted(
	ctx context.Context,
	store *xstate.Store,
	session *xstate.Session,
	o xstate.SessionOptions,
	step xstate.StepNumber,
) ([]string, error) {
	nodes, err := judgedNodes(ctx, store, session, step)
	if err != nil {
		return nil, err
	}
	var found []string
	static := isStatic(o, session)
	later, rebound, mentioned := map[string]bool{}, map[string]bool{}, map[string]bool{}
	fragile, held := map[depgraph.Key]bool{}, map[depgraph.Key]bool{}
	for _, n := range nodes {
		for _, name := range slices.Concat(n.facts.Uses, n.facts.Later) {
			mentioned[name] = true
		}
	}
	planted, defined := []string{}, map[string]bool{}
	for i, n := range nodes {
		if i > 0 && nodes[i-1].trace != nil {
			for _, w := range nodes[i-1].trace.Writes {
				fragile[w.Key], held[w.Key] = nodes[i-1].trace.Info[w.Key].LifetimeSensitive, len(
					nodes[i-1].trace.Info[w.Key].ModuleReferences,
				) > 0
				if w.Key == "conf:modules" {
					planted = nodes[i-1].trace.Info[w.Key].Deps
				}
			}
		}
		if n.facts.Kind == depgraph.KindDef || n.facts.Kind == depgraph.KindClass {
			defined[n.facts.Defines[0]] = true
		}
		for _, name := range n.facts.Later {
			later[name] = true
		}
		for _, name := range n.facts.Rebinds {
			rebound[name] = true
		}
		if n.trace == nil || len(n.trace.Marks) > 0 || n.dynamic() {
			continue
		}
		drops := slices.ContainsFunc(
			slices.Concat(n.facts.Defines, n.facts.Deletes),
			func(name string) bool { return fragile[depgraph.Var(name)] },
		)
		lists := slices.ContainsFunc(n.trace.Reads, func(r state.Access) bool { return r.Key == "reach:*" })
		for _, r := range n.trace.Reads {
			if r.Key.Space() != "var" || n.predicted[r.Key] || n.changedThroughAlias(r.Key, held[r.Key]) {
				continue
			}
			name := r.Key.Name()
			if r.Digest == state.Absent && (later[name] || slices.Contains(n.facts.Uses, name) || !mentioned[name]) ||
				slices.Contains(n.facts.Deletes, name) {
				continue
			}
			if name == "__doc__" || name == "__name__" {
				continue // a string at the beginning of the program binds it; every class statement loads it
			}
			if slices.Contains(n.facts.Defines, name) && slices.Contains(slices.Collect(maps.Values(fragile)), true) {
				continue // what it was bound to shares with what may see that go
			}
			if drops || fragile[r.Key] && len(n.facts.Rebinds)+len(n.facts.Defines)+len(n.facts.Deletes) > 0 {
				continue // it may see what was bound to a name go, or be run when it goes
			}
			if later[name] &&
				slices.ContainsFunc(
					n.trace.Reads,
					func(r state.Access) bool { return r.Key.Space() == "held" && r.Digest != state.Absent },
				) {
				continue // by a function of the program that a module holds
			}
			if slices.Contains(planted, name) || defined[name] && slices.Contains(n.facts.Uses, "pickle") {
				continue
			}
			if lists {
				continue // whoever lists subclasses reads all names that reach a class
			}
			if static && later[name] {
				continue // counted as read because a function that a value reaches may read it
			}
			if rebound[name] || static && slices.Contains(n.facts.Defines, name) {
				continue // by a function that binds it, or deletes it, which asks whether it is there
			}
			found = append(found, fmt.Sprintf("%s: %s", n.id, name))
		}
	}
	return found, nil
}

// isStatic reports whether reads are those that texts show: it cannot be told then whether a name was bound anew to
// what it had.
func isStatic(o xstate.SessionOptions, session *xstate.Session) bool {
	return o.Observe == "static" || session.Python().Minor < 12
}

// dynamic reports whether the node may read names that its text does not show, as analysis or the engine sees it.
func (n *judged) dynamic() bool {
	return len(n.facts.Dynamic) > 0 || n.predicted["var:*"] ||
		n.trace != nil && slices.ContainsFunc(n.trace.Reads, func(r state.Access) bool { return r.Key == "names:*" })
}

// changedThroughAlias reports whether a value counts as read because it changed along with another one: they share
// objects, or a class or function that both reach, or a module of the workspace holds, or held, a part of it.
// A package changes along with what imports one of its modules.
func (n *judged) changedThroughAlias(k depgraph.Key, held bool) bool {
	if !slices.ContainsFunc(n.trace.Writes, func(w state.Access) bool { return w.Key == k }) {
		return false
	}
	// which may hold what it does not tell
	opaque := func(w state.Access) bool { return n.trace.Info[w.Key].Opaque != "" && w.Key != k }
	return held || slices.ContainsFunc(n.trace.Writes, opaque) || n.trace.Info[k].Type == "module" ||
		len(n.trace.Info[k].Code) > 0 ||
		len(n.trace.Info[k].ModuleReferences) > 0 ||
		slices.ContainsFunc(n.trace.AliasesBefore,
			func(s state.Alias) bool { return s[0] == k.Name() || s[1] == k.Name() })
}

// inputs describes, for each node of a run from scratch, its code and everything that it may depend on: the values of
// the names that analysis predicts it to read, with all that share objects with them, and all files and hidden state.
// Two nodes that are described alike must come to the same, whatever was observed of them. A node with dynamic names,
// or that may read a value without a name by content, has no description.
func (p *player) inputs(files map[string][]byte) (map[depgraph.NodeID]string, error) {
	nodes, err := judgedNodes(context.Background(), p.store, p.session, p.step)
	if err != nil {
		return nil, err
	}
	files = maps.Clone(files)
	delete(files, "prog.py")
	found := map[depgraph.NodeID]string{}
	now := place{
		static: isStatic(p.o, p.session),
		keys:   map[depgraph.Key]state.Digest{},
		info:   map[depgraph.Key]state.ValueInfo{},
		shares: map[[2]string]string{},
	}
	for _, n := range nodes {
		if text, ok := now.describe(&n); ok {
			found[n.id] = string(state.DigestOf([]byte(key(files) + text)))
		}
		now.pass(&n)
	}
	return found, nil
}

// place is the state of everything before a node.
type place struct {
	static bool
	keys   map[depgraph.Key]state.Digest
	info   map[depgraph.Key]state.ValueInfo
	shares map[[2]string]string
}

func (p *place) pass(n *judged) {
	if n.trace == nil || n.trace.Err != nil {
		for _, name := range n.facts.Defines {
			p.keys[depgraph.Var(name)] = "failed"
		}
		return
	}
	gone := map[string]bool{}
	for _, name := range n.trace.AliasSensitive {
		gone[name] = true
	}
	for _, w := range n.trace.Writes {
		p.keys[w.Key], p.info[w.Key] = w.Digest, n.trace.Info[w.Key]
		if w.Key.Space() == "var" {
			gone[w.Key.Name()] = true
		}
	}
	maps.DeleteFunc(p.shares, func(pair [2]string, _ string) bool { return gone[pair[0]] || gone[pair[1]] })
	for _, s := range n.trace.AliasesAfter {
		p.shares[[2]string{s[0], s[1]}] = s[2]
	}
}

// grow adds the names that share objects with one of near.
func (p *place) grow(near map[string]bool) {
	for grown := true; grown; {
		grown = false
		for pair := range p.shares {
			if near[pair[0]] != near[pair[1]] {
				near[pair[0]], near[pair[1]], grown = true, true, true
			}
		}
	}
}

func (p *place) describe(n *judged) (string, bool) {
	if n.dynamic() || n.trace == nil || len(n.trace.CitedBlocks) > 0 {
		return "", false
	}
	near := map[string]bool{}
	for k := range n.predicted {
		near[k.Name()] = true
	}
	for _, name := range n.facts.Defines {
		if p.static && !slices.Contains(n.facts.Certain, name) {
			near[name] = true
		}
	}
	lines := []string{}
	all := len(n.facts.Mutates)+len(n.facts.MutatesLater) > 0 || strings.Contains(n.facts.Tokens, "class") ||
		slices.ContainsFunc(n.trace.Reads, func(a state.Access) bool { return a.Key.Space() == "reach" })
	for k, info := range p.info { // with what it changes in place, maybe a class or a module, changes what reaches that
		if len(info.ModuleReferences) > 0 || all && len(info.Code) > 0 {
			near[k.Name()] = true
			lines = append(lines, fmt.Sprint("reach ", k, info.Code, info.ModuleReferences))
		}
	}
	p.grow(near)
	for _, name := range slices.Concat(n.facts.Defines, n.facts.Deletes) { // what may notice that an object goes
		group := map[string]bool{name: true}
		p.grow(group)
		for other := range group {
			if p.info[depgraph.Var(other)].LifetimeSensitive {
				maps.Copy(near, group)
			}
		}
	}
	for pair, d := range p.shares {
		if near[pair[0]] {
			lines = append(lines, fmt.Sprint("share ", pair, d))
		}
	}
	for k, d := range p.keys {
		if k.Space() == "var" && !near[k.Name()] {
			continue
		}
		if len(d) == 64 && k.Space() != "file" && k.Space() != "env" && k.Space() != "rng" || k.Space() == "display" {
			return "", false // by lineage
		}
		lines = append(lines, fmt.Sprint(k, " ", d))
	}
	slices.Sort(lines)
	return fmt.Sprint(n.view.Code, "\n", strings.Join(lines, "\n")), true
}
