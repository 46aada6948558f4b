package bench

import (
	"fmt"
	"html"
	"strings"
)

var colours = map[Strategy]string{
	Scratch:  "#777777",
	Down:     "#e07b39",
	Names:    "#b5489b",
	Snapshot: "#3b7dd8",
	Xstate:   "#1a9850",
	Marimo:   "#c8a415",
	Ipyflow:  "#8c564b",
	Joblib:   "#17a2b8",
	Nbclient: "#444444",
}

const (
	plotWidth, plotHeight = 860, 340
	plotLeft, plotRight   = 80, 110
	plotTop, plotBottom   = 20, 50
)

// svg draws medians as dots and quartiles as bars through them. A median outside the axis is a ring at its end.
func (p plot) svg() string {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" `+
			`font-family="sans-serif" font-size="12" role="img">`+"\n",
		plotWidth,
		plotHeight,
		plotWidth,
		plotHeight,
	)
	fmt.Fprintf(
		&b,
		`<title>%s</title><rect width="100%%" height="100%%" fill="white"/>`+"\n",
		html.EscapeString(p.title),
	)
	p.axes(&b)
	for n, l := range p.lines {
		p.line(&b, n, l)
		fmt.Fprintf(
			&b,
			`<circle cx="%d" cy="%d" r="4" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n",
			plotWidth-plotRight+18,
			plotTop+12+18*n,
			colours[l.name],
			plotWidth-plotRight+28,
			plotTop+16+18*n,
			l.name,
		)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

const drawnWidth, drawnHeight = float64(plotWidth - plotLeft - plotRight), float64(plotHeight - plotTop - plotBottom)

// yOf is the position of a value on the y axis.
func (p plot) yOf(v float64) float64 {
	low, high := p.scale[0].at, p.scale[len(p.scale)-1].at
	return plotTop + drawnHeight*(high-min(max(v, low), high))/(high-low)
}

// xOf is the position of a tick on the x axis.
func (p plot) xOf(tick float64) float64 {
	return plotLeft + drawnWidth/float64(len(p.ticks))*(tick+0.5)
}

func (p plot) axes(b *strings.Builder) {
	for _, m := range p.scale {
		fmt.Fprintf(
			b,
			`<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="%d" y="%.1f" `+
				`text-anchor="end">%s</text>`+"\n",
			plotLeft,
			plotWidth-plotRight,
			p.yOf(m.at),
			p.yOf(m.at),
			plotLeft-6,
			p.yOf(m.at)+4,
			m.text,
		)
	}
	for i, tick := range p.ticks {
		fmt.Fprintf(
			b,
			`<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			p.xOf(float64(i)),
			plotHeight-plotBottom+18,
			html.EscapeString(tick),
		)
		if !p.ordered && i > 0 {
			fmt.Fprintf(
				b,
				`<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#eee"/>`+"\n",
				p.xOf(float64(i)-0.5),
				p.xOf(float64(i)-0.5),
				plotTop,
				plotHeight-plotBottom,
			)
		}
	}
	fmt.Fprintf(
		b,
		`<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
		plotLeft+drawnWidth/2,
		plotHeight-10,
		html.EscapeString(p.x),
	)
	fmt.Fprintf(
		b,
		`<text transform="translate(16 %.1f) rotate(-90)" text-anchor="middle">%s</text>`+"\n",
		plotTop+drawnHeight/2,
		html.EscapeString(p.y),
	)
}

func (p plot) line(b *strings.Builder, n int, l line) {
	colour := colours[l.name]
	var path []string
	for i, q := range l.points {
		if q == nil {
			continue
		}
		step := drawnWidth / float64(len(p.ticks))
		x, y := p.xOf(
			float64(i),
		)+(float64(n)-float64(len(p.lines)-1)/2)*min(
			9,
			step*0.8/float64(len(p.lines)),
		), p.yOf(
			q.Median,
		)
		path = append(path, fmt.Sprintf("%.1f,%.1f", x, y))
		fill := colour
		if q.Median < p.scale[0].at || q.Median > p.scale[len(p.scale)-1].at {
			fill = "white"
		}
		fmt.Fprintf(
			b,
			`<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="%s" stroke-width="3" `+
				`stroke-opacity="0.35"/><circle cx="%.1f" cy="%.1f" r="4" fill="%s" stroke="%s" `+
				`stroke-width="1.5"/>`+"\n",
			x,
			x,
			p.yOf(q.Q1),
			p.yOf(q.Q3),
			colour,
			x,
			y,
			fill,
			colour,
		)
	}
	if p.ordered {
		fmt.Fprintf(
			b,
			`<polyline points="%s" fill="none" stroke="%s" stroke-opacity="0.7"/>`+"\n",
			strings.Join(path, " "),
			colour,
		)
	}
}
