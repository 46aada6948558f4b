package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// many makes programs of n blocks, by what they do. Edit numbers the texts of the block that is edited.
var many = map[string]func(n, edit int) string{
	// Each block reads the one before.
	"chain": func(n, edit int) string {
		return blocks(n, func(i int) string {
			switch i {
			case 0:
				return "x0 = 1"
			case n - 5:
				return fmt.Sprintf("x%d = %d", i, edit)
			}
			return fmt.Sprintf("x%d = x%d + 1", i, i-1)
		})
	},
	// One in ten defines a function that calls the first one, the others call it.
	"calls": func(n, edit int) string {
		return blocks(n, func(i int) string {
			switch {
			case i == 0:
				return "def f0(a):\n    return a + 1"
			case i%10 == 0:
				return fmt.Sprintf("def f%d(a):\n    return f0(a) + %d", i, i)
			case i == n-5:
				return fmt.Sprintf("x%d = f%d(%d)", i, i/10*10, n+edit)
			}
			return fmt.Sprintf("x%d = f%d(%d)", i, i/10*10, i)
		})
	},
	// Each block changes one list.
	"list": func(n, edit int) string {
		return blocks(n, func(i int) string {
			switch i {
			case 0:
				return "xs = []"
			case n - 5:
				return fmt.Sprintf("xs.append(%d)", n+edit)
			}
			return fmt.Sprintf("xs.append(%d)", i)
		})
	},
	// One in five hundred reads all names.
	"wide": func(n, edit int) string {
		var names []string
		return blocks(n, func(i int) string {
			switch {
			case i%500 == 499:
				return fmt.Sprintf("s%d = [%s]", i, strings.Join(names, ", "))
			case i == n-5:
				return fmt.Sprintf("x%d = %d", i, n+edit)
			}
			names = append(names, fmt.Sprintf("x%d", i))
			return fmt.Sprintf("x%d = %d", i, i)
		})
	},
}

func blocks(n int, text func(i int) string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "# %%%% b%d\n%s\n\n", i, text(i))
	}
	return b.String()
}

// BenchmarkBlocks times programs of many trivial blocks (XSTATE_BENCH_NODES): the first run, by the block; then, after
// an edit of one of the last blocks, a plan and a run, in a session that stays open.
func BenchmarkBlocks(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(many)) {
		for _, n := range nodeCounts(b) {
			b.Run(fmt.Sprintf("%s/n=%d", name, n), func(b *testing.B) {
				var first, edits, plans []float64
				for b.Loop() {
					s := newSessionWith(b, measuredPython(b))
					s.run("0")
					wall, _ := s.run(many[name](n, 0))
					first = append(first, wall*1000/float64(n))
					for edit := range 5 {
						plans = append(plans, s.plan(many[name](n, edit+1)))
						wall, _ := s.run(many[name](n, edit+1))
						edits = append(edits, wall*1000)
					}
					s.close()
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(median(first), "first-ms/block")
				b.ReportMetric(median(edits), "edit-ms")
				b.ReportMetric(median(plans), "plan-ms")
			})
		}
	}
}

// plan makes the program what text says and returns the milliseconds that a plan takes.
func (s *session) plan(text string) float64 {
	s.b.Helper()
	s.revise(text)
	start := time.Now()
	plan, err := s.Plan(s.b.Context(), nil)
	if err == nil {
		_, err = plan.Blocks(s.b.Context())
	}
	if err != nil {
		s.b.Fatal(err)
	}
	return milliseconds(start)
}
