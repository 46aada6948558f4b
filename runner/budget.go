package runner

import (
	"time"

	"github.com/xstate-engine/xstate/runner/sandbox"
)

// spentError stops a run before its next node: RunOptions.BeforeNode said so. What was finished is kept, as when the
// run is interrupted.
type spentError struct{ error }

// meter measures the processor time of a run. That of an interpreter that was replaced counts as far as it was seen.
type meter struct {
	began time.Time
	gone  time.Duration // of interpreters that are no more
	group int           // of the present one; 0: none was seen
	since time.Duration // its processor time when the run began
	last  time.Duration // the same when it was last looked at
}

// look returns the processor time of the run so far.
func (m *meter) look(group int) time.Duration {
	used := sandbox.ProcessorTime(group)
	if group != m.group {
		m.gone += m.last - m.since
		m.group, m.since, m.last = group, 0, 0
	}
	m.last = max(m.last, used)
	return m.gone + m.last - m.since
}

// newMeter begins to measure. group is that of the interpreter that there is; 0: none.
func newMeter(began time.Time, group int) meter {
	m := meter{began: began, group: group, since: sandbox.ProcessorTime(group)}
	m.last = m.since
	return m
}
