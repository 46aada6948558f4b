package artifact

import (
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state/query"
)

// This file finds what a node depends on. The simple way takes the last writers of the keys that it read. It misses
// what one key says of another. The writer of a file decides whether the file exists and what a listing of its
// directory holds. A node that writes a file depends on the node that made the directory; a node that deletes something
// depends on the node that made it. TestEvidenceSlices finds such gaps: it runs what a slice holds, and nothing else.

// Links returns the dependencies of the nodes, by name. Of a node that ran, these are the observed ones. If the node
// did not run, or a writer of its inputs has not run since its edit, the text decides.
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

// counts reports whether an edge of the graph is a dependency of the node. Once a node ran, a predicted edge counts
// only if its writer has not run: otherwise the observation is better.
func (m *assessment) counts(e depgraph.Edge) bool {
	from, to := m.Dependencies.Nodes[e.From], m.Dependencies.Nodes[e.To]
	if e.Hazard != depgraph.Flow || from == nil || to == nil {
		return false
	}
	return to.Access.Reads == nil || e.Basis&depgraph.Observed != 0 ||
		from.Access.Writes == nil && slices.Contains(to.Access.Reads, e.Key)
}
