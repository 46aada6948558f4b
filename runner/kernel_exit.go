package runner

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// abandon ends the kernel in the middle of the node and keeps what it printed until then. See spool.go for its files.
func (x *execution) abandon() {
	e := x.walk.e
	e.kernel.Stop()
	e.kernel.Unsent(x.sink())
	e.dropKernel()
}

// lost returns the outcome of a node during which the kernel ended.
func (x *execution) lost(kind, message string) (*state.StoredTrace, error) {
	x.abandon()
	if err := x.walk.e.recoverFiles(); err != nil { // before anything asks what was there before the program
		return nil, err
	}
	t, err := x.walk.died(x.node, "")
	if err != nil {
		return nil, err
	}
	t.Seconds = x.seen.Seconds
	t.Err.Type, t.Err.Message = kind, message
	t.Denied = denialsOf(x.seen.Denied, x.walk.e.cfg.Secrets)
	t.Err.Denied = t.Denied
	if t.Outputs, err = x.walk.e.putOutputs(x.outputs.Outputs()); err != nil {
		return nil, err
	}
	return x.putTrace(t.Trace, true)
}

// markTimeout marks a node that was stopped at the time-out.
const markTimeout = "time-out"

// timeOut makes the failure of an interrupted node that of the time-out. The traceback shows where the node was.
func (x *execution) timeOut() {
	f, limit := x.seen.Failure, x.walk.o.Timeout
	lines := f.Traceback
	if x.node.unit.language.Interrupted(f.Type) && len(lines) > 0 {
		lines = lines[:len(lines)-1]
	}
	f.Type, f.Message = TypeTimeout, fmt.Sprintf("stopped after %s", limit)
	f.Traceback = append(lines, f.Type+": "+f.Message)
	x.limit = limit.Seconds()
	x.seen.Marks = append(x.seen.Marks, markTimeout)
}

// died returns the trace of a node that has no result because the interpreter ended. when completes the message.
func (w *walk) died(n *node, when string) (*state.StoredTrace, error) {
	e := &state.ExecError{Type: TypeDied, Message: "the interpreter died " + when, Block: n.text.ID, Line: n.facts.Line}
	return &state.StoredTrace{
		Trace: state.Trace{Code: n.code, At: time.Now().UTC(), Err: e, Marks: []string{"kernel died"}},
	}, nil
}

// endedItself reports whether a node ended its interpreter: it exited, or crashed. SIGKILL and SIGTERM come from
// another process, or from a system that is short of memory.
func endedItself(t *state.StoredTrace) bool {
	return t.Err != nil && t.Err.Type == TypeDied && !strings.Contains(t.Err.Message, "(killed)") &&
		!strings.Contains(t.Err.Message, "(terminated)")
}

// ending makes the record of the program's end. It cites no line, as the interpreter does not.
func (x *execution) ending(end *kernel.Ending) *state.Ending {
	if end.Code == 0 {
		return &state.Ending{}
	}
	return &state.Ending{
		Code: end.Code,
		Err:  &state.ExecError{Type: end.Type, Message: end.Message, Block: x.node.unit.ID},
	}
}

// transient reports whether the failure does not prove that the code fails on these inputs. A node that only read a
// clock, looked at its own process, or was stopped at the time-out keeps a failure as it keeps any other result.
func (x *execution) transient() bool {
	return x.seen.Failure != nil && (x.seen.Failure.Type == TypeBudget ||
		x.node.unit.language.Transient(x.seen.Failure.Type)) ||
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
		Waiting:   x.calls.waiting,
		Type:      e.Type,
		Message:   e.Message,
		Traceback: e.Traceback,
		Block:     x.node.text.ID,
		Line:      e.Line,
	}
}

// stopCalls replaces the failure of a node whose calls cannot continue by the engine's.
func (x *execution) stopCalls() {
	e := x.calls.stopped
	f := kernel.Failure{Type: e.Type, Message: e.Message}
	if was := x.seen.Failure; was != nil {
		f.Line, f.Traceback = was.Line, was.Traceback
		if n := len(f.Traceback); n > 0 && x.node.unit.language.Interrupted(was.Type) { // see kernel.Recording
			f.Traceback = append(slices.Clone(f.Traceback[:n-1]), fmt.Sprintf("%s: %s", e.Type, e.Message))
		}
	}
	x.seen.Failure, x.seen.Ending = &f, nil
}

// serves reports whether only the journal may answer calls of a class, because the execution is not the program's next
// one. A speculative execution may make only calls without a visible effect.
func (x *execution) serves(c journal.Class) bool {
	w := x.walk
	if w.speculative {
		return c != journal.Pure
	}
	if w.o.Asks && !c.Effects() {
		return false
	}
	return x.onlyLooks() || !x.live && (!x.mayCall || c.Effects())
}

// onlyLooks reports whether the walk must change nothing.
func (x *execution) onlyLooks() bool {
	w := x.walk
	return w.o.Discard || w.readOnly || w.e.cfg.Guard != nil
}
