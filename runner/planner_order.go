package runner

import (
	"iter"
	"math"
	"slices"

	"github.com/xstate-engine/xstate/state"
)

// The order of blocks is told by labels, so that two nodes are compared at once and an insertion changes no other's place
// (order maintenance, after Dietz and Sleator). Where there is no label left between two blocks, as many around them as it takes
// are labelled anew.

// trackedBlock is a block of a flow. The one with index 0 is the end of the ring that blocks form.
type trackedBlock struct {
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
func (pl *Planner) link(x, after uint32) {
	b := pl.blocks
	b[x].prev, b[x].next = after, b[after].next
	b[b[x].next].prev, b[after].next = x, x
	if !pl.label(x) {
		pl.spread(x)
	}
}

func (pl *Planner) unlink(x uint32) {
	b := pl.blocks
	b[b[x].prev].next, b[b[x].next].prev = b[x].next, b[x].prev
}

// upper is the label that a block after x must stay below.
func (pl *Planner) upper(x uint32) uint64 {
	if next := pl.blocks[x].next; next != 0 {
		return pl.blocks[next].label
	}
	return math.MaxUint64
}

// label gives x a label between those of its neighbours, if there is one.
func (pl *Planner) label(x uint32) bool {
	low := pl.blocks[pl.blocks[x].prev].label
	gap := pl.upper(x) - low
	pl.blocks[x].label = low + min(gap/2, labelStep)
	return gap >= 2
}

// spread labels x and as many blocks around it anew as have room between those beside them.
func (pl *Planner) spread(x uint32) {
	b := pl.blocks
	first, last, count := x, x, uint64(1)
	for width := uint64(16); ; width *= 2 {
		for ; count < width && b[first].prev != 0; count++ {
			first = b[first].prev
		}
		for ; count < 2*width && b[last].next != 0; count++ {
			last = b[last].next
		}
		low := b[b[first].prev].label // 0 for the end of the ring
		step := (pl.upper(last) - low) / (count + 1)
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
func (pl *Planner) before(x, y uint32) bool {
	a, b := &pl.nodes[x], &pl.nodes[y]
	if a.block == b.block {
		return a.at < b.at
	}
	return pl.blocks[a.block].label < pl.blocks[b.block].label
}

// search returns how many of the nodes, which are in program order, come before x.
func (pl *Planner) search(nodes []uint32, x uint32) int {
	low, high := 0, len(nodes)
	if high > 0 && pl.before(nodes[high-1], x) {
		return high
	}
	for low < high {
		mid := (low + high) / 2
		if pl.before(nodes[mid], x) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// The nodes that wait for a decision are a heap, the first of the program on top.

func (pl *Planner) push(x uint32) {
	if pl.nodes[x].flags&flagWaits != 0 {
		return
	}
	pl.nodes[x].flags |= flagWaits
	pl.work.Enqueued++
	pl.waiting = append(pl.waiting, x)
	if pl.heaped {
		pl.up(len(pl.waiting) - 1)
	}
}

func (pl *Planner) up(i int) {
	for h := pl.waiting; i > 0 && pl.before(h[i], h[(i-1)/2]); i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
}

func (pl *Planner) down(i int) {
	for h := pl.waiting; ; {
		least := 2*i + 1
		if least >= len(h) {
			return
		}
		if least+1 < len(h) && pl.before(h[least+1], h[least]) {
			least++
		}
		if !pl.before(h[least], h[i]) {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// heap makes a heap of those that wait, without nodes that are gone.
func (pl *Planner) heap() {
	kept := pl.waiting[:0]
	for _, x := range pl.waiting {
		if pl.nodes[x].flags&flagGone == 0 {
			kept = append(kept, x)
		}
	}
	pl.waiting, pl.heaped = kept, true
	for i := len(kept)/2 - 1; i >= 0; i-- {
		pl.down(i)
	}
	pl.freeNodes, pl.goneNodes = append(pl.freeNodes, pl.goneNodes...), nil
}

// pop takes the first node that waits.
func (pl *Planner) pop() uint32 {
	h := pl.waiting
	x := h[0]
	h[0] = h[len(h)-1]
	pl.waiting = h[:len(h)-1]
	pl.down(0)
	pl.nodes[x].flags &^= flagWaits
	return x
}

// sorted returns nodes in program order.
func (pl *Planner) sorted(nodes iter.Seq[uint32]) []uint32 {
	return slices.SortedFunc(nodes, func(x, y uint32) int {
		switch {
		case x == y:
			return 0
		case pl.before(x, y):
			return -1
		}
		return 1
	})
}
