package depgraph

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// Lengths of a drawing, in pixels.
const (
	layerHeight = 84
	nodeHeight  = 28
	nodeGap     = 24
	margin      = 16
	charWidth   = 7.3 // in the font of nodes
	sweeps      = 12  // more of them rarely remove a crossing
)

// spot is a node of a drawing, or the place where an edge passes a layer.
type spot struct {
	id       NodeID // "" for a passing edge
	layer    int
	x, width float64 // the centre
	up, down []int   // the spots that edges connect it with, in the layers above and below
}

// drawnEdge is all dependencies between two nodes, as one line.
type drawnEdge struct {
	from, to NodeID
	labels   []string
	style    string
	kind     EdgeType
	through  []int // the spots that it passes, both ends included
}

// layout places a graph in layers, so that each edge points down (Sugiyama, Tagawa and Toda, "Methods for visual
// understanding of hierarchical system structures", 1981). A node is as far down as its longest path; an edge passes
// every layer between its ends; sweeps order each layer by the mean place of the neighbours.
type layout struct {
	spots  []spot
	index  map[NodeID]int // node → its place among spots
	layers [][]int        // spots from left to right
	edges  []drawnEdge
}

func newLayout(g *Graph) *layout {
	at := map[NodeID]int{}
	l := &layout{index: at}
	for _, id := range append(slices.Clone(g.modules), g.ids...) { // in topological order
		at[id] = len(l.spots)
		l.spots = append(l.spots, spot{id: id, width: charWidth*float64(utf8.RuneCountInString(string(id))) + 20})
	}
	l.mergeEdges(g)
	l.setLayers(g)
	l.passLayers()
	l.order()
	l.setPlaces()
	return l
}

// mergeEdges makes one line of all edges between two nodes. It is solid if one of them is, and of the type that says
// most.
func (l *layout) mergeEdges(g *Graph) {
	known := map[[2]NodeID]int{}
	for _, e := range g.edges {
		ends := [2]NodeID{e.From, e.To}
		i, ok := known[ends]
		if !ok {
			i = len(l.edges)
			known[ends] = i
			l.edges = append(l.edges, drawnEdge{from: e.From, to: e.To, style: style(e), kind: e.Type})
		}
		d := &l.edges[i]
		if text := label(e); !slices.Contains(d.labels, text) {
			d.labels = append(d.labels, text)
		}
		if e.Type == EdgeSymbol || d.kind == EdgeOrder {
			d.kind = e.Type
		}
		if s := style(e); s == "solid" || d.style == "dotted" {
			d.style = s
		}
	}
}

func (l *layout) setLayers(g *Graph) {
	at := l.index
	into := map[NodeID][]NodeID{}
	for _, e := range l.edges {
		into[e.to] = append(into[e.to], e.from)
	}
	for i := range l.spots {
		for _, from := range into[l.spots[i].id] {
			l.spots[i].layer = max(l.spots[i].layer, l.spots[at[from]].layer+1)
		}
	}
	for _, id := range g.modules { // close to their readers
		near := -1
		for _, e := range g.Succs(id) {
			if above := l.spots[at[e.To]].layer - 1; near < 0 || above < near {
				near = above
			}
		}
		l.spots[at[id]].layer = max(0, near)
	}
}

// passLayers makes a spot for each layer that an edge passes, and lists the spots of each layer.
func (l *layout) passLayers() {
	at := l.index
	for i := range l.edges {
		e := &l.edges[i]
		last := at[e.from]
		e.through = []int{last}
		for layer := l.spots[last].layer + 1; layer <= l.spots[at[e.to]].layer; layer++ {
			next := at[e.to]
			if layer < l.spots[next].layer {
				next = len(l.spots)
				l.spots = append(l.spots, spot{layer: layer, width: 4})
			}
			l.spots[last].down = append(l.spots[last].down, next)
			l.spots[next].up = append(l.spots[next].up, last)
			e.through = append(e.through, next)
			last = next
		}
	}
	for i, s := range l.spots {
		for len(l.layers) <= s.layer {
			l.layers = append(l.layers, nil)
		}
		l.layers[s.layer] = append(l.layers[s.layer], i)
	}
}

// order sweeps down and up and keeps the order with the fewest crossings.
func (l *layout) order() {
	best, least := l.cloned(), l.crossings()
	for n := range sweeps {
		place := l.places()
		for k := range l.layers {
			down := n%2 == 0
			if !down {
				k = len(l.layers) - 1 - k
			}
			mean := map[int]float64{}
			for _, i := range l.layers[k] {
				near := l.spots[i].up
				if !down {
					near = l.spots[i].down
				}
				mean[i] = place[i]
				if len(near) > 0 {
					mean[i] = 0
				}
				for _, j := range near {
					mean[i] += place[j] / float64(len(near))
				}
			}
			slices.SortStableFunc(l.layers[k], func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
			for p, i := range l.layers[k] {
				place[i] = relative(p, len(l.layers[k]))
			}
		}
		if c := l.crossings(); c < least {
			best, least = l.cloned(), c
		}
	}
	l.layers = best
}

func (l *layout) cloned() [][]int {
	var all [][]int
	for _, layer := range l.layers {
		all = append(all, slices.Clone(layer))
	}
	return all
}

// places are those of spots in their layers, from 0 to 1, so that layers of different lengths compare.
func (l *layout) places() []float64 {
	place := make([]float64, len(l.spots))
	for _, layer := range l.layers {
		for p, i := range layer {
			place[i] = relative(p, len(layer))
		}
	}
	return place
}

func relative(p, n int) float64 { return (float64(p) + 0.5) / float64(n) }

// crossings counts the pairs of lines that cross between layers: inversions, by a sum over a binary indexed tree.
func (l *layout) crossings() int {
	total := 0
	at := make([]int, len(l.spots))
	for _, layer := range l.layers {
		for p, i := range layer {
			at[i] = p
		}
	}
	for k, layer := range l.layers[:max(0, len(l.layers)-1)] {
		tree := make([]int, len(l.layers[k+1])+1)
		seen := 0
		for _, i := range layer {
			var ends []int
			for _, j := range l.spots[i].down {
				ends = append(ends, at[j])
			}
			for _, e := range ends {
				left := 0
				for n := e + 1; n > 0; n -= n & -n {
					left += tree[n]
				}
				total += seen - left
			}
			for _, e := range ends {
				for n := e + 1; n < len(tree); n += n & -n {
					tree[n]++
				}
				seen++
			}
		}
	}
	return total
}

// setPlaces moves spots toward their neighbours, as far as the spots beside them allow.
func (l *layout) setPlaces() {
	for _, layer := range l.layers {
		l.settle(layer, func(int) float64 { return 0 })
	}
	for n := range 2 * sweeps {
		for k := range l.layers {
			down := n%2 == 0
			if !down {
				k = len(l.layers) - 1 - k
			}
			l.settle(l.layers[k], func(i int) float64 {
				near := l.spots[i].up
				if !down {
					near = l.spots[i].down
				}
				if len(near) == 0 {
					return l.spots[i].x
				}
				sum := 0.0
				for _, j := range near {
					sum += l.spots[j].x
				}
				return sum / float64(len(near))
			})
		}
	}
	l.closeGaps()
}

// closeGaps moves spots to the left where a strip of the drawing holds nothing, as between parts that are not
// connected.
func (l *layout) closeGaps() {
	order := make([]int, len(l.spots))
	for i := range order {
		order[i] = i
	}
	left := func(i int) float64 { return l.spots[i].x - l.spots[i].width/2 }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(left(a), left(b)) })
	shift, right := 0.0, 0.0
	for n, i := range order {
		if free := left(i) - shift - right; n == 0 {
			shift = left(i) - margin
		} else if free > 2*nodeGap {
			shift += free - 2*nodeGap
		}
		l.spots[i].x -= shift
		right = max(right, l.spots[i].x+l.spots[i].width/2)
	}
}

// settle gives the spots of a layer the places that they want, with gaps between them: the mean of two packings, from
// the left and from the right.
func (l *layout) settle(layer []int, want func(int) float64) {
	left, right := make([]float64, len(layer)), make([]float64, len(layer))
	apart := func(p int) float64 { // the distance of spots p and p+1
		return (l.spots[layer[p]].width+l.spots[layer[p+1]].width)/2 + nodeGap
	}
	for p, i := range layer {
		left[p] = want(i)
		right[p] = left[p]
		if p > 0 {
			left[p] = max(left[p], left[p-1]+apart(p-1))
		}
	}
	for p := len(layer) - 2; p >= 0; p-- {
		right[p] = min(right[p], right[p+1]-apart(p))
	}
	for p, i := range layer {
		l.spots[i].x = (left[p] + right[p]) / 2
	}
}

// y is the middle of a spot.
func (s *spot) y() float64 { return margin + nodeHeight/2 + float64(s.layer)*layerHeight }
