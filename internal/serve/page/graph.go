package page

import (
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// graphData is what the view of the dependencies shows.
type graphData struct {
	*depgraph.Drawing
	*sketch
	Total    int
	Blocks   int    // that are drawn, in groups or alone
	Focused  string // the block that is chosen
	If       string // the name, file or node that is asked about; "": the block that is chosen
	Names    []string
	Affected *affected
	Unread   bool      // blocks have not run, and what they will read is predicted
	Last     *wholeRun // from which that is completed; nil: from none
	Order    bool      // what is only about the order of effects is drawn, too
	Modules  bool      // the imported modules are
}

// graph draws what blocks read of one another and of files, and what a change would affect.
func (v *view) graph() error {
	d, err := v.snapshot()
	if err != nil {
		return err
	}
	g, err := v.graphAt(v.AtStep)
	if err != nil {
		return err
	}
	data := &graphData{Total: len(d.Blocks), Focused: v.query.Get("block"), If: v.query.Get("if"),
		Order: v.query.Has("order"), Modules: v.query.Has("modules"), Unread: !allRan(d), Last: v.wholeRunBefore(d)}
	whole := newWhole(d, g, data.Order, data.Modules)
	if data.Last != nil {
		if then, err := v.graphAt(&data.Last.Step); err == nil { // else its record is gone
			data.Last.addEdges(whole, then)
		}
	}
	for i := range d.Blocks {
		if string(d.Blocks[i].ID) == data.Focused {
			data.Names = namesOf(&d.Blocks[i])
		}
	}
	if asked := data.Asked(); asked != "" {
		if data.Affected, err = v.affectedBy(asked, d, data.Last); err != nil {
			return err
		}
	}
	around := v.query.Get("around")
	if around == "" && len(d.Blocks) > mostReadable {
		around = data.Focused
	}
	data.sketch = whole.sketch(around, v.query.Get("open"))
	for _, x := range data.sketch.nodes {
		data.Blocks += len(x.Blocks)
	}
	data.Drawing = data.sketch.draw()
	v.Name, v.Title, v.Data = "graph", "Graph", data
	return nil
}

// graphAt asks for the dependencies after a step; nil: the last.
func (v *view) graphAt(step *state.StepNumber) (*api.Graph, error) {
	return ask[api.Graph](v.r.Context(), v.p,
		&verb.Graph{InSession: verb.In(v.Session), Moment: verb.Moment{AtStep: step}})
}

// Asked is what may change: the name that is asked about, or else the chosen block.
func (g *graphData) Asked() string {
	if g.If != "" {
		return g.If
	}
	return g.Focused
}

// Reached reports whether the change that is asked about can reach a node of the drawing.
func (g *graphData) Reached(id depgraph.NodeID) bool {
	return g.Affected != nil && g.Affected.reaches(g.Node(id).Blocks)
}

// Map reports whether the drawing is so large that it has a map of itself.
func (g *graphData) Map() bool { return g.Width > 1000 || g.Height > 700 }

// mostNames is how many names of a block can be asked about.
const mostNames = 40

// namesOf are the variables that a block binds.
func namesOf(b *query.BlockView) (names []string) {
	for _, n := range b.Nodes {
		for _, w := range n.Writes {
			name, is := strings.CutPrefix(string(w.Key), "var:")
			if is && w.Digest != "" && !strings.HasPrefix(name, "_") && len(names) < mostNames {
				names = query.AppendNew(names, name)
			}
		}
	}
	return names
}
