package state

// Marks of nodes that do not come from observation.
const (
	MarkVaried = "volatile" // repeated executions from one state gave different results, see Config.Volatile
	MarkPinned = "pinned"   // it kept a result that is not valid
)
