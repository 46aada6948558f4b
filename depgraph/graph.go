package depgraph

import (
	"fmt"
	"slices"
)

// NodeID names a node of a program: the block's id, "#", the node's place in the block, from 1. A module that the program imports
// is a node, too: "module:numpy".
type NodeID string

// NewNodeID returns the id of the nth node of a block, counted from 0.
func NewNodeID(block string, n int) NodeID { return NodeID(fmt.Sprintf("%s#%d", block, n+1)) }

// EdgeType is one of the three kinds of dependency.
type EdgeType string

const (
	EdgeImport EdgeType = "import" // node → module, workspace file or package
	EdgeSymbol EdgeType = "symbol" // def-use through a name
	EdgeOrder  EdgeType = "order"  // through an effect, and anti- and output dependencies
)

// Basis tells how an edge is known.
type Basis uint8

const (
	Predicted Basis = 1 << iota // by analysis of the source
	Observed                    // in an execution
)

func (e Basis) String() string {
	return [...]string{"none", "predicted", "observed", "both"}[e&3]
}

// Hazard tells why the order of an edge's ends matters, in the terms of instruction scheduling.
type Hazard uint8

const (
	Flow   Hazard = iota // the later one reads what the earlier one wrote
	Anti                 // the later one writes what the earlier one read
	Output               // both write
)

func (h Hazard) String() string { return [...]string{"flow", "anti", "output"}[h] }

// Edge is a dependency: To depends on From, which stands earlier in the program.
type Edge struct {
	From, To NodeID
	Type     EdgeType
	Key      Key // through what; "var:*" and "file:*" where the text does not show the name
	Hazard   Hazard
	Basis    Basis
}

// Graph is the dependencies of one program. It does not change.
type Graph struct {
	ids     []NodeID // in program order
	modules []NodeID // sorted
	index   map[NodeID]int
	edges   []Edge
	out, in [][]int // edges by node; modules behind the nodes
}

// NodeIDs returns the nodes in program order, which is a topological order of the graph. Modules are not among them.
func (g *Graph) NodeIDs() []NodeID { return slices.Clone(g.ids) }

// Modules returns the imported modules, sorted.
func (g *Graph) Modules() []NodeID { return slices.Clone(g.modules) }

// Edges returns all edges, by the later end's place in the program.
func (g *Graph) Edges() []Edge { return slices.Clone(g.edges) }

// Preds returns the edges that end in a node, Succs those that begin in it. An unknown node has none.
func (g *Graph) Preds(id NodeID) []Edge { return g.edgesOf(g.in, id) }

// Succs returns the edges that begin in a node.
func (g *Graph) Succs(id NodeID) []Edge { return g.edgesOf(g.out, id) }

func (g *Graph) edgesOf(lists [][]int, id NodeID) []Edge {
	i, ok := g.index[id]
	if !ok {
		return nil
	}
	var edges []Edge
	for _, e := range lists[i] {
		edges = append(edges, g.edges[e])
	}
	return edges
}

// Affected returns the nodes that a change of the given node may reach, in program order, without the node itself: all
// that can be reached over flow, whether through names, modules or effects. Anti- and output dependencies do not carry
// a change.
func (g *Graph) Affected(id NodeID) []NodeID {
	start, ok := g.index[id]
	if !ok {
		return nil
	}
	reached := make([]bool, len(g.out))
	queue := []int{start}
	for len(queue) > 0 {
		i := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, e := range g.out[i] {
			if to := g.index[g.edges[e].To]; g.edges[e].Hazard == Flow && !reached[to] {
				reached[to] = true
				queue = append(queue, to)
			}
		}
	}
	var ids []NodeID
	for i, id := range g.ids {
		if reached[i] && i != start {
			ids = append(ids, id)
		}
	}
	return ids
}
