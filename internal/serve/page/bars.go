package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xstate-engine/xstate/state/inspect"
)

// bars are a histogram as SVG: rectangles without a style of their own, since the policy forbids inline styles.
type bars struct {
	Label     string // what the picture shows, for those who do not see it
	Low, High string // the ends; "": they are too long, and the summary has them
	Bars      []bar
}

type bar struct{ X, Y, Width, Height string }

// The size of the drawing, in its own units.
const (
	barsWide = 120
	barsHigh = 28
	leastBar = 1.5 // for a bin that is not empty
	besides  = 20  // characters that fit below the drawing
)

// barsOf draws a histogram; nil if it counts nothing.
func barsOf(h *inspect.Histogram) *bars {
	if len(h.Counts) == 0 {
		return nil
	}
	most := slices.Max(h.Counts)
	if most <= 0 {
		return nil
	}
	low, high := shortNumber(h.Low), shortNumber(h.High)
	b := &bars{}
	if len(low)+len(high) <= besides {
		b.Low, b.High = low, high
	}
	counts := make([]string, 0, len(h.Counts))
	width := float64(barsWide) / float64(len(h.Counts))
	coordinate := func(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }
	for i, n := range h.Counts {
		counts = append(counts, strconv.FormatInt(n, 10))
		if n <= 0 {
			continue
		}
		high := max(leastBar, float64(n)/float64(most)*barsHigh)
		b.Bars = append(b.Bars, bar{
			coordinate(float64(i) * width), coordinate(barsHigh - high), coordinate(width * .9), coordinate(high),
		})
	}
	b.Label = fmt.Sprintf("histogram from %s to %s, %d bins: %s", low, high, len(counts), strings.Join(counts, ", "))
	return b
}

// digits is how many significant digits of a number a page shows.
const digits = 6

// shortNumber is a number with a fraction in few digits; another text as it is.
func shortNumber(text string) string {
	if !strings.ContainsAny(text, ".e") {
		return text
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	short := strconv.FormatFloat(x, 'g', digits, 64)
	if len(short) >= len(text) {
		return text
	}
	return short
}
