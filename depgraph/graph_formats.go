package depgraph

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dominikbraun/graph"
	"github.com/dominikbraun/graph/draw"
)

// library returns the graph as a value of the graph library, which merges all dependencies between two nodes into one
// edge. Only drawing and Path use it, never a plan: at 10,000 nodes the library needs seconds for what program order
// gives for free.
func (g *Graph) library(keep func(Edge) bool) (graph.Graph[NodeID, NodeID], error) {
	out := graph.New(func(id NodeID) NodeID { return id }, graph.Directed())
	for _, id := range append(slices.Clone(g.ids), g.modules...) {
		if err := out.AddVertex(id); err != nil {
			return nil, fmt.Errorf("add node %s: %w", id, err)
		}
	}
	for _, e := range g.edges {
		if !keep(e) {
			continue
		}
		err := out.AddEdge(
			e.From,
			e.To,
			graph.EdgeAttribute("label", string(e.Key)),
			graph.EdgeAttribute("style", style(e)),
		)
		if err != nil && !errors.Is(err, graph.ErrEdgeAlreadyExists) {
			return nil, fmt.Errorf("add edge %s to %s: %w", e.From, e.To, err)
		}
	}
	return out, nil
}

func style(e Edge) string {
	switch {
	case e.Hazard != Flow:
		return "dotted"
	case e.Basis&Observed == 0:
		return "dashed"
	}
	return "solid"
}

func every(Edge) bool { return true }

func flowOnly(e Edge) bool { return e.Hazard == Flow }

// Path returns a shortest chain of flow dependencies from one node to another, both included. It is nil if there is
// none.
func (g *Graph) Path(from, to NodeID) ([]NodeID, error) {
	p, err := g.library(flowOnly)
	if err != nil {
		return nil, err
	}
	path, err := graph.ShortestPath(p, from, to)
	if errors.Is(err, graph.ErrTargetNotReachable) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("path from %s to %s: %w", from, to, err)
	}
	return path, nil
}

// DOT returns the graph in Graphviz's language. Predicted flow is dashed, observed flow is solid, other edges are
// dotted.
func (g *Graph) DOT() (string, error) {
	p, err := g.library(every)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := draw.DOT(p, &b); err != nil {
		return "", fmt.Errorf("draw: %w", err)
	}
	// The library iterates over maps. Sorting its lines makes equal graphs print equally.
	var lines []string
	for line := range strings.Lines(b.String()) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) > 2 {
		slices.Sort(lines[1 : len(lines)-1])
	}
	return strings.Join(lines, "\n") + "\n", nil
}

// Mermaid returns the graph as a Mermaid flowchart.
func (g *Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for i, id := range append(slices.Clone(g.ids), g.modules...) {
		fmt.Fprintf(&b, "  n%d[%s]\n", i, mermaidText(string(id)))
	}
	place := make(map[NodeID]int)
	for i, id := range append(slices.Clone(g.ids), g.modules...) {
		place[id] = i
	}
	for _, e := range g.edges {
		arrow := "-.->"
		if style(e) == "solid" {
			arrow = "-->"
		}
		fmt.Fprintf(&b, "  n%d %s|%s| n%d\n", place[e.From], arrow, mermaidText(label(e)), place[e.To])
	}
	return b.String()
}

func label(e Edge) string {
	if e.Hazard == Flow {
		return string(e.Key)
	}
	return e.Hazard.String() + " " + string(e.Key)
}

// mermaidText quotes text; Mermaid reads entities, not backslashes.
func mermaidText(text string) string {
	return `"` + strings.NewReplacer(`&`, "#amp;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "\n", " ").
		Replace(text) +
		`"`
}
