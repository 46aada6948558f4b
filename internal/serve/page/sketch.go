package page

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

const (
	mostReadable = 120 // blocks that are drawn alone; of more, most are drawn in groups
	mostGroups   = 40  // into which a program is divided
	mostFiles    = 40  // files that are drawn alone; of more, those of a folder are one
	mostNear     = 120 // blocks that are drawn of the neighbourhood of one
)

// whole is what blocks depend on, of a whole program.
type whole struct {
	blocks  []query.BlockView
	place   map[string]int // where a block is in the program
	edges   []edge         // between blocks, and from modules, files and to files
	sources []string       // files that blocks read and no block wrote, and modules
	results []string       // files that blocks wrote
}

// edge is a dependency between two nodes of a sketch.
type edge struct {
	from, to string // a block, or a file or a module with its space
	kind     depgraph.EdgeType
	key      depgraph.Key
	basis    depgraph.Basis
	hazard   depgraph.Hazard
	then     state.StepNumber // the run that showed it, if the last one did not reach it
}

// newWhole collects the edges of a program. What a block that has run only may read is left out: what it read is known.
func newWhole(d *query.Snapshot, g *api.Graph, order, modules bool) *whole {
	w := &whole{blocks: d.Blocks, place: map[string]int{}}
	for i := range d.Blocks {
		w.place[string(d.Blocks[i].ID)] = i
	}
	for _, e := range g.Edges {
		x := edge{kind: e.Type, key: e.Key, basis: depgraph.Observed}
		// A module has no block.
		x.from, x.to = cmp.Or(e.From.Block(), string(e.From)), cmp.Or(e.To.Block(), string(e.To))
		if e.Hazard != depgraph.Flow.String() {
			x.hazard = depgraph.Anti
		}
		if e.Evidence == depgraph.Predicted.String() {
			x.basis = depgraph.Predicted
		}
		to, known := w.place[x.to]
		from, fromBlock := w.place[x.from]
		known = known && x.from != x.to
		surmised := x.basis == depgraph.Predicted && x.kind != depgraph.EdgeImport
		switch {
		case !known:
		case surmised && hasRun(&d.Blocks[to]) && (!fromBlock || hasRun(&d.Blocks[from])):
		case x.kind == depgraph.EdgeOrder && x.hazard != depgraph.Flow && !order:
		case fromBlock:
			w.edges = append(w.edges, x)
		case modules:
			w.sources = query.AppendNew(w.sources, x.from)
			w.edges = append(w.edges, x)
		}
	}
	w.addFiles()
	return w
}

// addFiles adds the files that blocks read and no block wrote, and those that blocks wrote.
func (w *whole) addFiles() {
	var read, wrote []edge
	for i := range w.blocks {
		id := string(w.blocks[i].ID)
		for _, n := range w.blocks[i].Nodes {
			for _, a := range n.Reads {
				if isFile(&a) && a.By == "" && !ofSystem(a.Key) {
					read = append(read, edge{to: id, key: a.Key})
				}
			}
			for _, a := range n.Writes {
				if isFile(&a) {
					wrote = append(wrote, edge{from: id, key: a.Key})
				}
			}
		}
	}
	name := namer(read)
	for _, e := range read {
		e.from = name(e.key)
		w.sources = query.AppendNew(w.sources, e.from)
		w.addFile(e)
	}
	name = namer(wrote)
	for _, e := range wrote {
		e.to = "written " + name(e.key) // a file that was read before it was written is both
		w.results = query.AppendNew(w.results, e.to)
		w.addFile(e)
	}
}

func (w *whole) addFile(e edge) {
	e.kind, e.basis = depgraph.EdgeImport, depgraph.Observed
	w.edges = append(w.edges, e)
}

// namer names the files of edges: each by its key, or by its folder if there are many.
func namer(edges []edge) func(depgraph.Key) string {
	files := map[depgraph.Key]bool{}
	for _, e := range edges {
		files[e.key] = true
	}
	if len(files) > mostFiles {
		return func(k depgraph.Key) string { return path.Dir(string(k)) + "/…" }
	}
	return func(k depgraph.Key) string { return string(k) }
}

// isFile reports whether a file that was there was read or written.
func isFile(a *query.AccessView) bool { return a.Key.Space() == "file" && a.Digest != state.Absent }

// ofSystem reports whether a file belongs to the system, such as its time zones.
func ofSystem(k depgraph.Key) bool {
	return slices.ContainsFunc([]string{"/usr/", "/etc/", "/proc/", "/sys/", "/dev/"}, func(folder string) bool {
		return strings.HasPrefix(string(k), "file:"+folder)
	})
}

// sketch is what is drawn of a program.
type sketch struct {
	nodes map[depgraph.NodeID]*sketched
	order []depgraph.NodeID // blocks and groups, and after them the files that were written
	from  []depgraph.NodeID // files and modules
	edges []depgraph.Edge
	list  []dependency

	Around string // the block whose neighbourhood is drawn; "": of all blocks
	Groups bool   // most blocks are drawn in groups
}

// sketched is a node of a sketch: one block, a group of them, or a file or a module.
type sketched struct {
	Name   string
	Blocks []*query.BlockView // none: a file or a module
	Group  string             // "": it is none
}

// dependency is what one node of a sketch takes from another.
type dependency struct {
	From, To string
	Keys     []string
	Kinds    []string
}

// sketch chooses what to draw: the neighbourhood of a block, or all blocks. Those of a large program are in groups, but
// for the group that is open.
func (w *whole) sketch(around, open string) *sketch {
	p := &sketch{nodes: map[depgraph.NodeID]*sketched{}}
	near := map[string]bool{}
	if _, known := w.place[around]; known {
		p.Around = around
		near = w.near(around)
	}
	into := map[string]depgraph.NodeID{} // what → its node
	size := 1
	if p.Around == "" && len(w.blocks) > mostReadable {
		p.Groups = true
		size = (len(w.blocks) + mostGroups - 1) / mostGroups
	}
	for at := 0; at < len(w.blocks); at += size {
		group := w.blocks[at:min(at+size, len(w.blocks))]
		name := fmt.Sprintf("%s … %s", group[0].ID, group[len(group)-1].ID)
		folded := len(group) > 1 && open != string(group[0].ID)
		for i := range group {
			b := &group[i]
			if p.Around != "" && !near[string(b.ID)] {
				continue
			}
			id, x := depgraph.NodeID(b.ID), &sketched{Name: string(b.ID)}
			if folded {
				id, x = depgraph.NodeID(name), &sketched{Name: name, Group: string(group[0].ID)}
			}
			if p.nodes[id] == nil {
				p.nodes[id] = x
				p.order = append(p.order, id)
			}
			p.nodes[id].Blocks = append(p.nodes[id].Blocks, b)
			into[string(b.ID)] = id
		}
	}
	p.addOthers(w, into)
	p.addEdges(w, into)
	return p
}

// addOthers adds the files and modules that what is drawn reads and writes.
func (p *sketch) addOthers(w *whole, into map[string]depgraph.NodeID) {
	used := map[string]bool{}
	for _, e := range w.edges {
		if into[e.from] != "" {
			used[e.to] = true
		}
		if into[e.to] != "" {
			used[e.from] = true
		}
	}
	add := func(list []string, to *[]depgraph.NodeID) {
		for _, s := range list {
			if used[s] && into[s] == "" {
				id := depgraph.NodeID(s)
				into[s] = id
				name := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(s, "written "), "file:"), "module:")
				p.nodes[id] = &sketched{Name: name}
				*to = append(*to, id)
			}
		}
	}
	add(w.sources, &p.from)
	add(w.results, &p.order)
}

// addEdges adds what the nodes depend on, once for each key.
func (p *sketch) addEdges(w *whole, into map[string]depgraph.NodeID) {
	at := map[[2]depgraph.NodeID]int{}
	known := map[depgraph.Edge]bool{}
	for _, e := range w.edges {
		from, to := into[e.from], into[e.to]
		x := depgraph.Edge{From: from, To: to, Type: e.kind, Key: e.key, Basis: e.basis, Hazard: e.hazard}
		if from == "" || to == "" || from == to || known[x] {
			continue
		}
		known[x] = true
		p.edges = append(p.edges, x)
		ends := [2]depgraph.NodeID{from, to}
		i, seen := at[ends]
		if !seen {
			i = len(p.list)
			at[ends] = i
			p.list = append(p.list, dependency{From: p.nodes[from].Name, To: p.nodes[to].Name})
		}
		p.list[i].Keys = query.AppendNew(p.list[i].Keys, string(e.key))
		p.list[i].Kinds = query.AppendNew(p.list[i].Kinds, e.text())
	}
}

// text is the kind of a dependency, and by what it is known.
func (e *edge) text() string {
	switch {
	case e.then != 0:
		return fmt.Sprintf("%s, as in the run of step %d", e.kind, e.then)
	case e.basis == depgraph.Predicted:
		return string(e.kind) + ", predicted"
	}
	return string(e.kind) + ", observed"
}

// near returns the blocks that a block depends on, and that depend on it, in two steps each at most.
func (w *whole) near(id string) map[string]bool {
	found := map[string]bool{id: true}
	for range 2 {
		var next []string
		for _, e := range w.edges {
			if e.hazard == depgraph.Flow && found[e.from] {
				next = append(next, e.to)
			}
			if e.hazard == depgraph.Flow && found[e.to] {
				next = append(next, e.from)
			}
		}
		for _, x := range next {
			if _, block := w.place[x]; block && len(found) < mostNear {
				found[x] = true
			}
		}
	}
	return found
}

func (p *sketch) draw() *depgraph.Drawing { return depgraph.Draw(p.from, p.order, p.edges) }

// Node is a node that is drawn.
func (p *sketch) Node(id depgraph.NodeID) *sketched { return p.nodes[id] }

// List are the dependencies that are drawn.
func (p *sketch) List() []dependency { return p.list }

// worst are the states of blocks, that which says most first.
var worst = []string{"failed", "blocked", "waiting", "stale", "not-reached", "new", "ran", "reused"}

// State is the state of a node: of several blocks that which says most, and file for all else.
func (x *sketched) State() string {
	for _, state := range worst {
		if slices.ContainsFunc(x.Blocks, func(b *query.BlockView) bool { return b.Status == state }) {
			return state
		}
	}
	return "file"
}

// Title says in words what a node is.
func (x *sketched) Title() string {
	switch len(x.Blocks) {
	case 0:
		return x.Name
	case 1:
		b := x.Blocks[0]
		line, _, _ := strings.Cut(strings.TrimSpace(b.Source), "\n")
		return fmt.Sprintf("%s: %s, %s\n%s", b.ID, b.Status, cmp.Or(seconds(b.Seconds), "no time recorded"), line)
	}
	took := 0.0
	counts := map[string]int{}
	for _, b := range x.Blocks {
		took += b.Seconds
		counts[b.Status]++
	}
	text := fmt.Sprintf("%s, %s", term.Plural(len(x.Blocks), "block"), seconds(took))
	for _, state := range worst {
		if counts[state] > 0 {
			text += fmt.Sprintf(", %d %s", counts[state], state)
		}
	}
	return text
}

// hasRun reports whether what a block reads is known from its execution.
func hasRun(b *query.BlockView) bool {
	return b.Status != "new" && b.Status != "blocked" && b.Status != "not-reached"
}
