package state

// These are marks of nodes that do not come from observation: the runner sets them.
const (
	MarkVaried = "volatile" // repeated executions from one state gave different results, see runner.Config.Volatile
	MarkPinned = "pinned"   // it kept a result that is not valid
)
