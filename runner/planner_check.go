package runner

import (
	"context"
	"fmt"
	"reflect"

	"github.com/xstate-engine/xstate/state"
)

// Check compares a plan, which the planner has just made, with a walk of the program. It returns an error that names
// the first node about which the two differ.
func (pl *Planner) Check(ctx context.Context, p *Plan) error {
	if p.walk == nil {
		return nil // it is a walk
	}
	blocks, err := p.Blocks(ctx)
	if err != nil {
		return err
	}
	if text := pl.difference(blocks); text != "" {
		return fmt.Errorf("the plan differs from a walk of the program: %s", text)
	}
	return nil
}

// difference describes the first node about which a walk decided otherwise; "" when there is none.
func (pl *Planner) difference(blocks []PlanBlock) string {
	x := pl.blocks[0].next
	for _, b := range blocks {
		if x == 0 || pl.blocks[x].id != b.ID {
			return fmt.Sprintf("block %s is not where it should be", b.ID)
		}
		nodes := pl.lists.of(pl.blocks[x].nodes)
		if len(nodes) != len(b.Nodes) || !reflect.DeepEqual(b.Err, pl.refused[x]) {
			return fmt.Sprintf(
				"block %s has %d nodes and error %v, want %d and %v",
				b.ID,
				len(nodes),
				pl.refused[x],
				len(b.Nodes),
				b.Err,
			)
		}
		for i, want := range b.Nodes {
			n := &pl.nodes[nodes[i]]
			have := PlanNode{
				Action:  ActReuse,
				Reason:  state.Reason{Code: state.ReasonReused},
				Line:    want.Line,
				Seconds: want.Seconds,
			}
			if n.flags&flagTrace != 0 {
				have.Trace = hexDigest(&n.trace)
			}
			if open := pl.open[nodes[i]]; open != nil {
				have = *open
			} else if want.Reason.Code == state.ReasonPinned {
				have.Reason = want.Reason // which the planner does not keep
			}
			if have.Action != want.Action || have.Reason != want.Reason || have.Trace != want.Trace ||
				have.Line != want.Line ||
				have.Seconds != want.Seconds ||
				n.code != shortCode(want.Code) {
				return fmt.Sprintf(
					"node %d of block %s is to %s (%+v, trace %.8s, line %d, %g s), want %s (%+v, trace %.8s, line "+
						"%d, %g s)",
					i+1,
					b.ID,
					have.Action,
					have.Reason,
					have.Trace,
					have.Line,
					have.Seconds,
					want.Action,
					want.Reason,
					want.Trace,
					want.Line,
					want.Seconds,
				)
			}
		}
		x = pl.blocks[x].next
	}
	if x != 0 {
		return fmt.Sprintf("block %s should not be there", pl.blocks[x].id)
	}
	return ""
}
