package sandbox

import (
	"time"

	"github.com/xstate-engine/xstate/runner/sandbox/keeper"
)

// ProcessorTime returns the processor time that a process and all its descendants have used; 0 if the process does not
// exist.
func ProcessorTime(pid int) (used time.Duration) {
	if pid <= 0 {
		return 0
	}
	for _, p := range append([]int{pid}, keeper.Descendants(pid, nil)...) {
		t, _ := usage(p)
		used += t
	}
	return used
}
