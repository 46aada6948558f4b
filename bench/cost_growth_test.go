package bench

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// growth collects times for plots: what costs how much, against the size of the program and against what an edit
// affects.
type growth struct{ bySize, byAffected plot }

func newGrowth() *growth {
	scale := []axisMark{
		{-5, "10 µs"},
		{-4, "100 µs"},
		{-3, "1 ms"},
		{-2, "10 ms"},
		{-1, "100 ms"},
		{0, "1 s"},
		{1, "10 s"},
	}
	return &growth{
		plot{
			title:   "What an edit that affects ten nodes costs, by size of the program",
			x:       "nodes of the program",
			y:       "time",
			ordered: true,
			scale:   scale,
		},
		plot{
			title:   "What it costs to plan after an edit, by the nodes it affects",
			x:       "nodes affected",
			y:       "time",
			ordered: true,
			scale:   scale[1:],
		},
	}
}

// add adds what was timed, in milliseconds, to the line of a name, at a tick.
func (p *plot) add(name, tick string, times []float64) {
	at := slices.Index(p.ticks, tick)
	if at < 0 {
		at = len(p.ticks)
		p.ticks = append(p.ticks, tick)
	}
	i := slices.IndexFunc(p.lines, func(l line) bool { return l.name == Strategy(name) })
	if i < 0 {
		i = len(p.lines)
		p.lines = append(p.lines, line{name: Strategy(name)})
	}
	for j := range p.lines {
		for len(p.lines[j].points) < len(p.ticks) {
			p.lines[j].points = append(p.lines[j].points, nil)
		}
	}
	for j := range times {
		times[j] = math.Log10(times[j] / 1000)
	}
	p.lines[i].points[at] = quartilesOf(times)
}

// draw writes the plots into the folder that XSTATE_BENCH_GROWTH names, if it does.
func (g *growth) draw(b *testing.B) {
	folder := os.Getenv("XSTATE_BENCH_GROWTH")
	if folder == "" {
		return
	}
	for name, p := range map[string]plot{"growth-size.svg": g.bySize, "growth-affected.svg": g.byAffected} {
		for i, l := range p.lines {
			colours[l.name] = []string{"#1a9850", "#3b7dd8", "#e07b39", "#b5489b", "#777777", "#8c6d31"}[i]
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(p.svg()), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// timed times do after prepare, in milliseconds, and reports the median.
func timed(b *testing.B, prepare, do func()) (times []float64) {
	for b.Loop() {
		b.StopTimer()
		prepare()
		b.StartTimer()
		start := time.Now()
		do()
		times = append(times, milliseconds(start))
	}
	b.ReportMetric(median(times), "p50-ms")
	return times
}
