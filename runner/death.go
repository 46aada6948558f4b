package runner

import (
	"time"

	"github.com/xstate-engine/xstate/state"
)

// abandon ends the kernel in the middle of the node; what it printed until then is kept. See journal.go for its files.
func (x *execution) abandon() {
	e := x.walk.e
	e.kernel.stop()
	for _, p := range e.kernel.printed {
		if o, ok := p.unsent(x.outputs); ok {
			x.output(o)
		}
	}
	e.dropKernel()
}

// lost is the outcome of a node that took the kernel with it.
func (x *execution) lost(kind, message string) (*state.StoredTrace, error) {
	x.abandon()
	if err := x.walk.e.recoverFiles(); err != nil { // before anybody asks what was there before the program
		return nil, err
	}
	t, err := x.walk.died(x.node, "")
	if err != nil {
		return nil, err
	}
	t.Seconds = x.result.Seconds
	t.Err.Type, t.Err.Message = kind, message
	t.Outputs, err = putOutputs(x.walk.e.cfg.Store, merge(x.outputs))
	return t, err
}

func (w *walk) died(n *node, when string) (*state.StoredTrace, error) {
	e := &state.ExecError{Type: "KernelDied", Message: "the interpreter died " + when, Block: n.unit.ID, Line: n.facts.Line}
	return &state.StoredTrace{Trace: state.Trace{Code: n.code, At: time.Now().UTC(), Err: e, Marks: []string{"kernel died"}}}, nil
}
