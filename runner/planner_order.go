package runner

import (
	"iter"
	"math"
	"slices"

	"github.com/xstate-engine/xstate/state"
)

// Labels state the order of blocks. So two nodes are compared in constant time, and an insertion moves no other block
// (order maintenance, after Dietz and Sleator). Where no label is left between two blocks, those around them get new
// labels, as many as it takes.

// trackedBlock is a block of the planner. The blocks form a ring, whose end has the index 0.
type trackedBlock struct {
	id         state.BlockID
	label      uint64
	prev, next uint32
	nodes      list
}

const (
	labelStep = 1 << 20 // between the last block and one that is appended
	labelRoom = 1 << 8  // the least that each block has after labels were spread
)

// link inserts block x behind block after.
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

// upper returns the label that a block after x must stay below.
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

// spread gives x and blocks around it new labels. It takes as many blocks as leave labelRoom for each.
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

// The queue is a heap, with the first node of the program on top: a decision needs the nodes before it up to date.

func (pl *Planner) push(x uint32) {
	if pl.nodes[x].flags&flagQueued != 0 {
		return
	}
	pl.nodes[x].flags |= flagQueued
	pl.work.Enqueued++
	pl.queue = append(pl.queue, x)
	if pl.heaped {
		pl.up(len(pl.queue) - 1)
	}
}

func (pl *Planner) up(i int) {
	for h := pl.queue; i > 0 && pl.before(h[i], h[(i-1)/2]); i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
}

func (pl *Planner) down(i int) {
	for h := pl.queue; ; {
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

// heap makes the queue a heap, without nodes that were deleted.
func (pl *Planner) heap() {
	kept := pl.queue[:0]
	for _, x := range pl.queue {
		if pl.nodes[x].flags&flagGone == 0 {
			kept = append(kept, x)
		}
	}
	pl.queue, pl.heaped = kept, true
	for i := len(kept)/2 - 1; i >= 0; i-- {
		pl.down(i)
	}
	pl.freeNodes, pl.goneNodes = append(pl.freeNodes, pl.goneNodes...), nil
}

// pop takes the first node of the queue.
func (pl *Planner) pop() uint32 {
	h := pl.queue
	x := h[0]
	h[0] = h[len(h)-1]
	pl.queue = h[:len(h)-1]
	pl.down(0)
	pl.nodes[x].flags &^= flagQueued
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
