package artifact

import (
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state/query"
)

// What a node rests on. The simple way, the last writers of the keys that it read, misses what a key says of another:
// whether a file is there, or what a directory lists, is made by who wrote the file; who writes a file rests on who
// made its directory, and who deletes something on who made it. TestEvidenceSlices finds such gaps: it runs what a
// slice holds, and nothing else.

// Links returns what the nodes rest on, by their names: of one that ran, what was seen; of one that did not, and where
// who wrote something has not run since, what the text says.
func (m *assessment) Links() map[string][]link {
	if m.linked != nil {
		return m.linked
	}
	m.linked = map[string][]link{}
	seen := trailOf(m.Snapshot)
	var future []query.Via // imports from __future__, which count for how all that comes after is compiled
	for i := range m.Snapshot.Blocks {
		for j := range m.Snapshot.Blocks[i].Nodes {
			n := &m.Snapshot.Blocks[i].Nodes[j]
			for _, via := range append(seen[n.Name], future...) {
				m.linked[n.Name] = append(m.linked[n.Name], link{via, depgraph.Observed.String()})
			}
			if p := m.Nodes[n.Name]; p != nil &&
				slices.ContainsFunc(p.Facts.Imports, func(x depgraph.Import) bool { return x.Module == "__future__" }) {
				future = append(future, query.Via{From: n.Name, Key: "module:__future__"})
			}
		}
	}
	for id, p := range m.Dependencies.Nodes {
		for _, e := range m.Dependencies.Graph.Preds(id) {
			if !m.counts(e) {
				continue
			}
			r := link{query.Via{From: m.Dependencies.NodeName(e.From), Key: e.Key}, depgraph.Predicted.String()}
			if e.Basis&depgraph.Observed != 0 {
				r.evidence = depgraph.Observed.String()
			}
			if !slices.ContainsFunc(m.linked[p.Name], func(x link) bool { return x.Via == r.Via }) {
				m.linked[p.Name] = append(m.linked[p.Name], r)
			}
		}
	}
	return m.linked
}

// counts reports whether an edge of the graph is one that a node rests on.
func (m *assessment) counts(e depgraph.Edge) bool {
	from, to := m.Dependencies.Nodes[e.From], m.Dependencies.Nodes[e.To]
	if e.Hazard != depgraph.Flow || from == nil || to == nil {
		return false
	}
	return to.Access.Reads == nil || e.Basis&depgraph.Observed != 0 ||
		from.Access.Writes == nil && slices.Contains(to.Access.Reads, e.Key)
}
