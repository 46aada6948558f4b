package bench

import (
	"fmt"
	"math"
	"slices"
)

// plot draws lines over a common axis, or separate points if the ticks have no order.
type plot struct {
	title, x, y string
	ticks       []string // on the x axis
	ordered     bool     // the ticks have an order, so points are joined
	lines       []line
	scale       []axisMark // on the y axis, from its lower to its upper end
}

// axisMark is a labelled position on the y axis.
type axisMark struct {
	at   float64
	text string
}

// line holds a strategy's medians with quartiles, one for each tick; nil if there are no runs.
type line struct {
	name   Strategy
	points []*Quartiles
}

// shares returns marks at every quarter.
func shares(low, high float64) []axisMark {
	var found []axisMark
	for v := low; v <= high+1e-9; v += 0.25 {
		found = append(found, axisMark{v, fmt.Sprintf("%.0f%%", v*100)})
	}
	return found
}

const positions = 5

// byPosition plots the saved share of scratch's time by the position of the edit.
func (r *Report) byPosition() plot {
	p := plot{
		title:   "Time saved against from scratch, by position of the edit",
		x:       "position of the edit in the program",
		y:       "time saved",
		ordered: true,
		scale:   shares(-0.25, 1),
	}
	for i := range positions {
		p.ticks = append(p.ticks, fmt.Sprintf("%d-%d%%", i*100/positions, (i+1)*100/positions))
	}
	r.savings(&p, positions, func(_ *Result, x *Run) int { return min(int(x.At*positions), positions-1) })
	return p
}

// sizes are the upper bounds of the groups of bySize, in blocks.
var sizes = []int{8, 16, 32, 64, 128, 256, math.MaxInt}

// bySize plots the saved share by the number of blocks.
func (r *Report) bySize() plot {
	p := plot{
		title:   "Time saved against from scratch, by size of the program",
		x:       "blocks of the program, at most",
		y:       "time saved",
		ordered: true,
		scale:   shares(-0.25, 1),
	}
	for _, n := range sizes {
		tick := fmt.Sprint(n)
		if n == math.MaxInt {
			tick = "more"
		}
		p.ticks = append(p.ticks, tick)
	}
	r.savings(&p, len(sizes), func(p *Result, _ *Run) int {
		i := 0
		for p.Blocks > sizes[i] {
			i++
		}
		return i
	})
	p.trim()
	return p
}

// trim removes the ticks at both ends at which no line has a point.
func (p *plot) trim() {
	empty := func(i int) bool {
		return !slices.ContainsFunc(p.lines, func(l line) bool { return l.points[i] != nil })
	}
	first, last := 0, len(p.ticks)
	for first < last && empty(first) {
		first++
	}
	for last > first && empty(last-1) {
		last--
	}
	p.ticks = p.ticks[first:last]
	for i := range p.lines {
		p.lines[i].points = p.lines[i].points[first:last]
	}
}

// savings adds a line per strategy: the quartiles of saved shares, grouped by what place returns.
func (r *Report) savings(p *plot, places int, place func(*Result, *Run) int) {
	for _, s := range r.Summary.strategies() {
		groups := make([][]float64, places)
		for i := range r.Results {
			by := byVersion(&r.Results[i])
			for v, x := range by[s] {
				if v > 0 && x.Refused == "" {
					at := place(&r.Results[i], x)
					groups[at] = append(groups[at], 1-x.Seconds/by[Scratch][v].Seconds)
				}
			}
		}
		l := line{name: s}
		for _, g := range groups {
			l.points = append(l.points, quartilesOf(g))
		}
		p.lines = append(p.lines, l)
	}
}

// correctness plots the share of edits after which a strategy equals scratch, by workload.
func (r *Report) correctness() plot {
	p := plot{title: "Equal to from scratch, share of edits", y: "equal", scale: shares(0, 1)}
	r.byWorkload(&p, func(row *Row) *Quartiles {
		if row.Edits == 0 || row.Strategy == Scratch {
			return nil
		}
		share := float64(row.Equal) / float64(row.Edits)
		return &Quartiles{share, share, share}
	})
	return p
}

// times plots the time of an edit by workload, on a logarithmic axis.
func (r *Report) times() plot {
	p := plot{
		title: "Time of an edit",
		y:     "time of an edit",
		scale: []axisMark{{-3, "1 ms"}, {-2, "10 ms"}, {-1, "100 ms"}, {0, "1 s"}, {1, "10 s"}},
	}
	r.byWorkload(&p, func(row *Row) *Quartiles {
		if row.Seconds == nil {
			return nil
		}
		return &Quartiles{math.Log10(row.Seconds.Q1), math.Log10(row.Seconds.Median), math.Log10(row.Seconds.Q3)}
	})
	return p
}

// byWorkload adds a line for each strategy that has points.
func (r *Report) byWorkload(p *plot, point func(*Row) *Quartiles) {
	place := map[string]int{}
	for _, row := range r.Summary.Rows {
		if _, ok := place[row.Workload]; !ok {
			place[row.Workload] = len(p.ticks)
			p.ticks = append(p.ticks, row.Workload)
		}
	}
	for _, s := range append([]Strategy{Scratch}, r.Summary.strategies()...) {
		l := line{name: s, points: make([]*Quartiles, len(p.ticks))}
		for i := range r.Summary.Rows {
			if row := &r.Summary.Rows[i]; row.Strategy == s {
				l.points[place[row.Workload]] = point(row)
			}
		}
		if slices.ContainsFunc(l.points, func(q *Quartiles) bool { return q != nil }) {
			p.lines = append(p.lines, l)
		}
	}
}
