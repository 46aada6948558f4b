package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/patch/syntax"
	"github.com/xstate-engine/xstate/runner"
)

// BenchmarkLive times one more trivial block in a session that stays open: the edit and the run, both on disk, and how
// much of that had passed when the block's output was known. The program has 50 to 100 blocks. In "frame" it has
// imported pandas and holds a frame of 200 MB, which took a second to make.
func BenchmarkLive(b *testing.B) {
	frame := "# %% frame\nimport time\nimport numpy as np\nimport pandas as pd\ntime.sleep(1)\n" +
		"df = pd.DataFrame({f'c{i}': np.arange(2_500_000) * 1.5 + i for i in range(10)})\n"
	for name, first := range map[string]string{"plain": "# %% frame\ndf = [1]\n", "frame": frame} {
		b.Run(name, func(b *testing.B) {
			s := newSession(b)
			if needs([]byte(first), s.SessionOptions.Python) {
				b.Skip("no pandas")
			}
			for i := range 49 {
				first += fmt.Sprintf("\n# %%%% v%d\nv%d = [%d]\n", i, i, i)
			}
			s.run(first)
			var all, edits, results []float64
			for n := 0; b.Loop(); n++ {
				for i := range 50 {
					at, edited, result := s.append(fmt.Sprintf("n%d", i), fmt.Sprintf("print(%d)\n", n*50+i))
					all, edits, results = append(all, at), append(edits, edited), append(results, result)
				}
				s.run(first)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(all)*1000, "p50-ms")
			b.ReportMetric(median(edits)*1000, "edit-ms")
			b.ReportMetric(median(results)*1000, "to-output-ms")
		})
	}
}

// append adds a block to the end and runs the program. It returns the seconds until the run was on disk, the edit was,
// and the output was known.
func (s *session) append(id, text string) (all, edited, result float64) {
	s.b.Helper()
	ctx, began := context.Background(), time.Now()
	block := patch.Block{ID: id, Source: text, Dialect: syntax.Python}
	if _, err := s.Append(ctx, block, "", xstate.Origin{}); err != nil {
		s.b.Fatal(err)
	}
	edited = time.Since(began).Seconds()
	out, _, err := s.Run(ctx, runner.RunOptions{}, xstate.Origin{})
	if err != nil {
		s.b.Fatal(err)
	}
	return time.Since(began).Seconds(), edited, edited + out.ResultSeconds
}

// BenchmarkLiveColumns times an edit of a block in the middle of the program of BenchmarkColumns, in a session that
// stays open, against the time that the blocks that run take themselves.
func BenchmarkLiveColumns(b *testing.B) {
	for name, oneFrame := range map[string]bool{"frame": true, "names": false} {
		b.Run(name, func(b *testing.B) {
			s := newSession(b)
			if needs([]byte("import numpy, pandas"), s.SessionOptions.Python) {
				b.Skip("no pandas")
			}
			s.run(columnsProgram(oneFrame, columnBlocks/2, 0))
			var all, own []float64
			for n := 1; b.Loop(); n++ {
				wall, inside := s.run(columnsProgram(oneFrame, columnBlocks/2, n))
				all, own = append(all, wall), append(own, inside)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(all)*1000, "edit-ms")
			b.ReportMetric(median(own)*1000, "blocks-ms")
			b.ReportMetric(median(all)/median(own), "edit/blocks")
		})
	}
}
