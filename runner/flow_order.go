package runner

import (
	"math"
	"slices"

	"github.com/xstate-engine/xstate/state"
)

// The order of blocks is told by labels, so that two nodes are compared at once and an insertion changes no other's place
// (order maintenance, after Dietz and Sleator). Where there is no label left between two blocks, as many around them as it takes
// are labelled anew.

// flowBlock is a block of a flow. The one with index 0 is the end of the ring that blocks form.
type flowBlock struct {
	id         state.BlockID
	label      uint64
	prev, next uint32
	nodes      list
}

const (
	labelStep = 1 << 20 // between a block and one that is put behind it at the end
	labelRoom = 1 << 8  // that each block has at least where labels were spread
)

// link puts block x behind block after.
func (f *Flow) link(x, after uint32) {
	b := f.blocks
	b[x].prev, b[x].next = after, b[after].next
	b[b[x].next].prev, b[after].next = x, x
	if !f.label(x) {
		f.spread(x)
	}
}

func (f *Flow) unlink(x uint32) {
	b := f.blocks
	b[b[x].prev].next, b[b[x].next].prev = b[x].next, b[x].prev
}

// upper is the label that a block after x must stay below.
func (f *Flow) upper(x uint32) uint64 {
	if next := f.blocks[x].next; next != 0 {
		return f.blocks[next].label
	}
	return math.MaxUint64
}

// label gives x a label between those of its neighbours, if there is one.
func (f *Flow) label(x uint32) bool {
	low := f.blocks[f.blocks[x].prev].label
	gap := f.upper(x) - low
	f.blocks[x].label = low + min(gap/2, labelStep)
	return gap >= 2
}

// spread labels x and as many blocks around it anew as have room between those beside them.
func (f *Flow) spread(x uint32) {
	b := f.blocks
	first, last, count := x, x, uint64(1)
	for width := uint64(16); ; width *= 2 {
		for ; count < width && b[first].prev != 0; count++ {
			first = b[first].prev
		}
		for ; count < 2*width && b[last].next != 0; count++ {
			last = b[last].next
		}
		low := b[b[first].prev].label // 0 for the end of the ring
		step := (f.upper(last) - low) / (count + 1)
		if step < labelRoom && count >= width {
			continue
		}
		for at, label := first, low; ; at = b[at].next {
			label += step
			b[at].label = label
			if at == last {
				return
			}
		}
	}
}

// before reports whether node x comes before node y.
func (f *Flow) before(x, y uint32) bool {
	a, b := &f.nodes[x], &f.nodes[y]
	if a.block == b.block {
		return a.at < b.at
	}
	return f.blocks[a.block].label < f.blocks[b.block].label
}

// search returns how many of the nodes, which are in program order, come before x.
func (f *Flow) search(nodes []uint32, x uint32) int {
	low, high := 0, len(nodes)
	if high > 0 && f.before(nodes[high-1], x) {
		return high
	}
	for low < high {
		mid := (low + high) / 2
		if f.before(nodes[mid], x) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// The nodes that wait for a decision are a heap, the first of the program on top.

func (f *Flow) push(x uint32) {
	if f.nodes[x].flags&flagWaits != 0 {
		return
	}
	f.nodes[x].flags |= flagWaits
	f.work.Enqueued++
	f.waiting = append(f.waiting, x)
	if f.heaped {
		f.up(len(f.waiting) - 1)
	}
}

func (f *Flow) up(i int) {
	for h := f.waiting; i > 0 && f.before(h[i], h[(i-1)/2]); i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
}

func (f *Flow) down(i int) {
	for h := f.waiting; ; {
		least := 2*i + 1
		if least >= len(h) {
			return
		}
		if least+1 < len(h) && f.before(h[least+1], h[least]) {
			least++
		}
		if !f.before(h[least], h[i]) {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// heap makes a heap of those that wait, without nodes that are gone.
func (f *Flow) heap() {
	kept := f.waiting[:0]
	for _, x := range f.waiting {
		if f.nodes[x].flags&flagGone == 0 {
			kept = append(kept, x)
		}
	}
	f.waiting, f.heaped = kept, true
	for i := len(kept)/2 - 1; i >= 0; i-- {
		f.down(i)
	}
	f.freeNodes, f.goneNodes = append(f.freeNodes, f.goneNodes...), nil
}

// pop takes the first node that waits.
func (f *Flow) pop() uint32 {
	h := f.waiting
	x := h[0]
	h[0] = h[len(h)-1]
	f.waiting = h[:len(h)-1]
	f.down(0)
	f.nodes[x].flags &^= flagWaits
	return x
}

// sort puts nodes in program order.
func (f *Flow) sort(nodes []uint32) {
	slices.SortFunc(nodes, func(x, y uint32) int {
		switch {
		case x == y:
			return 0
		case f.before(x, y):
			return -1
		}
		return 1
	})
}
