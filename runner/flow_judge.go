package runner

import (
	"fmt"
	"reflect"

	"github.com/xstate-engine/xstate/state"
)

// Affected returns what a plan says of the nodes that are not simply reused.
func (p *Plan) Affected() *Affected {
	a := &Affected{}
	for _, b := range p.Blocks {
		if b.Err != nil {
			a.Bad = append(a.Bad, b)
		}
		for _, n := range b.Nodes {
			if a.Total++; n.Action != ActReuse {
				a.Nodes = append(a.Nodes, n)
			}
		}
	}
	a.Work.Visited = a.Total
	return a
}

// Differs names the first node of which a plan of the whole program says something else; "" when there is none.
func (f *Flow) Differs(p *Plan) string {
	x := f.blocks[0].next
	for _, b := range p.Blocks {
		if x == 0 || f.blocks[x].id != b.ID {
			return fmt.Sprintf("block %s is not where it should be", b.ID)
		}
		nodes := f.lists.of(f.blocks[x].nodes)
		if len(nodes) != len(b.Nodes) || !reflect.DeepEqual(b.Err, f.bad[x]) {
			return fmt.Sprintf("block %s has %d nodes and error %v, want %d and %v", b.ID, len(nodes), f.bad[x], len(b.Nodes), b.Err)
		}
		for i, want := range b.Nodes {
			n := &f.nodes[nodes[i]]
			have := PlanNode{Action: ActReuse, Reason: state.Reason{Code: ReasonReused}, Line: want.Line, Seconds: want.Seconds}
			if n.flags&flagTrace != 0 {
				have.Trace = hexDigest(&n.trace)
			}
			if open := f.open[nodes[i]]; open != nil {
				have = *open
			} else if want.Reason.Code == ReasonPinned {
				have.Reason = want.Reason // which a flow does not keep
			}
			if have.Action != want.Action || have.Reason != want.Reason || have.Trace != want.Trace || have.Line != want.Line || have.Seconds != want.Seconds || n.code != shortCode(want.Code) {
				return fmt.Sprintf("node %d of block %s is to %s (%+v, trace %.8s, line %d, %g s), want %s (%+v, trace %.8s, line %d, %g s)", i+1, b.ID,
					have.Action, have.Reason, have.Trace, have.Line, have.Seconds, want.Action, want.Reason, want.Trace, want.Line, want.Seconds)
			}
		}
		x = f.blocks[x].next
	}
	if x != 0 {
		return fmt.Sprintf("block %s should not be there", f.blocks[x].id)
	}
	return ""
}
