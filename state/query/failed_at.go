package query

import (
	"context"
	"slices"

	"github.com/xstate-engine/xstate/state"
)

// mostReuses is how many runs that reused a failure are looked through for the one that executed it.
const mostReuses = 50

// failedAt returns the run that executed the node because of which a block fails; 0 if it is not near, or if no node
// of the block was executed. Each run records a failure anew, also one that it reused.
func (h *History) failedAt(ctx context.Context, b *state.Block) (state.StepNumber, error) {
	at := slices.IndexFunc(b.Nodes, func(n state.NodeResult) bool { return n.Status == state.StatusFailed })
	if at < 0 || b.Nodes[at].Trace == "" {
		return 0, nil
	}
	fails := b.Nodes[at].Trace
	executed := func(n state.NodeResult) bool { return n.Trace == fails && n.Reason.Code != state.ReasonReused }
	then := *b
	for range mostReuses {
		if then.RanAt == 0 {
			break
		}
		if slices.ContainsFunc(then.Nodes, executed) {
			return then.RanAt, nil
		}
		before, found, err := h.store.BlockAt(ctx, h.name, then.RanAt-1, b.ID)
		if err != nil || !found {
			return 0, err
		}
		then = before
	}
	return 0, nil
}
