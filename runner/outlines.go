package runner

import (
	"context"
	"errors"
	"time"

	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// outlines are values of arrays that were not stored, without the memory of their arrays: a frame that a later node
// gave more columns has most of that memory still. Such an earlier value is made of its outline and of a copy of what
// the kernel has. Like any loaded value it is used only if it has the digests and the sharing that it had. Outlines
// live as long as the interpreter. If memory was written to or is gone, the value is computed again.
type outlines struct {
	of    map[groupDigest]outline
	bytes int
}

type outline struct {
	data  []byte // as the kernel made it
	names []string
	parts []state.Digest
	needs []state.Need
}

// outlinesMost is how many bytes outlines may take; then all are forgotten.
const outlinesMost = 64 << 20

// value returns a group as its outline describes it. It has no blob.
func (o *outlines) value(j groupDigest) (state.Value, bool) {
	x, ok := o.of[j]
	return state.Value{Group: state.Digest(j), Names: x.names, Parts: x.parts, Needs: x.needs}, ok
}

func (o *outlines) add(j groupDigest, x outline) {
	size := len(x.data) + len(x.parts)*80
	if o.of == nil || o.bytes+size > outlinesMost {
		*o = outlines{of: map[groupDigest]outline{}}
	}
	o.of[j] = x
	o.bytes += size
}

// outline keeps the outline of the values that names are bound to, if they are made of large arrays.
func (e *Engine) outline(ctx context.Context, j groupDigest, names []string) error {
	began := time.Now()
	reply, err := e.kernel.Store(ctx, kernel.Storing{Names: names, Outline: true})
	e.ledger.outlined += time.Since(began).Seconds()
	if errors.Is(err, kernel.ErrDied) {
		e.dropKernel()
		return nil // the value is rebuilt when it is needed
	}
	if err != nil || !reply.Done {
		return err
	}
	x := outline{data: reply.Data, names: names}
	for _, p := range reply.Parts {
		x.parts = append(x.parts, p.Digest)
	}
	for _, need := range reply.Needs {
		e.kernelState.classes[state.Digest(need[1])] = true
		x.needs = append(x.needs, state.Need{Key: need[0], Digest: state.Digest(need[1])})
	}
	e.kernelState.outlines.add(j, x)
	return nil
}
