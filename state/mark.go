package state

// These are marks of nodes that do not come from observation: the runner sets them.
const (
	MarkVaried = "volatile" // repeated executions from one state gave different results, see runner.Config.Volatile
	MarkPinned = "pinned"   // it kept a result that is not valid
	// MarkEdited: a file was edited while the node ran that had read it; the result is not reused
	MarkEdited = "edited input"
)
