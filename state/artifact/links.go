package artifact

import (
	"path"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// What a node rests on. The simple way, the last writers of the keys that it read, misses what a key says of another:
// whether a file is there, or what a directory lists, is made by who wrote the file; who writes a file rests on who
// made its directory, and who deletes something on who made it. TestEvidenceSlices finds such gaps: it runs what a
// slice holds, and nothing else.

// link is one way in which a node rests on another.
type link struct {
	query.Via
	evidence string // observed or predicted
}

// links returns what the nodes rest on, by their names: of one that ran, what was seen; of one that did not, and where
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

// trailOf returns what the nodes of a program that ran were seen to rest on.
func trailOf(snap *query.Snapshot) map[string][]query.Via {
	found := map[string][]query.Via{}
	t := &trail{writers: map[depgraph.Key]string{}, files: map[string]string{}, loaded: map[string]string{}}
	for i := range snap.Blocks {
		for j := range snap.Blocks[i].Nodes {
			n := &snap.Blocks[i].Nodes[j]
			found[n.Name] = t.follow(n)
		}
	}
	return found
}

// trail is who wrote what, up to a place in the program.
type trail struct {
	writers map[depgraph.Key]string
	files   map[string]string // path → who last wrote, made, changed or removed it
	loaded  map[string]string // module of the workspace → who first read its file
}

// follow returns what a node rests on, and notes what it wrote.
func (t *trail) follow(n *query.NodeView) []query.Via {
	var found []query.Via
	add := func(by string, k depgraph.Key) {
		if v := (query.Via{From: by, Key: k}); by != "" && by != n.Name && !slices.Contains(found, v) {
			found = append(found, v)
		}
	}
	for _, r := range n.Reads {
		add(t.writers[r.Key], r.Key)
		switch space, name := r.Key.Space(), r.Key.Name(); space {
		case "file", "stat", "dir", "mode", "time", "link":
			t.above(name, add)
			if space == "dir" || space == "stat" {
				t.below(name, add)
			}
		case "names": // a list of what is bound
			for k, by := range t.writers {
				if k.Space() == "var" {
					add(by, r.Key)
				}
			}
		case "held":
			add(t.loaded[name], r.Key)
		case "isset":
			add(t.writers[depgraph.Key("env:"+name)], depgraph.Key("env:"+name))
		case "env":
			add(t.writers[depgraph.Key("isset:"+name)], depgraph.Key("isset:"+name))
		}
	}
	for _, r := range n.Reads {
		if module, ok := strings.CutSuffix(r.Key.Name(), ".py"); ok && r.Key.Space() == "file" {
			module = strings.ReplaceAll(strings.TrimSuffix(module, "/__init__"), "/", ".")
			if t.loaded[module] == "" {
				t.loaded[module] = n.Name
			}
		}
	}
	for _, w := range n.Writes {
		if inFiles(w.Key) {
			t.above(path.Dir(w.Key.Name()), add)
		}
		if w.Digest == state.Absent || inFiles(w.Key) && w.Key.Space() != "file" {
			add(t.writers[w.Key], w.Key)
			add(t.files[w.Key.Name()], depgraph.Key("file:"+w.Key.Name()))
		}
	}
	for _, w := range n.Writes {
		t.writers[w.Key] = n.Name
		if inFiles(w.Key) {
			t.files[w.Key.Name()] = n.Name
		}
	}
	return found
}

func inFiles(k depgraph.Key) bool {
	switch k.Space() {
	case "file", "dir", "mode", "time", "link":
		return true
	}
	return false
}

// above adds who made a path and the directories that it lies in.
func (t *trail) above(name string, add func(by string, k depgraph.Key)) {
	for last := ""; name != last && name != "."; last, name = name, path.Dir(name) {
		add(t.files[name], depgraph.Key("file:"+name))
	}
}

// below adds who made or removed what lies in a directory.
func (t *trail) below(name string, add func(by string, k depgraph.Key)) {
	for file, by := range t.files {
		if name == "." && !path.IsAbs(file) || strings.HasPrefix(file, name+"/") {
			add(by, depgraph.Key("file:"+file))
		}
	}
}
