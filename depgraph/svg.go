package depgraph

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

const svgStyle = `text { font: 12px ui-monospace, monospace; text-anchor: middle; fill: #222 }
.label { font-size: 9px; fill: #456 }
.halo { font-size: 9px; fill: none; stroke: #fff; stroke-width: 3px }
rect { fill: #eef3fa; stroke: #4a7ab5; rx: 5px }
.module rect { fill: #f6f3ea; stroke: #b59a4a }
path { fill: none; stroke: #667; stroke-width: 1.2px }
.dashed { stroke-dasharray: 5 3 }
.dotted { stroke-dasharray: 1.5 3 }
`

// maxLabels is the number of edges above which the labels of a drawing would hide each other. The title of an edge,
// which viewers show under the pointer, always names what it is about.
const maxLabels = 60

// SVG returns a drawing of the graph. Predicted flow is dashed, observed flow is solid, other edges are dotted.
func (g *Graph) SVG() string {
	l := newLayout(g)
	width, height := l.size()
	var labels []placedLabel
	if len(l.edges) <= maxLabels {
		labels = l.placeLabels()
	}
	for _, p := range labels {
		width = max(width, p.x+p.width/2+margin)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d">`+"\n",
		width, height, width, height)
	b.WriteString("<title>Dependencies</title>\n<style>\n" + svgStyle + "</style>\n" +
		`<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">` +
		`<path d="M0,0 L8,4 L0,8 z" style="fill:#667;stroke:none"/></marker></defs>` + "\n")
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" style="fill:#fff;stroke:none"/>`+"\n")
	for _, e := range l.edges {
		fmt.Fprintf(&b, `<g><title>%s</title><path class="%s" marker-end="url(#arrow)" d="%s"/></g>`+"\n",
			svgText(string(e.from)+" → "+string(e.to)+": "+strings.Join(e.labels, ", ")), e.style, l.curve(&e))
	}
	for _, id := range append(append([]NodeID{}, g.modules...), g.ids...) {
		class := "node"
		if strings.HasPrefix(string(id), "module:") {
			class = "module"
		}
		s := l.spotOf(id)
		fmt.Fprintf(&b, `<g class="%s"><title>%s</title><rect x="%.1f" y="%.1f" width="%.1f" height="%d"/>`+
			`<text x="%.1f" y="%.1f">%s</text></g>`+"\n", class, svgText(string(id)), s.x-s.width/2, s.y()-nodeHeight/2,
			s.width, nodeHeight, s.x, s.y()+4, svgText(string(id)))
	}
	for _, p := range labels {
		for _, class := range []string{"halo", "label"} { // not every viewer knows paint-order
			fmt.Fprintf(&b, `<text class="%s" x="%.1f" y="%.1f">%s</text>`+"\n", class, p.x, p.y+3, svgText(p.text))
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// size returns the room that the nodes and edges take.
func (l *layout) size() (width float64, height int) {
	width = 2 * margin
	for _, s := range l.spots {
		width = max(width, s.x+s.width/2+margin)
	}
	return width, max(0, len(l.layers)-1)*layerHeight + nodeHeight + 2*margin
}

func (l *layout) spotOf(id NodeID) *spot {
	return &l.spots[l.index[id]]
}

// curve returns the path of an edge, which passes each layer upright.
func (l *layout) curve(e *drawnEdge) string {
	var b strings.Builder
	last := &l.spots[e.through[0]]
	x, y := last.x, last.y()+nodeHeight/2
	fmt.Fprintf(&b, "M%.1f,%.1f", x, y)
	for _, i := range e.through[1:] {
		s := &l.spots[i]
		top := s.y() - nodeHeight/2
		fmt.Fprintf(&b, " C%.1f,%.1f %.1f,%.1f %.1f,%.1f", x, (y+top)/2, s.x, (y+top)/2, s.x, top)
		x, y = s.x, top
		if s.id == "" {
			y = s.y() + nodeHeight/2
			fmt.Fprintf(&b, " L%.1f,%.1f", x, y)
		}
	}
	return b.String()
}

// Drawing is a graph with a place for each node, in pixels from the top left.
type Drawing struct {
	Width, Height float64
	Nodes         []DrawnNode
	Edges         []DrawnEdge
}

// DrawnNode is a node of a drawing: a box and its top left corner.
type DrawnNode struct {
	ID                  NodeID
	X, Y, Width, Height float64
}

// DrawnEdge is all dependencies between two nodes, as one line.
type DrawnEdge struct {
	From, To NodeID
	Labels   []string // what they are about
	Style    string   // solid: observed, dashed: predicted, dotted: anti- and output dependencies
	Type     EdgeType // symbol if one of them is, else import if one is
	Path     string   // of SVG
}

// Draw places nodes, in a topological order, and the edges between them as SVG does. Sources, such as files that nodes
// read, come before all nodes; each is near the first that reads it.
func Draw(sources, nodes []NodeID, edges []Edge) *Drawing {
	all := slices.Concat(sources, nodes)
	g := &Graph{ids: nodes, modules: sources, edges: edges, index: map[NodeID]int{}, out: make([][]int, len(all))}
	for i, id := range all {
		g.index[id] = i
	}
	for i, e := range edges {
		from := g.index[e.From]
		g.out[from] = append(g.out[from], i)
	}
	l := newLayout(g)
	width, height := l.size()
	d := &Drawing{Width: width, Height: float64(height)}
	for _, id := range all {
		s := l.spotOf(id)
		d.Nodes = append(d.Nodes, DrawnNode{id, s.x - s.width/2, s.y() - nodeHeight/2, s.width, nodeHeight})
	}
	for i := range l.edges {
		e := &l.edges[i]
		d.Edges = append(d.Edges, DrawnEdge{e.from, e.to, e.labels, e.style, e.kind, l.curve(e)})
	}
	return d
}

// svgText escapes text; XML has no control characters.
func svgText(text string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0xfffe || r == 0xffff {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?")))
}
