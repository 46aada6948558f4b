package depgraph

import (
	"fmt"
	"slices"
	"strings"
)

// NodeID names a node of a program: the block's id, "#", and the node's place in the block, from 1. A module that the
// program imports is a node too: "module:numpy".
type NodeID string

// NewNodeID returns the id of the nth node of a block. It counts n from 0.
func NewNodeID(block string, n int) NodeID { return NodeID(fmt.Sprintf("%s#%d", block, n+1)) }

// Block is the block of a node; "" for a module.
func (id NodeID) Block() string {
	if strings.HasPrefix(string(id), "module:") {
		return ""
	}
	return string(id[:max(0, strings.LastIndexByte(string(id), '#'))])
}

// EdgeType is the type of a dependency.
type EdgeType string

const (
	EdgeImport EdgeType = "import" // node → module, workspace file or package
	EdgeSymbol EdgeType = "symbol" // definition and use of a name
	EdgeOrder  EdgeType = "order"  // an effect, or an anti- or output dependency
)

// Basis is the basis on which an edge is known. An edge may have both.
type Basis uint8

const (
	Predicted Basis = 1 << iota // analysis of the source
	Observed                    // an execution
)

func (e Basis) String() string {
	return [...]string{"none", "predicted", "observed", "both"}[e&3]
}

// Hazard is the reason why the order of an edge's ends matters, in the terms of instruction scheduling.
type Hazard uint8

const (
	Flow   Hazard = iota // the later node reads what the earlier one wrote
	Anti                 // the later node writes what the earlier one read
	Output               // both nodes write
)

func (h Hazard) String() string { return [...]string{"flow", "anti", "output"}[h] }

// Edge is a dependency of To on From, which comes earlier in the program.
type Edge struct {
	From, To NodeID
	Type     EdgeType
	Key      Key // what the dependency is about; "var:*" or "file:*" where the text does not show the name
	Hazard   Hazard
	Basis    Basis
}

// Graph holds the dependencies of one program. It is immutable.
type Graph struct {
	ids     []NodeID // in program order
	modules []NodeID // sorted
	index   map[NodeID]int
	edges   []Edge
	out, in [][]int // edges by node; modules come after the nodes
}

// NodeIDs returns the nodes in program order, which is a topological order of the graph. Modules are not among them.
func (g *Graph) NodeIDs() []NodeID { return slices.Clone(g.ids) }

// Modules returns the imported modules, sorted.
func (g *Graph) Modules() []NodeID { return slices.Clone(g.modules) }

// Edges returns all edges, ordered by the place of To in the program.
func (g *Graph) Edges() []Edge { return slices.Clone(g.edges) }

// Preds returns the edges that end in a node. An unknown node has none.
func (g *Graph) Preds(id NodeID) []Edge { return g.edgesOf(g.in, id) }

// Succs returns the edges that begin in a node. An unknown node has none.
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

// Affected returns the nodes that a change of the given node may reach, in program order, without the node itself. It
// follows flow edges of every type. Anti- and output dependencies do not carry a change.
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
