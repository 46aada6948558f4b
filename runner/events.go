package runner

import (
	"time"

	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

// reportBegin reports that a node executes, for the first time or again.
func (w *walk) reportBegin(ev Event) {
	w.begun, w.reportedEnd = ev, false
	w.event(ev)
}

// reportEnd reports once that the node that executes has ended.
func (w *walk) reportEnd(seconds float64, failed bool) {
	if w.reportedEnd {
		return
	}
	w.reportedEnd, w.resultAt = true, time.Now()
	ev := Event{Block: w.begun.Block, Node: w.begun.Node, Kind: "end", Seconds: seconds, Status: state.StatusRan}
	if failed {
		ev.Status = state.StatusFailed
	}
	w.event(ev)
}

func (w *walk) event(ev Event) {
	if w.o.OnEvent != nil {
		w.o.OnEvent(ev)
	}
}

// report shows the outputs of node i in its turn.
func (w *walk) report(i int, outputs []output.Output) {
	n := w.nodes[i]
	for _, o := range outputs {
		w.event(Event{Block: n.unit.ID, Node: n.at, Kind: "output", Output: o})
	}
}
