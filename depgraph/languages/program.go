package languages

import (
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
)

// InProgram returns facts with the names that they have in a program of several languages: in the space of their
// language. Each handover that a comment asks for is a node before the others.
func InProgram(f *depgraph.Facts, space string, comments []string) *depgraph.Facts {
	handovers := handovers(f, space, comments)
	if space == "" && len(handovers) == 0 {
		return f
	}
	own := *f
	own.Nodes = slices.Clone(f.Nodes)
	for i := range own.Nodes {
		if space != "" {
			inSpace(&own.Nodes[i], space)
		}
	}
	own.Nodes = append(handovers, own.Nodes...)
	return &own
}

func inSpace(n *depgraph.Node, space string) {
	for _, names := range []*[]string{&n.Defines, &n.Certain, &n.Deletes, &n.Uses, &n.Later, &n.Rebinds, &n.Mutates,
		&n.MutatesLater} {
		*names = slices.Clone(*names)
		for i, name := range *names {
			(*names)[i] = Name(space, name)
		}
	}
	n.Effects = slices.Clone(n.Effects)
	for i := range n.Effects {
		switch e := &n.Effects[i]; e.Key.Space() {
		case "env", "rng", "cwd", "conf":
			e.Key = e.Key.In(space)
		}
	}
}
