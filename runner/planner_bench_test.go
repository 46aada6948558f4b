package runner

import (
	"fmt"
	"testing"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// BenchmarkInvalidate times how long it takes to find the nodes that a change of one key affects, in a program of
// 100,000: the nodes that queried for it. What is then decided about each is no part of it.
func BenchmarkInvalidate(b *testing.B) {
	const program = 100_000
	m := newMade(b, 1)
	f := m.planner
	for i := range program {
		x := f.newBlock(state.BlockID(fmt.Sprint(i)))
		f.link(x, f.blocks[0].prev)
		f.resize(x, 1)
	}
	for _, affected := range []int{10, 100, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("affected=%d", affected), func(b *testing.B) {
			k := f.key(depgraph.Var(fmt.Sprint("v", affected)))
			for i := range affected {
				f.enter(&f.keys[k].readers, uint32(1+i*(program/affected)))
			}
			for b.Loop() {
				f.requeue(k, 0, true)
				f.heap()
				b.StopTimer()
				for _, n := range f.queue {
					f.nodes[n].flags = 0
				}
				f.queue, f.heaped = f.queue[:0], false
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(affected), "ns/affected")
		})
	}
}
