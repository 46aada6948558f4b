package state

import (
	"fmt"
	"testing"
)

// benchStore returns an open store with a session of so many blocks, every one of them run once.
func benchStore(b *testing.B, blocks int) *Store {
	b.Helper()
	s, err := Open(ctx, storeDir(b), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	create(b, s, "s")
	var drafts []Draft
	run := Draft{Kind: KindRun, Run: &RunSummary{}}
	after := BlockID("")
	for i := range blocks {
		id := BlockID("block-" + itoa(i))
		d := insert(id, after, "x = "+itoa(i))
		drafts, after = append(drafts, d), id
		run.Changes = append(run.Changes, Change{Op: OpUpdate, Block: ranBlock(*d.Changes[0].Block, i)})
		reads, writes := []Access{{"var:x", benchCode(i)}}, []Access{{"var:y", benchCode(i)}}
		if _, err := s.PutTrace(Trace{Code: benchCode(i), Reads: reads, Writes: writes}); err != nil {
			b.Fatal(err)
		}
	}
	commit(b, s, "s", append(drafts, run)...)
	return s
}

func benchCode(i int) Digest { return DigestOf([]byte(itoa(i))) }

func ranBlock(b Block, i int) *Block {
	b.Status = StatusRan
	b.Nodes = []NodeResult{
		{Code: benchCode(i), Trace: benchCode(i + 1), Status: StatusRan, Reason: Reason{Code: "new"}, Seconds: 0.25},
	}
	return &b
}

// BenchmarkCommit times a run step that changes one block, fsync included.
func BenchmarkCommit(b *testing.B) {
	for _, blocks := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprintf("blocks=%d", blocks), func(b *testing.B) {
			s := benchStore(b, blocks)
			n, _, err := s.Head(ctx, "s")
			if err != nil {
				b.Fatal(err)
			}
			block, _, err := s.BlockAt(ctx, "s", n, "block-0")
			if err != nil {
				b.Fatal(err)
			}
			start := s.bucketBytes(b, bucketSteps) + s.bucketBytes(b, bucketIndexes)
			for i := 0; b.Loop(); i++ {
				d := Draft{
					Kind:    KindRun,
					Run:     &RunSummary{Seconds: float64(i)},
					Changes: []Change{{Op: OpUpdate, Block: ranBlock(block, i)}},
				}
				if _, err := s.Commit(ctx, "s", n, []Draft{d}); err != nil {
					b.Fatal(err)
				}
				n++
			}
			b.ReportMetric(
				float64(s.bucketBytes(b, bucketSteps)+s.bucketBytes(b, bucketIndexes)-start)/float64(b.N),
				"B/step",
			)
		})
	}
}

// BenchmarkProgramAt times reading the program at a step in the middle of a long history.
func BenchmarkProgramAt(b *testing.B) {
	for _, blocks := range []int{100, 10_000} {
		s := benchStore(b, blocks)
		n, _, err := s.Head(ctx, "s")
		if err != nil {
			b.Fatal(err)
		}
		drafts := make([]Draft, 3000)
		for i := range drafts {
			drafts[i] = insert("x", "", "y = "+itoa(i))
			if i > 0 {
				drafts[i].Kind, drafts[i].Changes[0] = KindPatch, Change{
					Op:    OpUpdate,
					Block: drafts[i].Changes[0].Block,
				}
			}
		}
		commit(b, s, "s", drafts...)
		b.Run(fmt.Sprintf("blocks=%d", blocks), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if _, err := s.ProgramAt(ctx, "s", n+1+StepNumber(i*37%3000)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("oneOf=%d", blocks), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if _, _, err := s.BlockAt(ctx, "s", n+1+StepNumber(i*37%3000), "x"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpen times what a query does: open, read the program at the head and all its traces, close.
func BenchmarkOpen(b *testing.B) {
	for _, blocks := range []int{100, 10_000} {
		s := benchStore(b, blocks)
		dir := s.dir
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("blocks=%d", blocks), func(b *testing.B) {
			for b.Loop() {
				openAndRead(b, dir, blocks)
			}
		})
	}
}

func openAndRead(b *testing.B, dir string, blocks int) {
	b.Helper()
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	n, _, err := s.Head(ctx, "s")
	if err != nil {
		b.Fatal(err)
	}
	program, err := s.ProgramAt(ctx, "s", n)
	if err != nil || len(program) != blocks {
		b.Fatalf("program of %d blocks, %v", len(program), err)
	}
	for _, block := range program {
		if traces, err := s.Traces(block.Nodes[0].Code); err != nil || len(traces) != 1 {
			b.Fatalf("Traces = %v, %v", traces, err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkFork times a fork, fsync included, and reports its size on disk.
func BenchmarkFork(b *testing.B) {
	for _, blocks := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("blocks=%d", blocks), func(b *testing.B) {
			s := benchStore(b, blocks)
			n, _, err := s.Head(ctx, "s")
			if err != nil {
				b.Fatal(err)
			}
			size := func() (bytes int) {
				for _, bucket := range historyBuckets {
					bytes += s.bucketBytes(b, bucket)
				}
				return bytes
			}
			start := size()
			for i := 0; b.Loop(); i++ {
				if _, err := s.Fork(ctx, "fork"+itoa(i), "s", n, Origin{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size()-start)/float64(b.N), "B/fork")
		})
	}
}
