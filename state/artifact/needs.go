package artifact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// needs are the artifacts that an artifact depends on: the declared ones, and those that its blocks and texts depend
// on, directly or through blocks that belong to no artifact.
func (m *assessment) needs(a *state.Artifact, refs []ReferenceView) []Need {
	found := []Need{}
	for _, name := range a.Needs {
		found = append(found, Need{Artifact: name, Evidence: "declared"})
	}
	own := m.Within(a)
	add := func(name, evidence string, via query.Via) {
		if own[name] {
			return
		}
		at := slices.IndexFunc(found, func(n Need) bool { return n.Artifact == name })
		if at < 0 {
			at, found = len(found), append(found, Need{Artifact: name, Evidence: evidence})
		}
		if n := &found[at]; !slices.Contains(n.Through, via) {
			if n.Evidence == depgraph.Predicted.String() {
				n.Evidence = evidence
			}
			n.Through = append(n.Through, via)
		}
	}
	m.backward(a, func(node string, key depgraph.Key, evidence string) bool {
		owners := m.holders(node, key)
		for _, name := range owners {
			add(name, evidence, query.Via{From: node, Key: key})
		}
		return len(owners) > 0
	})
	for _, r := range refs {
		key := depgraph.Var(r.Name)
		if InFile(r.Where) {
			key = depgraph.Key("file:" + r.Where)
		}
		for _, name := range m.holders(r.Where, key) {
			add(name, "reference", query.Via{From: fmt.Sprintf("%s:%d", r.File, r.Line), Key: key})
		}
	}
	return found
}

// Within are the names of an artifact and of all that it contains.
func (m *assessment) Within(a *state.Artifact) map[string]bool {
	all := map[string]bool{a.Name: true}
	for _, name := range a.Parts {
		for inner := range m.Within(m.Declared.Artifact(name)) {
			all[inner] = true
		}
	}
	return all
}

// holders are the artifacts that contain the block of a node or, if a key names a file, that file.
func (m *assessment) holders(node string, key depgraph.Key) []string {
	id, _, _ := strings.Cut(node, "#")
	var names []string
	for _, a := range m.artifacts() {
		holds := node != "" && slices.Contains(a.Blocks, state.BlockID(id))
		if key.Space() == "file" {
			holds = holds ||
				slices.ContainsFunc(a.Files, func(f state.ArtifactFile) bool { return f.Path == key.Name() })
		}
		if holds {
			names = append(names, a.Name)
		}
	}
	return names
}

// backward follows flow back from the blocks that an artifact itself contains. It calls found with each node that it
// reaches, or "" for the workspace, and with the key. If found returns true, backward does not follow that way further:
// what lies behind another artifact is a need of that one.
func (m *assessment) backward(a *state.Artifact, found func(node string, key depgraph.Key, evidence string) bool) {
	seen := map[string]bool{}
	var visit func(node string)
	visit = func(node string) {
		p := m.Nodes[node]
		if seen[node] || p == nil {
			return
		}
		seen[node] = true
		for _, k := range p.Access.Reads {
			if k.Space() == "file" {
				found("", k, depgraph.Observed.String())
			}
		}
		for _, r := range m.Links()[node] {
			from := m.Nodes[r.From]
			if from != nil && (slices.Contains(a.Blocks, from.Block.ID) || !found(r.From, r.Key, r.evidence)) {
				visit(r.From)
			}
		}
	}
	for _, id := range a.Blocks {
		for _, node := range m.NodesOf(id) {
			visit(node)
		}
	}
}

func (m *assessment) NodesOf(id state.BlockID) []string {
	var names []string
	for _, node := range m.Dependencies.Graph.NodeIDs() {
		if p := m.Dependencies.Nodes[node]; p != nil && p.Block.ID == id {
			names = append(names, p.Name)
		}
	}
	return names
}

// LastWriter is the node that wrote a key last, "" where none did.
func (m *assessment) LastWriter(key depgraph.Key) (node string) {
	for _, b := range m.Snapshot.Blocks {
		for _, n := range b.Nodes {
			if slices.ContainsFunc(n.Writes, func(w query.AccessView) bool { return w.Key == key }) {
				node = n.Name
			}
		}
	}
	return node
}

// Need is an artifact that another depends on.
type Need struct {
	Artifact string `json:"artifact"`
	// "declared"; else "observed" in executions, "predicted" from the text, or "reference": a text mentions it.
	Evidence string      `json:"evidence"`
	Through  []query.Via `json:"through,omitempty"` // how, where that was inferred
}
