package depgraph

import (
	"cmp"
	"slices"
	"strings"
)

// BlockFacts is one block of a program, as input to Build.
type BlockFacts struct {
	ID       string
	Facts    *Facts
	Observed []Access // by node; short or nil where nodes have not been executed
}

// Access lists what one execution of a node read and wrote. Both are nil for a node that was not executed.
type Access struct {
	Reads, Writes []Key
}

func (a Access) known() bool { return a.Reads != nil || a.Writes != nil }

// Build returns the graph of a program. The blocks are given in program order.
//
// A read depends on every writer that may be visible at its place: the last node that certainly writes the key, and all
// later nodes that may write it. When a node uses a function, that node reads what the function's body reads, at its
// own place. Build assumes that a node calls every function that a value it uses may hold.
func Build(blocks []BlockFacts) *Graph {
	b := &builder{index: map[NodeID]int{}, edges: map[edgeName]Basis{}}
	for _, block := range blocks {
		for i := range block.Facts.Nodes {
			n := buildNode{id: NewNodeID(block.ID, i), facts: &block.Facts.Nodes[i]}
			if i < len(block.Observed) {
				n.observed = block.Observed[i]
			}
			b.index[n.id] = len(b.nodes)
			b.nodes = append(b.nodes, n)
		}
	}
	b.predictEdges()
	b.observeEdges()
	return b.graph()
}

type buildNode struct {
	id       NodeID
	facts    *Node
	observed Access
	carries  []int // nodes that made functions and classes which values written here may hold, sorted
}

type edgeName struct {
	from, to int // indexes into builder.nodes; modules come after them
	typ      EdgeType
	key      Key
	hazard   Hazard
}

type builder struct {
	nodes   []buildNode
	index   map[NodeID]int
	modules []NodeID
	edges   map[edgeName]Basis
}

// keyUse lists the nodes that have accessed a key so far.
type keyUse struct {
	writers []int // those whose value may still be visible
	readers []int // since the last write
}

func (b *builder) predictEdges() {
	at := map[Key]*keyUse{}
	var wild []int // nodes that may have bound any name
	for i := range b.nodes {
		n := b.nodes[i].facts
		b.addImports(i, n)
		a := b.accesses(i, at)
		if a.anyRead {
			for k, p := range at {
				if k.Space() == "var" && len(p.writers) > 0 {
					a.reads[k] = true
				}
			}
		}
		if a.reads[AnyFile] || a.reads[AnyEnv] {
			for k := range at {
				a.reads[k] = a.reads[k] || k.Space() == "file" && a.reads[AnyFile] ||
					k.Space() == "env" && a.reads[AnyEnv]
			}
		}
		for _, k := range sortedKeys(a.reads) {
			if !a.reads[k] {
				continue
			}
			b.read(at, i, k, Predicted)
			switch k.Space() {
			case "file":
				b.read(at, i, AnyFile, Predicted)
			case "env":
				b.read(at, i, AnyEnv, Predicted)
			case "var":
				for _, from := range wild {
					b.edge(from, i, EdgeSymbol, AnyVar, Flow, Predicted)
				}
			}
		}
		for _, k := range sortedKeys(a.writes) {
			b.write(at, i, k, a.certain[k], Predicted)
		}
		if a.anyBind {
			wild = append(wild, i)
		}
	}
}

// accesses predicts what node i reads and writes. It also finds the functions that node i may call and pass on.
func (b *builder) accesses(i int, at map[Key]*keyUse) *accesses {
	n := b.nodes[i].facts
	a := newAccesses()
	a.execution(n)
	calls := n.Kind == KindStatement
	carried := map[int]bool{}
	var carry func(source int)
	carry = func(source int) {
		if carried[source] {
			return
		}
		carried[source] = true
		made := b.nodes[source].facts
		if calls {
			a.call(made)
		}
		if made.Kind != KindClass {
			return
		}
		if p := at[Var(made.Defines[0])]; p != nil {
			for _, w := range p.writers {
				if slices.Contains(
					b.nodes[w].carries,
					source,
				) { // it may have put functions into the class, and instances have them
					for _, other := range b.nodes[w].carries {
						carry(other)
					}
				}
			}
		}
	}
	if makesFunctions(n) || n.Kind == KindClass {
		carry(i)
	}
	for len(a.fresh) > 0 {
		k := a.fresh[0]
		a.fresh = a.fresh[1:]
		if p := at[k]; p != nil {
			for _, w := range p.writers {
				for _, source := range b.nodes[w].carries {
					carry(source)
				}
			}
		}
	}
	b.dropModuleMutations(a, at)
	for source := range carried {
		b.nodes[i].carries = append(b.nodes[i].carries, source)
	}
	slices.Sort(b.nodes[i].carries)
	return a
}

func makesFunctions(n *Node) bool {
	later := func(e Effect) bool { return e.Later }
	return len(n.Later)+len(n.Rebinds)+len(n.MutatesLater) > 0 || slices.ContainsFunc(n.Effects, later) ||
		slices.ContainsFunc(n.Dynamic, func(d Dynamic) bool { return d.Later })
}

// dropModuleMutations drops mutations of names that an import statement bound to a module: np.sum(x) is a call, not a
// change of np. It keeps those of names bound by "from m import x", because such a name may be anything.
func (b *builder) dropModuleMutations(a *accesses, at map[Key]*keyUse) {
	for k := range a.writes {
		if p := at[k]; p != nil && len(p.writers) == 1 && !a.binds[k] && bindsModules(b.nodes[p.writers[0]].facts) {
			delete(a.writes, k)
		}
	}
}

func bindsModules(n *Node) bool {
	return n.Kind == KindImport && !slices.ContainsFunc(n.Imports, func(imp Import) bool { return imp.Names != nil })
}

func (b *builder) addImports(i int, n *Node) {
	for _, imp := range n.Imports {
		name := strings.Repeat(".", imp.Level) + imp.Module
		id := NodeID("module:" + name)
		m, ok := b.index[id]
		if !ok {
			m = len(b.nodes) + len(b.modules)
			b.index[id] = m
			b.modules = append(b.modules, id)
		}
		b.edge(m, i, EdgeImport, Key(id), Flow, Predicted)
	}
}

// observeEdges adds the edges between nodes that were both executed.
func (b *builder) observeEdges() {
	at := map[Key]*keyUse{}
	for i := range b.nodes {
		o := b.nodes[i].observed
		if !o.known() {
			continue
		}
		for _, k := range o.Reads {
			if m, ok := b.index[NodeID(k)]; ok && k.Space() == "module" {
				b.edge(m, i, EdgeImport, k, Flow, Observed)
			}
			b.read(at, i, k, Observed)
		}
		for _, k := range o.Writes {
			b.write(at, i, k, true, Observed)
		}
	}
}

func (b *builder) read(at map[Key]*keyUse, i int, k Key, e Basis) {
	p := at[k]
	if p == nil {
		p = &keyUse{}
		at[k] = p
	}
	typ := EdgeOrder
	if k.Space() == "var" {
		typ = EdgeSymbol
	}
	for _, w := range p.writers {
		b.edge(w, i, typ, k, Flow, e)
	}
	if len(p.readers) == 0 || p.readers[len(p.readers)-1] != i {
		p.readers = append(p.readers, i)
	}
}

func (b *builder) write(at map[Key]*keyUse, i int, k Key, certain bool, e Basis) {
	p := at[k]
	if p == nil {
		p = &keyUse{}
		at[k] = p
	}
	for _, r := range p.readers {
		b.edge(r, i, EdgeOrder, k, Anti, e)
	}
	for _, w := range p.writers {
		b.edge(w, i, EdgeOrder, k, Output, e)
	}
	p.readers = nil
	if certain {
		p.writers = nil
	}
	p.writers = append(p.writers, i)
}

func (b *builder) edge(from, to int, typ EdgeType, k Key, h Hazard, e Basis) {
	if from != to {
		b.edges[edgeName{from, to, typ, k, h}] |= e
	}
}

func (b *builder) graph() *Graph {
	g := &Graph{index: map[NodeID]int{}}
	for _, n := range b.nodes {
		g.ids = append(g.ids, n.id)
	}
	all := append(slices.Clone(g.ids), b.modules...)
	for i, id := range all {
		g.index[id] = i
	}
	names := make([]edgeName, 0, len(b.edges))
	for n := range b.edges {
		names = append(names, n)
	}
	slices.SortFunc(names, func(x, y edgeName) int {
		return cmp.Or(
			cmp.Compare(x.to, y.to),
			cmp.Compare(x.from, y.from),
			cmp.Compare(x.typ, y.typ),
			cmp.Compare(x.key, y.key),
			cmp.Compare(x.hazard, y.hazard),
		)
	})
	g.out, g.in = make([][]int, len(all)), make([][]int, len(all))
	for i, n := range names {
		g.edges = append(g.edges, Edge{all[n.from], all[n.to], n.typ, n.key, n.hazard, b.edges[n]})
		g.out[n.from] = append(g.out[n.from], i)
		g.in[n.to] = append(g.in[n.to], i)
	}
	g.modules = slices.Sorted(slices.Values(b.modules))
	return g
}
