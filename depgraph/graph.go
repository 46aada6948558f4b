package depgraph

// NodeID names a node of a program: the block's id, "#", the node's index in the block.
type NodeID string

// EdgeType is one of the three kinds of dependency.
type EdgeType string

const (
	EdgeImport EdgeType = "import" // node → module, workspace file or package
	EdgeSymbol EdgeType = "symbol" // def-use through a name
	EdgeOrder  EdgeType = "order"  // through an effect, and anti- and output dependencies
)

// Evidence tells how an edge is known.
type Evidence uint8

const (
	Predicted Evidence = 1 << iota // by analysis of the source
	Observed                       // in an execution
)
