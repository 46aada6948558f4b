package xstate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// needs are the artifacts that one depends on: those that were declared, and those that its blocks and texts rest on, directly or
// over blocks that are in no artifact.
func (j *judge) needs(a *state.Artifact, refs []ReferenceView) []Need {
	found := []Need{}
	for _, name := range a.Needs {
		found = append(found, Need{Artifact: name, Evidence: "declared"})
	}
	own := j.within(a)
	add := func(name, evidence string, via Via) {
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
	j.backward(a, func(node string, key Key, evidence string) bool {
		owners := j.holders(node, key)
		for _, name := range owners {
			add(name, evidence, Via{From: node, Key: key})
		}
		return len(owners) > 0
	})
	for _, r := range refs {
		key := depgraph.Var(r.Name)
		if inFile(r.Where) {
			key = Key("file:" + r.Where)
		}
		for _, name := range j.holders(r.Where, key) {
			add(name, "reference", Via{From: fmt.Sprintf("%s:%d", r.File, r.Line), Key: key})
		}
	}
	return found
}

// within are the names of an artifact and of all that it contains.
func (j *judge) within(a *state.Artifact) map[string]bool {
	all := map[string]bool{a.Name: true}
	for _, name := range a.Parts {
		for inner := range j.within(j.declared.Artifact(name)) {
			all[inner] = true
		}
	}
	return all
}

// holders are the artifacts that hold the block of a node or, where a key names a file, that file.
func (j *judge) holders(node string, key Key) []string {
	id, _, _ := strings.Cut(node, "#")
	var names []string
	for _, a := range j.artifacts() {
		holds := node != "" && slices.Contains(a.Blocks, BlockID(id))
		if key.Space() == "file" {
			holds = holds || slices.ContainsFunc(a.Files, func(f state.ArtifactFile) bool { return f.Path == key.Name() })
		}
		if holds {
			names = append(names, a.Name)
		}
	}
	return names
}

// backward follows flow back from the blocks that an artifact holds itself. found is told each node that is reached, or "" for the
// workspace, and the key; where it returns true the way ends.
func (j *judge) backward(a *state.Artifact, found func(node string, key Key, evidence string) bool) {
	seen := map[string]bool{}
	var visit func(node string)
	visit = func(node string) {
		p := j.places[node]
		if seen[node] || p == nil {
			return
		}
		seen[node] = true
		for _, k := range p.access.Reads {
			if k.Space() == "file" {
				found("", k, depgraph.Observed.String())
			}
		}
		for _, r := range j.links()[node] {
			from := j.places[r.From]
			if from != nil && (slices.Contains(a.Blocks, from.block.ID) || !found(r.From, r.Key, r.evidence)) {
				visit(r.From)
			}
		}
	}
	for _, id := range a.Blocks {
		for _, node := range j.nodesOf(id) {
			visit(node)
		}
	}
}

func (j *judge) nodesOf(id BlockID) []string {
	var names []string
	for _, node := range j.deps.Graph.NodeIDs() {
		if p := j.deps.nodes[node]; p != nil && p.block.ID == id {
			names = append(names, p.name)
		}
	}
	return names
}

// lastWriter is the node that wrote a key last, "" where none did.
func (m *moment) lastWriter(key Key) (node string) {
	for _, b := range m.snap.Blocks {
		for _, n := range b.Nodes {
			if slices.ContainsFunc(n.Writes, func(w AccessView) bool { return w.Key == key }) {
				node = n.Name
			}
		}
	}
	return node
}
