package runner

import (
	"slices"

	"github.com/xstate-engine/xstate/state"
)

// transient reports whether the failure is no proof that the code fails on these inputs. A node that only read a clock,
// looked at its own process, or was stopped at the time-out keeps a failure as it keeps any other result.
func (x *execution) transient() bool {
	return x.seen.Failure != nil && (x.seen.Failure.Type == TypeBudget ||
		x.walk.e.cfg.Language.Transient(x.seen.Failure.Type)) ||
		slices.ContainsFunc(x.seen.Marks, func(mark string) bool { return !slices.Contains(stableMarks, mark) })
}

// stableMarks are marks with which a failure is a result like any other.
var stableMarks = []string{"clock", "process", markTimeout, markDenied}

// Types of errors that the engine raises in the place of a node.
const (
	TypeDied    = "KernelDied"
	TypeTimeout = "Timeout"
	TypeWaiting = "Waiting"     // a call waits for a decision
	TypeBudget  = "BudgetSpent" // a hard limit of calls is reached
)

func (x *execution) execError() *state.ExecError {
	e := x.seen.Failure
	return &state.ExecError{
		Type:      e.Type,
		Message:   e.Message,
		Traceback: e.Traceback,
		Block:     x.node.unit.ID,
		Line:      e.Line,
	}
}
