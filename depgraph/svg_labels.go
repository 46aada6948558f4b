package depgraph

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// The size of a character of a label.
const (
	labelWidth  = 5.6
	labelHeight = 11
)

// placedLabel is the text of an edge, and its middle.
type placedLabel struct {
	text        string
	x, y, width float64
}

// box is a part of the drawing that is taken, by its middle.
type box struct{ x, y, width, height float64 }

func (a box) touches(b box) bool {
	return 2*max(a.x-b.x, b.x-a.x) < a.width+b.width && 2*max(a.y-b.y, b.y-a.y) < a.height+b.height
}

// placeLabels puts each label on the line of its edge, at the first place that hides no node and no other label. An
// edge without such a place has none: its title names what it is about.
func (l *layout) placeLabels() (placed []placedLabel) {
	var taken []box
	for i := range l.spots {
		if s := &l.spots[i]; s.id != "" {
			taken = append(taken, box{s.x, s.y(), s.width, nodeHeight})
		}
	}
	for i := range l.edges {
		text := shortLabel(l.edges[i].labels)
		width := labelWidth * float64(utf8.RuneCountInString(text))
		for _, at := range l.along(&l.edges[i]) {
			b := box{max(at[0], width/2), at[1], width, labelHeight}
			if slices.ContainsFunc(taken, b.touches) {
				continue
			}
			taken = append(taken, b)
			placed = append(placed, placedLabel{text, b.x, b.y, width})
			break
		}
	}
	return placed
}

// along returns places on the line of an edge, those in the middle first.
func (l *layout) along(e *drawnEdge) (places [][2]float64) {
	for _, t := range []float64{0.5, 0.38, 0.62, 0.26, 0.74, 0.14, 0.86} {
		for k := range len(e.through) - 1 {
			a, b := &l.spots[e.through[k]], &l.spots[e.through[k+1]]
			from, to := a.y()+nodeHeight/2, b.y()-nodeHeight/2
			// the curve of Bézier that curve draws: its second and third points are halfway down
			u := 1 - t
			x := (u*u*u+3*u*u*t)*a.x + (3*u*t*t+t*t*t)*b.x
			y := u*u*u*from + (3*u*u*t+3*u*t*t)*(from+to)/2 + t*t*t*to
			places = append(places, [2]float64{x, y})
		}
	}
	return places
}

// shortLabel names the first thing that an edge is about, and counts the others.
func shortLabel(labels []string) string {
	text := labels[0]
	if r := []rune(text); len(r) > 24 {
		text = string(r[:23]) + "…"
	}
	if more := len(labels) - 1; more > 0 {
		text += fmt.Sprintf(" +%d", more)
	}
	return text
}
