package bench

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// plot is lines over a common axis, or bars where there is one place a strategy.
type plot struct {
	title, x, y string
	ticks       []string // of the x axis
	lines       []line
	low, high   float64 // of the y axis
}

// line is a strategy's medians with quartiles, one for each tick; nil where there is nothing.
type line struct {
	name   Strategy
	points []*Quartiles
}

var colours = map[Strategy]string{Scratch: "#777777", Down: "#e07b39", Names: "#b5489b", Snapshot: "#3b7dd8", Xstate: "#1a9850",
	Marimo: "#c8a415", Ipyflow: "#8c564b", Joblib: "#17a2b8", Nbclient: "#444444"}

const (
	plotWidth, plotHeight = 720, 320
	plotLeft, plotRight   = 60, 110
	plotTop, plotBottom   = 20, 50
	positions             = 5
)

// byPosition is the share of scratch's time that is saved, by where the edit is.
func (r *Report) byPosition() plot {
	p := plot{title: "Time saved against from scratch, by position of the edit", x: "position of the edit in the program", y: "saved", low: -0.25, high: 1}
	for i := range positions {
		p.ticks = append(p.ticks, fmt.Sprintf("%d-%d%%", i*100/positions, (i+1)*100/positions))
	}
	r.savings(&p, positions, func(_ *Result, x *Run) int { return min(int(x.At*positions), positions-1) })
	return p
}

// sizes bound the groups of bySize, in blocks.
var sizes = []int{8, 16, 32, 64, 128, 256, math.MaxInt}

// bySize is the same by the number of blocks.
func (r *Report) bySize() plot {
	p := plot{title: "Time saved against from scratch, by size of the program", x: "blocks of the program, at most", y: "saved", low: -0.25, high: 1}
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
	return p
}

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

// correctness is the share of edits after which a strategy is equal to scratch, by workload.
func (r *Report) correctness() plot {
	p := plot{title: "Equal to from scratch, share of edits", y: "equal", low: 0, high: 1}
	place := map[string]int{}
	for _, row := range r.Summary.Rows {
		if _, ok := place[row.Workload]; !ok {
			place[row.Workload] = len(p.ticks)
			p.ticks = append(p.ticks, row.Workload)
		}
	}
	for _, s := range r.Summary.strategies() {
		l := line{name: s, points: make([]*Quartiles, len(p.ticks))}
		for _, row := range r.Summary.Rows {
			if row.Strategy == s && row.Edits > 0 {
				share := float64(row.Equal) / float64(row.Edits)
				l.points[place[row.Workload]] = &Quartiles{share, share, share}
			}
		}
		p.lines = append(p.lines, l)
	}
	return p
}

// svg draws medians as dots on lines, quartiles as bars through them.
func (p plot) svg() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12" role="img">`+"\n", plotWidth, plotHeight, plotWidth, plotHeight)
	fmt.Fprintf(&b, `<title>%s</title><rect width="100%%" height="100%%" fill="white"/>`+"\n", html.EscapeString(p.title))
	width, height := float64(plotWidth-plotLeft-plotRight), float64(plotHeight-plotTop-plotBottom)
	y := func(v float64) float64 {
		return plotTop + height*(p.high-min(max(v, p.low), p.high))/(p.high-p.low)
	}
	x := func(i, of int) float64 {
		step := width / float64(len(p.ticks))
		return plotLeft + step*(float64(i)+0.5) + (float64(of)-float64(len(p.lines)-1)/2)*min(9, step/6)
	}
	for v := p.low; v <= p.high+1e-9; v += 0.25 {
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%.0f%%</text>`+"\n",
			plotLeft, plotWidth-plotRight, y(v), y(v), plotLeft-6, y(v)+4, v*100)
	}
	for i, tick := range p.ticks {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", plotLeft+width/float64(len(p.ticks))*(float64(i)+0.5), plotHeight-plotBottom+18, html.EscapeString(tick))
	}
	fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", plotLeft+width/2, plotHeight-10, html.EscapeString(p.x))
	for n, l := range p.lines {
		colour := colours[l.name]
		var path []string
		for i, q := range l.points {
			if q == nil {
				continue
			}
			at := x(i, n)
			path = append(path, fmt.Sprintf("%.1f,%.1f", at, y(q.Median)))
			fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="%s" stroke-width="3" stroke-opacity="0.35"/><circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>`+"\n",
				at, at, y(q.Q1), y(q.Q3), colour, at, y(q.Median), colour)
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-opacity="0.7"/>`+"\n", strings.Join(path, " "), colour)
		fmt.Fprintf(&b, `<circle cx="%d" cy="%d" r="4" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n", plotWidth-plotRight+18, plotTop+12+18*n, colour, plotWidth-plotRight+28, plotTop+16+18*n, l.name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
