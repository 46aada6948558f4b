package api

import (
	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/artifact"
	"github.com/xstate-engine/xstate/state/query"
)

// Query is the document of query --at-step, --at, or nothing: the whole program after a step.
type Query struct {
	Version int `json:"version"`
	*query.Snapshot
}

// QueryBlock is the document of query --block.
type QueryBlock struct {
	Version int              `json:"version"`
	Session string           `json:"session"`
	Step    query.Entry      `json:"step"`
	NextRun state.StepNumber `json:"next_run,omitempty"` // the first run after an edit
	Block   *query.BlockView `json:"block"`
}

// Figures is the document of show --images and --open.
type Figures struct {
	Version int              `json:"version"`
	Session string           `json:"session"`
	Step    state.StepNumber `json:"step"`
	Figures []Figure         `json:"figures"`
}

// Figure is a picture that a block put out, in a file.
type Figure struct {
	Block state.BlockID `json:"block"`
	Media string        `json:"media"` // such as image/png
	File  string        `json:"file"`
}

// QueryValue is the document of query --value.
type QueryValue struct {
	Answer
	*query.ValueView
}

// QuerySymbol is the document of query --symbol.
type QuerySymbol struct {
	Answer
	*query.Symbol
}

// QueryDependents is the document of query --affected-by and --depends-on.
type QueryDependents struct {
	Answer
	Of      string            `json:"of"`      // what was asked about
	Seconds float64           `json:"seconds"` // recorded, of all blocks
	Blocks  []query.Dependent `json:"blocks"`  // in the order in which they run
}

// QueryPath is the document of query --path.
type QueryPath struct {
	Answer
	Path []string `json:"path"` // nodes from the first to the second; empty if no path exists
}

// QueryVersion is the document of query --version.
type QueryVersion struct {
	Version  int                 `json:"version"`
	Session  string              `json:"session"`
	Versions []query.VersionView `json:"versions"`
}

// QueryPatch is the document of query --patch.
type QueryPatch struct {
	Version int               `json:"version"`
	Session string            `json:"session"`
	Patches []query.PatchView `json:"patches"`
}

// QueryBlocks is the document of query --failed.
type QueryBlocks struct {
	Answer
	Blocks []query.BlockView `json:"blocks"`
}

// QueryUnverified is the document of query --unverified.
type QueryUnverified struct {
	Answer
	Blocks    []query.BlockView   `json:"blocks"`    // no run from scratch has confirmed them
	Unchecked []artifact.Coverage `json:"unchecked"` // blocks that checks exercised in part only, or not at all
}

// QueryVolatile is the document of query --volatile.
type QueryVolatile struct {
	Answer
	Blocks []query.Volatile `json:"blocks"`
}

// QueryDenied is the document of query --denied.
type QueryDenied struct {
	Answer
	Denied []Denied `json:"denied"` // in program order
}

// Denied is what the sandbox denied to a node when it last executed.
type Denied struct {
	Block state.BlockID `json:"block"`
	Node  string        `json:"node"`
	state.Denial
	Allow string `json:"allow,omitempty"` // what would allow it, for a policy file; absent: nothing would
	File  string `json:"file,omitempty"`  // that file
}

// QueryWhere is the document of query --where.
type QueryWhere struct {
	Answer
	*query.Found
}

// Graph is the document of graph: the dependencies of the program after a step.
type Graph struct {
	Answer
	Nodes   []depgraph.NodeID `json:"nodes"`   // in program order
	Modules []depgraph.NodeID `json:"modules"` // that it imports
	Edges   []GraphEdge       `json:"edges"`
}

// GraphEdge is a dependency of To on From.
type GraphEdge struct {
	From     depgraph.NodeID   `json:"from"`
	To       depgraph.NodeID   `json:"to"`
	Type     depgraph.EdgeType `json:"type"`     // import, symbol or order
	Key      depgraph.Key      `json:"key"`      // what it is about
	Hazard   string            `json:"hazard"`   // flow, anti or output
	Evidence string            `json:"evidence"` // predicted, observed or both
}

// GraphAt is the document of a graph after a step.
func GraphAt(session string, n state.StepNumber, g *depgraph.Graph) Graph {
	d := Graph{Answer: AnswerAt(session, n), Nodes: append([]depgraph.NodeID{}, g.NodeIDs()...),
		Modules: append([]depgraph.NodeID{}, g.Modules()...), Edges: []GraphEdge{}}
	for _, e := range g.Edges() {
		d.Edges = append(d.Edges, GraphEdge{e.From, e.To, e.Type, e.Key, e.Hazard.String(), e.Basis.String()})
	}
	return d
}
