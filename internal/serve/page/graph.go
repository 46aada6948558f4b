package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// mostDrawn is how many blocks a drawing has at most: with more, it has the neighbourhood of one.
const mostDrawn = 400

// graphData is what the view of the dependencies shows.
type graphData struct {
	*depgraph.Drawing
	Blocks  map[string]*query.BlockView
	Total   int
	Around  string // the block whose neighbourhood is drawn; "": all are
	Lists   []dependency
	Focused string
	Unread  bool // blocks have not run, and what they will read is predicted
}

// dependency is what one block takes from another.
type dependency struct {
	From, To  string
	Keys      []string
	Predicted bool // by the source: To has not run
}

// graph draws which block read what of which other, when they last ran.
func (v *view) graph() error {
	d, err := v.snapshot()
	if err != nil {
		return err
	}
	data := &graphData{Blocks: map[string]*query.BlockView{}, Total: len(d.Blocks), Focused: v.query.Get("block")}
	for i := range d.Blocks {
		data.Blocks[string(d.Blocks[i].ID)] = &d.Blocks[i]
	}
	data.Lists = dependenciesOf(d)
	if err := v.predict(d, data); err != nil {
		return err
	}
	shown := maps.Clone(data.Blocks)
	if data.Total > mostDrawn || data.Total > 0 && v.query.Get("around") != "" {
		data.Around = cmp.Or(v.query.Get("around"), data.Focused, string(d.Blocks[0].ID))
		shown = data.around(data.Around)
	}
	var nodes []depgraph.NodeID
	for _, b := range d.Blocks {
		if shown[string(b.ID)] != nil {
			nodes = append(nodes, depgraph.NodeID(b.ID))
		}
	}
	var edges []depgraph.Edge
	for _, x := range data.Lists {
		if shown[x.From] == nil || shown[x.To] == nil {
			continue
		}
		basis := depgraph.Observed
		if x.Predicted {
			basis = depgraph.Predicted
		}
		for _, k := range x.Keys {
			edges = append(edges, depgraph.Edge{From: depgraph.NodeID(x.From), To: depgraph.NodeID(x.To),
				Type: depgraph.EdgeSymbol, Key: depgraph.Key(k), Basis: basis})
		}
	}
	data.Drawing = depgraph.Draw(nodes, edges)
	v.Name, v.Title, v.Data = "graph", "Graph", data
	return nil
}

// mostPredicted is how many blocks a program has at most of which it is asked what they will read.
const mostPredicted = 100

// predict adds what blocks that have not run will read, as far as their source shows it.
func (v *view) predict(d *query.Snapshot, g *graphData) error {
	unread := map[string]bool{}
	for _, b := range d.Blocks {
		if b.Status == "new" || b.Status == "blocked" || b.Status == "not-reached" {
			unread[string(b.ID)] = true
		}
	}
	if g.Unread = len(unread) > 0; !g.Unread || len(d.Blocks) > mostPredicted {
		return nil
	}
	for _, b := range d.Blocks {
		readers, err := ask[api.QueryDependents](v.r.Context(), v.p, &verb.Query{
			InSession: verb.In(v.Session), Moment: verb.Moment{AtStep: v.AtStep}, DependsOn: string(b.ID),
		})
		if err != nil {
			return err
		}
		for _, r := range readers.Blocks {
			if !unread[string(r.Block)] || r.Block == b.ID {
				continue
			}
			x := dependency{From: string(b.ID), To: string(r.Block), Predicted: true}
			for _, via := range r.Through {
				if blockOf(via.From) == string(b.ID) {
					x.Keys = append(x.Keys, string(via.Key))
				}
			}
			g.Lists = append(g.Lists, x)
		}
	}
	place := map[string]int{}
	for i, b := range d.Blocks {
		place[string(b.ID)] = i
	}
	slices.SortStableFunc(g.Lists, func(a, b dependency) int { return cmp.Compare(place[a.To], place[b.To]) })
	return nil
}

// dependenciesOf lists what blocks read of others, in program order.
func dependenciesOf(d *query.Snapshot) (list []dependency) {
	at := map[[2]string]int{}
	for _, b := range d.Blocks {
		for _, n := range b.Nodes {
			for _, a := range n.Reads {
				from, _, _ := strings.Cut(a.By, "#")
				if from == "" || from == string(b.ID) {
					continue
				}
				ends := [2]string{from, string(b.ID)}
				i, known := at[ends]
				if !known {
					i = len(list)
					at[ends] = i
					list = append(list, dependency{From: from, To: string(b.ID)})
				}
				if k := string(a.Key); !slices.Contains(list[i].Keys, k) {
					list[i].Keys = append(list[i].Keys, k)
				}
			}
		}
	}
	return list
}

// around returns the blocks that a block depends on, and that depend on it, in two steps each at most.
func (g *graphData) around(id string) map[string]*query.BlockView {
	found := map[string]*query.BlockView{id: g.Blocks[id]}
	for range 2 {
		near := maps.Clone(found)
		for _, x := range g.Lists {
			if len(near) >= mostDrawn {
				break
			}
			if found[x.From] != nil {
				near[x.To] = g.Blocks[x.To]
			}
			if found[x.To] != nil {
				near[x.From] = g.Blocks[x.From]
			}
		}
		found = near
	}
	maps.DeleteFunc(found, func(_ string, b *query.BlockView) bool { return b == nil })
	return found
}

// State is the status of a drawn block.
func (g *graphData) State(id depgraph.NodeID) string { return g.Blocks[string(id)].Status }

// Title says what a drawn block is.
func (g *graphData) Title(id depgraph.NodeID) string {
	b := g.Blocks[string(id)]
	line, _, _ := strings.Cut(strings.TrimSpace(b.Source), "\n")
	return fmt.Sprintf("%s: %s, %s\n%s", b.ID, b.Status, seconds(b.Seconds), line)
}

// Affected are the blocks that a change of one can reach.
func (g *graphData) Affected() []state.BlockID {
	reached := map[string]bool{g.Focused: true}
	var list []state.BlockID
	for _, x := range g.Lists { // of each block, all that it reads comes before what reads it
		if reached[x.From] && !reached[x.To] {
			reached[x.To] = true
			list = append(list, state.BlockID(x.To))
		}
	}
	return list
}
