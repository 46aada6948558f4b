package artifact

import (
	"path"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// link is one dependency of a node on another.
type link struct {
	query.Via
	evidence string // observed or predicted
}

// trailOf returns the observed dependencies of the nodes of a program that ran.
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

// trail holds the last writer of each key, up to a place in the program.
type trail struct {
	writers map[depgraph.Key]string
	files   map[string]string // path → the node that last wrote, made, changed or removed it
	loaded  map[string]string // module of the workspace → the node that first read its file
}

// follow returns the dependencies of a node, and records what the node wrote.
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

// above adds the nodes that made a path and the directories above it.
func (t *trail) above(name string, add func(by string, k depgraph.Key)) {
	for at := range parents.Up(name) {
		if at != "." {
			add(t.files[at], depgraph.Key("file:"+at))
		}
	}
}

// below adds the nodes that made or removed entries of a directory. They decide what a listing holds.
func (t *trail) below(name string, add func(by string, k depgraph.Key)) {
	for file, by := range t.files {
		if name == "." && !path.IsAbs(file) || strings.HasPrefix(file, strings.TrimSuffix(name, "/")+"/") {
			add(by, depgraph.Key("file:"+file))
		}
	}
}

// wrote is what a program last wrote to a file of the workspace, and the node that did.
func wrote(snap *query.Snapshot, path string) (d state.Digest, by string) {
	for _, b := range snap.Blocks {
		for _, n := range b.Nodes {
			for _, w := range n.Writes {
				if w.Key == depgraph.Key("file:"+path) {
					d, by = w.Digest, n.Name
				}
			}
		}
	}
	return d, by
}
