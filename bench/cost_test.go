package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/runner"
)

// chainLength is how many nodes an edit affects, where that does not vary.
const chainLength = 10

// TestCost counts what an edit costs, in programs of several sizes. The counts are exact, and the same for each size.
func TestCost(t *testing.T) {
	for _, n := range []int{100, 1000} {
		for _, chain := range []int{10, 50} {
			t.Run(fmt.Sprintf("n=%d/affected=%d", n, chain), func(t *testing.T) {
				s := newSynthetic(t, n, chain)
				if a := s.affected(); a.Total != n || len(a.Nodes) > 0 || a.Work.Visited != n || a.Work.Compared != n {
					t.Fatalf(
						"Plan of the program = %d of %d nodes, %+v, want none of %d, each visited and "+
							"compared once",
						len(a.Nodes),
						a.Total,
						a.Work,
						n,
					)
				}
				if a := s.affected(); len(a.Nodes) > 0 || a.Work != (runner.Work{}) {
					t.Errorf("Plan again = %d nodes, %+v, want no work", len(a.Nodes), a.Work)
				}
				s.edit() // the first of a chain has no trace now; of the others, one each does not hold
				if a := s.affected(); len(a.Nodes) != chain ||
					a.Work != (runner.Work{Enqueued: chain, Visited: chain, Compared: chain - 1}) {
					t.Errorf("Plan after an edit = %d nodes, %+v, want %d", len(a.Nodes), a.Work, chain)
				}
				s.edit() // which takes it back
				if a := s.affected(); len(a.Nodes) != 0 ||
					a.Work != (runner.Work{Enqueued: chain, Visited: chain, Compared: chain}) {
					t.Errorf("Plan after it was taken back = %d nodes, %+v, want none", len(a.Nodes), a.Work)
				}
				if bytes := s.lastStep(); bytes != 479 {
					t.Errorf("the step of an edit takes %d bytes, want 479", bytes)
				}
			})
		}
	}
}

// lastStep returns how many bytes the last step takes.
func (s *synthetic) lastStep() (bytes int) {
	s.Helper()
	pasts, err := s.store.State().SessionArchives(context.Background(), "s")
	if err != nil {
		s.Fatal(err)
	}
	p := pasts[len(pasts)-1]
	p.First = p.Last
	for raw, err := range s.store.State().RawSteps(context.Background(), p) {
		if err != nil {
			s.Fatal(err)
		}
		bytes = len(raw.Header) + len(raw.Body)
	}
	return bytes
}

// BenchmarkFacts times the analysis of one block.
func BenchmarkFacts(b *testing.B) {
	s := &synthetic{TB: b, chain: chainLength}
	for i := 0; b.Loop(); i++ {
		if _, err := python.Analyze([]byte(s.text(i, i)), python.Plain); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCost times what the engine does after an edit that affects ten nodes, in programs of several sizes
// (XSTATE_BENCH_NODES), and after edits that affect more, in one of 10,000. XSTATE_BENCH_GROWTH names a folder for
// plots of that.
func BenchmarkCost(b *testing.B) {
	g := newGrowth()
	for _, n := range nodeCounts(b) {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) { g.size(b, n) })
	}
	for _, affected := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("affected=%d", affected), func(b *testing.B) {
			s := newSynthetic(b, 10_000, affected)
			s.affected()
			g.byAffected.add("plan", fmt.Sprint(affected), timed(b, s.edit, func() { s.affected() }))
		})
	}
	g.draw(b)
}

// size times a program of n nodes.
func (g *growth) size(b *testing.B, n int) {
	s := newSynthetic(b, n, chainLength)
	ctx := context.Background()
	each := func(name string, prepare, do func()) {
		b.Run(name, func(b *testing.B) {
			times := timed(b, prepare, do)
			if name != "lookup" && name != "graph" {
				g.bySize.add(name, fmt.Sprint(n), times)
			}
		})
	}
	nothing := func() {}
	s.build(b)
	each("null", nothing, func() { s.affected() })
	each("plan", s.edit, func() { s.affected() })
	each("commit", nothing, s.edit)
	i := 0
	each("lookup", func() { i = (i + 7919) % n }, func() {
		if traces, err := s.store.State().Traces(s.codes[i]); err != nil || len(traces) != 1 {
			b.Fatalf("%d traces, %v", len(traces), err)
		}
	})
	if n <= 10_000 { // to walk 100,000 takes 3 s, each time
		each("walk", s.edit, func() {
			plan, err := s.session.Plan(ctx, nil)
			if err == nil {
				_, err = plan.Blocks(ctx)
			}
			if err != nil {
				b.Fatal(err)
			}
		})
		blocks := s.facts()
		each("graph", nothing, func() { depgraph.Build(blocks) })
	}
	null := s.settle()
	each("restart", s.close, null)
	each("cold", func() { s.close(); s.forget() }, null)
}

// build times the first plan of what is affected, and reports what it keeps; once, however often the others are timed.
func (s *synthetic) build(b *testing.B) {
	empty := heap()
	// which reads where the blocks are
	if _, err := s.store.State().LastBlock(context.Background(), "s", s.head); err != nil {
		b.Fatal(err)
	}
	before, start := heap(), time.Now()
	s.affected()
	took, after := time.Since(start), heap()
	b.Run("build", func(b *testing.B) {
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(took.Nanoseconds())/float64(s.nodes), "ns/node")
		b.ReportMetric((after-before)/float64(s.nodes), "B/node")
		b.ReportMetric((before-empty)/float64(s.nodes), "index-B/block")
	})
}

// heap returns the bytes that are in use.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// settle returns a run that has nothing to do, of a file, in a process that has just begun: opening the store is part
// of it.
func (s *synthetic) settle() func() {
	s.Helper()
	if s.edits%2 == 1 {
		s.edit()
	}
	data, ctx := s.file(), context.Background()
	for range 2 { // the first records that blocks which were edited are as they were
		if edits, err := s.session.LoadFile(ctx, "program.py", data, xstate.Origin{}); err != nil || len(edits) > 0 {
			s.Fatalf("the file is another program: %d edits, %v", len(edits), err)
		}
		out, _, err := s.session.Run(ctx, runner.RunOptions{}, xstate.Origin{})
		if err != nil {
			s.Fatal(err)
		}
		if len(out.Blocks) != s.nodes || out.Seconds > 0 {
			s.Fatalf("%d blocks of %d, %g s executed", len(out.Blocks), s.nodes, out.Seconds)
		}
	}
	return func() {
		s.open()
		if _, ok, err := s.session.RunIfChanged(ctx, "program.py", data, xstate.Origin{}); err != nil || !ok {
			s.Fatalf("the program is not settled: %v", err)
		}
	}
}

// dropCache takes a file out of the memory of the system, where that is known how.
var dropCache = func(*os.File) error { return nil }

// forget makes a store that is closed one that nobody has looked at since the machine was started.
func (s *synthetic) forget() {
	s.Helper()
	for _, name := range []string{"history", "results"} {
		f, err := os.OpenFile(filepath.Join(s.dir, name+".db"), os.O_RDWR, 0)
		if err != nil {
			s.Fatal(err)
		}
		err = errors.Join(f.Sync(), dropCache(f), f.Close(), os.Remove(filepath.Join(s.dir, name+".sound")))
		if err != nil {
			s.Fatal(err)
		}
	}
}

// facts are what the text of the program says.
func (s *synthetic) facts() (blocks []depgraph.BlockFacts) {
	s.Helper()
	for i := range s.nodes {
		facts, err := python.Analyze([]byte(s.text(i, 1)), python.Plain)
		if err != nil {
			s.Fatal(err)
		}
		blocks = append(blocks, depgraph.BlockFacts{ID: strconv.Itoa(i), Facts: facts})
	}
	return blocks
}

// BenchmarkNullProcess times whole processes: a run that has nothing to do of a program of 1,000 blocks, against
// "xstate version".
func BenchmarkNullProcess(b *testing.B) {
	bed := newBed(b)
	s := &synthetic{chain: chainLength, nodes: 1000}
	bed.write("program.py", s.file())
	for range 2 {
		bed.run(bed.xstate, "run", "program.py")
	}
	started := bed.started()
	times := map[string][]time.Duration{}
	for b.Loop() {
		for _, args := range [][]string{{"version"}, {"run", "program.py"}} {
			_, took := bed.run(bed.xstate, args...)
			times[args[0]] = append(times[args[0]], took)
		}
	}
	if n := bed.started() - started; n > 0 {
		b.Errorf("the interpreter was started %d times", n)
	}
	if _, err := os.Stat(filepath.Join(bed.folder, xstate.StoreName)); err != nil {
		b.Fatal(err)
	}
	bed.report([]string{"version", "run"}, times)
}
