package replay

import (
	"context"
	"fmt"

	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

// compare finds the first node that cannot be compared, or that diverges by itself and is not reported yet. compare
// reports it and serves it its recorded result. If it returns true, the program must execute again from there: so no
// consequence passes for a cause.
func (x *replaying) compare(ctx context.Context, out *runner.Outcome) (bool, error) {
	now := map[nodeRef]*runner.NodeOutcome{}
	for i := range out.Blocks {
		for j := range out.Blocks[i].Nodes {
			now[nodeRef{out.Blocks[i].ID, j}] = &out.Blocks[i].Nodes[j]
		}
	}
	c := &comparison{replaying: x, same: map[[2]state.Digest]bool{}, holds: map[state.Digest]bool{}}
	for _, ref := range x.order {
		if x.served[ref] != nil || x.known[ref] {
			continue
		}
		rec, n := x.recorded[ref], now[ref]
		if rec.trace == nil && !rec.damaged && !rec.Status.Skipped() {
			x.serve(ref, ServedUnrecorded, nil)
			continue
		}
		d, err := c.node(ctx, ref, rec, n)
		if err != nil {
			return false, err
		}
		if d == nil {
			continue
		}
		x.known[ref] = true
		if d.Cause == causeFolder {
			x.serve(ref, ServedFolder, nil)
			return true, nil
		}
		d.Step, d.Node, d.Block = x.step.Number, rec.name, ref.block
		if n != nil {
			d.Line = n.Line
		}
		x.found.Divergences = append(x.found.Divergences, *d)
		x.serve(ref, ServedDiverged, nil)
		return true, nil
	}
	return false, nil
}

// node returns how a node diverges, or nil.
func (c *comparison) node(
	ctx context.Context,
	ref nodeRef,
	rec *recordedNode,
	n *runner.NodeOutcome,
) (*Divergence, error) {
	if rec.damaged {
		return &Divergence{
			What:   "record",
			Cause:  CauseRecord,
			Detail: fmt.Sprintf("the record of %s is damaged", rec.name),
		}, nil
	}
	if n == nil {
		return &Divergence{
			What:     "code",
			Recorded: string(rec.Code),
			Cause:    c.codeCause(),
			Detail:   "the block has other parts than were recorded: " + c.versions(),
		}, nil
	}
	if rec.Status != n.Status && (rec.Status.Skipped() || n.Status.Skipped()) {
		return &Divergence{
			What:     "status",
			Recorded: settled(rec.Status),
			Replayed: settled(n.Status),
			Cause:    CauseRecord,
			Detail:   "whether it can run differs, and nothing before it does",
		}, nil
	}
	t := n.Result()
	if t == nil || rec.trace == nil {
		return nil, nil // skipped both times
	}
	found, err := c.differences(rec, t)
	if err != nil {
		return nil, err
	}
	reads := c.inputs(rec.trace, t)
	otherCode := rec.Code != n.Code
	if len(found) == 0 && len(reads) == 0 && (!otherCode || c.otherEngine()) {
		return nil, nil
	}
	d := &Divergence{Marks: both(rec.trace.Marks, t.Marks)}
	switch {
	case len(found) > 0:
		d.What, d.Recorded, d.Replayed = found[0].what, found[0].recorded, found[0].here
	case len(reads) > 0:
		d.What, d.Recorded, d.Replayed = "read "+string(reads[0].Key), string(reads[0].Was), string(reads[0].Now)
	default:
		d.What, d.Recorded, d.Replayed = "code", string(rec.Code), string(n.Code)
	}
	return d, c.explain(ctx, ref, rec, n, d, reads)
}
