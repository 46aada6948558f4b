package query

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/languages"
	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/state"
)

// Dependencies is the dependency graph of a program after a step. It combines the analysis of the text with the reads
// and writes that executions were observed to make. Neither is enough: the text cannot show what a library opens, and a
// node that has not run since its edit has no observations.
type Dependencies struct {
	Graph    *depgraph.Graph
	Snapshot *Snapshot

	Nodes map[depgraph.NodeID]*Node
}

// Node is a node of the program, with the analysis of its text and its observed reads and writes.
type Node struct {
	Block   *BlockView
	Name    string
	seconds float64 // the last execution's
	Facts   *depgraph.Node
	Access  depgraph.Access
}

// Dependent is a block that a change may reach.
type Dependent struct {
	Block   state.BlockID `json:"block"`
	Index   int           `json:"index"`
	Nodes   []string      `json:"nodes"`             // those of the block that are reached
	Through []Via         `json:"through,omitempty"` // how it is reached; empty where the change begins
	// "observed" in executions, or "predicted" from the text alone
	Evidence string  `json:"evidence"`
	Seconds  float64 `json:"seconds"` // that these nodes took when they last ran
}

// Via is one link of a dependency: the node reads key, which From wrote.
type Via struct {
	From string       `json:"from"` // a node, or "" for the workspace
	Key  depgraph.Key `json:"key"`
}

// Dependencies returns the dependencies of the program after step n. Nothing is executed.
func (h *History) Dependencies(ctx context.Context, n state.StepNumber) (*Dependencies, error) {
	snap, err := h.At(ctx, n)
	if err != nil {
		return nil, err
	}
	d := &Dependencies{Snapshot: snap, Nodes: map[depgraph.NodeID]*Node{}}
	var blocks []depgraph.BlockFacts
	program := make([]languages.Block, len(snap.Blocks))
	for i := range snap.Blocks {
		b := &snap.Blocks[i]
		facts, err := languages.Analyze([]byte(b.Source), b.Dialect)
		if err != nil {
			facts = nil // it does not parse: it defines nothing and reads nothing
		}
		program[i] = languages.Block{Dialect: b.Dialect, Facts: facts}
	}
	unfolding := languages.Unfold(program)
	for i := range snap.Blocks {
		b, facts := &snap.Blocks[i], &depgraph.Facts{}
		if program[i].Facts != nil {
			facts = unfolding.Of(i, program[i].Facts)
		}
		statements := len(facts.Nodes)
		if n := len(b.Nodes); n == len(facts.Nodes)+1 && strings.HasSuffix(b.Nodes[n-1].Name, "#"+depgraph.LabelEnd) {
			own := *facts
			own.Nodes = append(slices.Clone(facts.Nodes), depgraph.Node{Kind: depgraph.KindEnd})
			facts = &own
		}
		bf := depgraph.BlockFacts{ID: string(b.ID), Facts: facts}
		for j := range facts.Nodes {
			p := &Node{Block: b, Name: NodeName(b.ID, j, statements, facts.Nodes[j].Label()),
				Facts: &facts.Nodes[j]}
			if j < len(b.Nodes) && !b.Nodes[j].Lost && b.Nodes[j].Trace != "" {
				p.Access, p.seconds = observed(&b.Nodes[j], p.Facts.Part), b.Nodes[j].Seconds
			}
			bf.Observed = append(bf.Observed, p.Access)
			d.Nodes[depgraph.NewNodeID(string(b.ID), j)] = p
		}
		blocks = append(blocks, bf)
	}
	d.Graph = depgraph.Build(blocks)
	return d, nil
}

// observed returns what a node was observed to read and write. One that is a part of a function executed the text of
// its definition.
func observed(n *NodeView, part *depgraph.Part) depgraph.Access {
	a := depgraph.Access{Reads: []depgraph.Key{}, Writes: []depgraph.Key{}}
	if part != nil {
		for _, name := range []string{part.Function, part.Call} {
			if name != "" {
				a.Reads = append(a.Reads, depgraph.Var(name))
			}
		}
	}
	for _, r := range n.Reads {
		a.Reads = append(a.Reads, r.Key)
		if r.Tool != "" {
			a.Reads = append(a.Reads, keyTool(r.Tool))
		}
	}
	for _, w := range n.Writes {
		a.Writes = append(a.Writes, w.Key)
	}
	return a
}

// NodeName names a node of the graph as reasons do.
func (d *Dependencies) NodeName(id depgraph.NodeID) string {
	if p := d.Nodes[id]; p != nil {
		return p.Name
	}
	return string(id)
}

// Node returns the nodes that a word means; none for a block that has no nodes. The word is a block, a node (block#2),
// a module of the graph, a name of the program (the nodes that bind it), or a file, package or other key (the nodes
// that read it).
func (d *Dependencies) Node(what string) (ids []depgraph.NodeID, key depgraph.Key, err error) {
	if b, err := d.Snapshot.Block(state.BlockID(what)); err == nil {
		what = string(b.ID)
	}
	all := append(d.Graph.NodeIDs(), d.Graph.Modules()...)
	pick := func(ok func(depgraph.NodeID, *Node) bool) []depgraph.NodeID {
		var found []depgraph.NodeID
		for _, id := range all {
			if p := d.Nodes[id]; ok(id, p) {
				found = append(found, id)
			}
		}
		return found
	}
	if ids = pick(func(id depgraph.NodeID, p *Node) bool {
		return p != nil && (string(p.Block.ID) == what || p.Name == what || p.Facts.Label() == what) || p == nil &&
			(string(id) == what || string(id) == "module:"+what)
	}); len(ids) > 0 {
		return ids, "", nil
	}
	if name := d.variable(what); name != "" {
		ids = pick(func(_ depgraph.NodeID, p *Node) bool { return p != nil && p.writes(name) })
		if len(ids) > 0 {
			return ids, name, nil
		}
	}
	for _, k := range []depgraph.Key{depgraph.Key(what), depgraph.Key("file:" + filepath.Clean(what)),
		depgraph.Key("module:" + what), depgraph.Key("env:" + what)} {
		if ids = pick(func(_ depgraph.NodeID, p *Node) bool { return p != nil && p.reads(k) }); len(ids) > 0 {
			return ids, k, nil
		}
	}
	if d.empty(what) != nil {
		return nil, "", nil
	}
	return nil, "", d.unknown(what)
}

// variable returns the key of the variable that a word means, as "rows", "js:rows" or "var:rows"; "" if it means
// something else. A name without the space of its language is found in every language, first in Python.
func (d *Dependencies) variable(what string) depgraph.Key {
	asked := depgraph.Var(what)
	if k := depgraph.Key(what); k.Space() == "var" {
		return k
	} else if space, _ := asked.Cut(); space == "" && strings.Contains(what, ":") {
		return ""
	}
	for _, l := range lang.All() {
		k := asked.In(l.Space)
		for _, p := range d.Nodes {
			if p != nil && p.writes(k) {
				return k
			}
		}
	}
	return asked
}

// empty returns the block of that name if it has no node: it holds no statement, or it does not parse.
func (d *Dependencies) empty(what string) *BlockView {
	b, err := d.Snapshot.Block(state.BlockID(what))
	if err != nil {
		return nil
	}
	for _, p := range d.Nodes {
		if p.Block == b {
			return nil
		}
	}
	return b
}

func (d *Dependencies) unknown(what string) error {
	known := make([]string, 0, len(d.Snapshot.Blocks))
	for _, b := range d.Snapshot.Blocks {
		known = append(known, string(b.ID))
	}
	return &state.Error{
		Code: CodeNoBlock,
		Message: fmt.Sprintf(
			"%q is no block, name, file or package of the program after step %d",
			what,
			d.Snapshot.Step.Number,
		),
		Hint: DidYouMean(what, slices.Concat(known, d.names())) + "its blocks are: " + Shorten(known),
	}
}

// names returns the names that nodes of the program bind.
func (d *Dependencies) names() []string {
	found := map[string]bool{}
	for _, p := range d.Nodes {
		for _, name := range p.Facts.Defines {
			found[name] = true
		}
		for _, k := range p.Access.Writes {
			if k.Space() == "var" {
				found[k.Name()] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func (p *Node) writes(k depgraph.Key) bool {
	return slices.Contains(p.Access.Writes, k) || slices.Contains(p.Facts.Defines, k.Name())
}

func (p *Node) reads(k depgraph.Key) bool {
	if slices.Contains(p.Access.Reads, k) {
		return true
	}
	switch k.Space() {
	case "var":
		return slices.Contains(p.Facts.Uses, k.Name())
	case "file":
		return slices.ContainsFunc(p.Facts.Effects, func(e depgraph.Effect) bool {
			return e.Kind == depgraph.EffectFile && e.Arg != "" && filepath.Clean(e.Arg) == k.Name()
		})
	case "module":
		return slices.ContainsFunc(p.Facts.Imports, func(i depgraph.Import) bool {
			top, _, _ := strings.Cut(i.Module, ".")
			return i.Module == k.Name() || top == k.Name()
		})
	}
	return false
}

// unread reports whether a node has run and did not read a name or a file, whatever its text may read.
func (p *Node) unread(k depgraph.Key) bool {
	return p.Access.Reads != nil && (k.Space() == "var" || k.Space() == "file") && !slices.Contains(p.Access.Reads, k)
}

// Affected returns the blocks that a change may reach, in program order: the block where the change begins, then all
// that flow reaches from it. Node says what the argument may be. The answer is an upper bound: a block whose inputs
// turn out equal does not run.
func (d *Dependencies) Affected(what string) ([]Dependent, error) {
	start, key, err := d.Node(what)
	if err != nil {
		return nil, err
	}
	if b := d.empty(what); len(start) == 0 && b != nil {
		return []Dependent{{Block: b.ID, Index: b.Index, Nodes: []string{}, Evidence: depgraph.Predicted.String()}}, nil
	}
	how := map[depgraph.NodeID]*reach{}
	for _, id := range start {
		how[id] = &reach{observed: true}
		if key != "" && key.Space() != "var" {
			how[id].via = []Via{{Key: key}}
			how[id].observed = slices.Contains(d.Nodes[id].Access.Reads, key)
		}
	}
	for _, id := range d.Graph.NodeIDs() { // program order is a topological order
		d.follow(id, how, start)
	}
	return d.blocks(how), nil
}

// reach records how a change reaches a node.
type reach struct {
	observed bool
	via      []Via
}

func (d *Dependencies) follow(id depgraph.NodeID, how map[depgraph.NodeID]*reach, start []depgraph.NodeID) {
	if slices.Contains(start, id) {
		return
	}
	for _, e := range d.Graph.Preds(id) {
		from := how[e.From]
		if from == nil || e.Hazard != depgraph.Flow {
			continue
		}
		r := how[id]
		if r == nil {
			r = &reach{}
			how[id] = r
		}
		seen := from.observed && e.Basis&depgraph.Observed != 0
		if seen && !r.observed {
			r.via = nil // an observed dependency explains more than a predicted one
		}
		if via := (Via{From: d.NodeName(e.From), Key: e.Key}); (seen || !r.observed) && !slices.Contains(r.via, via) {
			r.via = append(r.via, via)
		}
		r.observed = r.observed || seen
	}
}

// Readers returns the blocks that directly read what another block, a name, a file or a package provides. A node that
// ran reads what it was observed to read.
func (d *Dependencies) Readers(what string) ([]Dependent, error) {
	start, key, err := d.Node(what)
	if err != nil {
		return nil, err
	}
	how := map[depgraph.NodeID]*reach{}
	if key != "" && key.Space() != "var" {
		for _, id := range start {
			if p := d.Nodes[id]; !p.unread(key) {
				how[id] = &reach{observed: slices.Contains(p.Access.Reads, key), via: []Via{{Key: key}}}
			}
		}
		return d.blocks(how), nil
	}
	for _, from := range start {
		for _, e := range d.Graph.Succs(from) {
			if e.Hazard != depgraph.Flow || key != "" && e.Key != key || slices.Contains(start, e.To) ||
				d.Nodes[e.To].unread(e.Key) {
				continue
			}
			if how[e.To] == nil {
				how[e.To] = &reach{}
			}
			r := how[e.To]
			r.observed = r.observed || e.Basis&depgraph.Observed != 0
			r.via = append(r.via, Via{From: d.NodeName(from), Key: e.Key})
		}
	}
	return d.blocks(how), nil
}

// blocks groups nodes by their blocks.
func (d *Dependencies) blocks(how map[depgraph.NodeID]*reach) []Dependent {
	found := []Dependent{}
	for _, id := range d.Graph.NodeIDs() {
		r, p := how[id], d.Nodes[id]
		if r == nil {
			continue
		}
		if len(found) == 0 || found[len(found)-1].Block != p.Block.ID {
			found = append(
				found,
				Dependent{Block: p.Block.ID, Index: p.Block.Index, Evidence: depgraph.Predicted.String()},
			)
		}
		b := &found[len(found)-1]
		b.Nodes = append(b.Nodes, p.Name)
		b.Seconds += p.seconds
		for _, v := range r.via {
			if from, _, _ := strings.Cut(v.From, "#"); from != string(b.Block) && !slices.Contains(b.Through, v) {
				b.Through = append(b.Through, v)
			}
		}
		if r.observed {
			b.Evidence = depgraph.Observed.String()
		}
	}
	return found
}

// Symbol describes a name of the program after a step.
type Symbol struct {
	Name    string      `json:"name"`
	Writers []SymbolUse `json:"writers"`
	Readers []SymbolUse `json:"readers"`
}

// SymbolUse is one node that binds or reads a name.
type SymbolUse struct {
	Node     string           `json:"node"`
	Evidence string           `json:"evidence"`
	Digest   state.Digest     `json:"digest,omitempty"`
	Value    *state.ValueInfo `json:"value,omitempty"`
}

// Symbol returns the nodes that bind a name, the values that they gave it, and the nodes that read it.
func (d *Dependencies) Symbol(name string) (*Symbol, error) {
	k := cmp.Or(d.variable(name), depgraph.Var(name))
	s := &Symbol{Name: k.Name(), Writers: []SymbolUse{}, Readers: []SymbolUse{}}
	for _, id := range d.Graph.NodeIDs() {
		p := d.Nodes[id]
		if p.writes(k) {
			s.Writers = append(
				s.Writers,
				d.use(p, k, p.Access.Writes, func(n *NodeView) []AccessView { return n.Writes }),
			)
		}
		if p.reads(k) && !p.unread(k) {
			s.Readers = append(
				s.Readers,
				d.use(p, k, p.Access.Reads, func(n *NodeView) []AccessView { return n.Reads }),
			)
		}
	}
	if len(s.Writers)+len(s.Readers) == 0 {
		return nil, &state.Error{
			Code:    CodeNoBlock,
			Message: fmt.Sprintf("no block binds or reads %q after step %d", name, d.Snapshot.Step.Number),
			Hint:    DidYouMean(name, d.names()) + "`xstate query --block BLOCK` shows what a block reads and writes",
		}
	}
	return s, nil
}

func (d *Dependencies) use(p *Node, k depgraph.Key, seen []depgraph.Key, pick func(*NodeView) []AccessView) SymbolUse {
	u := SymbolUse{Node: p.Name, Evidence: depgraph.Predicted.String()}
	if !slices.Contains(seen, k) {
		return u
	}
	u.Evidence = depgraph.Observed.String()
	for i := range p.Block.Nodes {
		if p.Block.Nodes[i].Name != p.Name {
			continue
		}
		for _, a := range pick(&p.Block.Nodes[i]) {
			if a.Key == k {
				u.Digest, u.Value = a.Digest, a.Value
			}
		}
	}
	return u
}

// Path returns a shortest chain of dependencies from one block or node to another, named as in reasons. It returns none
// if no chain exists.
func (d *Dependencies) Path(from, to string) ([]string, error) {
	starts, _, err := d.Node(from)
	if err != nil {
		return nil, err
	}
	ends, _, err := d.Node(to)
	if err != nil {
		return nil, err
	}
	best := []string{}
	for _, a := range starts {
		for _, b := range ends {
			path, err := d.Graph.Path(a, b)
			if err != nil {
				return nil, err
			}
			if len(path) == 0 || len(best) > 0 && len(path) >= len(best) {
				continue
			}
			best = best[:0]
			for _, id := range path {
				best = append(best, d.NodeName(id))
			}
		}
	}
	return best, nil
}

// SpreadMarks passes the marks of blocks on to the blocks that were observed to read what they wrote. A value computed
// from a volatile value is volatile, too.
func (d *Dependencies) SpreadMarks(marks map[state.BlockID][]string) {
	for _, id := range d.Graph.NodeIDs() { // program order is a topological order
		to := d.Nodes[id].Block.ID
		for _, e := range d.Graph.Preds(id) {
			from := d.Nodes[e.From]
			if from == nil || e.Hazard != depgraph.Flow || e.Basis&depgraph.Observed == 0 {
				continue
			}
			for _, m := range marks[from.Block.ID] {
				marks[to] = AppendNew(marks[to], m)
			}
		}
	}
}
