package depgraph

import (
	"fmt"
	"slices"
	"strings"
)

// Text returns the graph for a terminal: each node in program order, and below it what it depends on and for what.
// Dependencies that were observed or predicted alone say so, where the others are both.
func (g *Graph) Text() string {
	var b strings.Builder
	for _, id := range g.ids {
		fmt.Fprintf(&b, "%s\n", oneLine(string(id)))
		var order []NodeID
		about := map[NodeID][]string{}
		for _, e := range g.edges {
			if e.To != id {
				continue
			}
			if about[e.From] == nil {
				order = append(order, e.From)
			}
			if text := edgeText(e); !slices.Contains(about[e.From], text) {
				about[e.From] = append(about[e.From], text)
			}
		}
		for _, from := range order {
			fmt.Fprintf(&b, "  ← %s: %s\n", oneLine(string(from)), oneLine(strings.Join(about[from], ", ")))
		}
	}
	return b.String()
}

// edgeText says what an edge is about, and how it is known.
func edgeText(e Edge) string {
	text := string(e.Key)
	switch {
	case e.Hazard != Flow:
		return text + " (order)"
	case e.Basis == Predicted:
		return text + " (predicted)"
	case e.Basis == Observed:
		return text + " (observed)"
	}
	return text
}

// oneLine returns a text without control characters.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}
