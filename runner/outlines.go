package runner

import "github.com/xstate-engine/xstate/state"

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
