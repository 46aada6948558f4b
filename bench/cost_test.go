package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// chainLength is how many nodes an edit affects, where that does not vary.
const chainLength = 10

// BenchmarkFacts times the analysis of one block.
func BenchmarkFacts(b *testing.B) {
	s := &synthetic{TB: b, chain: chainLength}
	for i := 0; b.Loop(); i++ {
		if _, err := depgraph.Analyze([]byte(s.text(i, i)), depgraph.Python); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCost times what the engine does after an edit, in programs of several sizes.
func BenchmarkCost(b *testing.B) {
	for _, n := range nodeCounts(b) {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			s := newSynthetic(b, n, chainLength)
			ctx := context.Background()
			b.Run("commit", func(b *testing.B) {
				for b.Loop() {
					s.edit()
				}
			})
			b.Run("walk", func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					s.edit()
					b.StartTimer()
					if _, err := s.session.Plan(ctx, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("plan", func(b *testing.B) {
				s.affected()
				for b.Loop() {
					b.StopTimer()
					s.edit()
					b.StartTimer()
					s.affected()
				}
			})
			b.Run("null", func(b *testing.B) {
				for b.Loop() {
					s.affected()
				}
			})
			b.Run("lookup", func(b *testing.B) {
				code := state.DigestOf([]byte("none"))
				for b.Loop() {
					if _, err := s.store.State().Traces(code); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
