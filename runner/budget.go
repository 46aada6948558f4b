package runner

import (
	"slices"
	"time"

	"github.com/xstate-engine/xstate/runner/sandbox"
)

// spentError stops a run before its next node: RunOptions.BeforeNode said so. Finished results are kept, as when the
// run is interrupted.
type spentError struct{ error }

// meter measures the processor time of a run. That of an interpreter that was replaced counts as far as it was seen.
type meter struct {
	began time.Time
	gone  time.Duration // used by interpreters that have exited
	group []int         // those of the present ones; none: there was none
	since time.Duration // its processor time when the run began
	last  time.Duration // the same when it was last looked at
}

// look returns the processor time of the run so far.
func (m *meter) look(group []int) time.Duration {
	used := processorTime(group)
	if !slices.Equal(group, m.group) {
		m.gone += m.last - m.since
		m.group, m.since, m.last = group, 0, 0
	}
	m.last = max(m.last, used)
	return m.gone + m.last - m.since
}

// newMeter begins to measure. group are those of the interpreters that there are.
func newMeter(began time.Time, group []int) meter {
	m := meter{began: began, group: group, since: processorTime(group)}
	m.last = m.since
	return m
}

func processorTime(groups []int) (used time.Duration) {
	for _, g := range groups {
		used += sandbox.ProcessorTime(g)
	}
	return used
}
