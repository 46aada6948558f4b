package runner

import (
	"context"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// Preparation estimates how long a new interpreter takes until it can execute what runs: start is its start, and
// imports is the recorded cost of the reused imports that it repeats. These are the imports of the packages that the
// nodes that run read when they last ran, and that the values of the names in their text come from. The time to load
// values from the store is not known beforehand.
func (p *Plan) Preparation(ctx context.Context) (start, imports float64, err error) {
	blocks, err := p.Blocks(ctx)
	if err != nil {
		return 0, 0, err
	}
	runs := false
	made := map[string][]depgraph.Key{} // name → packages that the node that bound it read
	needed, there := map[depgraph.Key]bool{}, map[depgraph.Key]bool{}
	for _, b := range blocks {
		for i := range b.Nodes {
			n := &b.Nodes[i]
			packages := packagesOf(n.Last)
			switch n.Action {
			case ActReuse:
				for _, a := range writesOf(n.Last) {
					if a.Key.Space() == "var" {
						made[a.Key.Name()] = packages
					}
				}
			case ActRun, ActMaybe:
				runs = true
				if n.Facts.Kind == depgraph.KindImport {
					for _, k := range packages {
						there[k] = true
					}
					continue
				}
				for _, name := range n.Facts.Uses {
					packages = append(packages, made[name]...)
				}
				for _, k := range packages {
					needed[k] = true
				}
			}
		}
	}
	if !runs {
		return 0, 0, nil
	}
	for _, b := range slices.Backward(blocks) { // an import of pandas needs that of numpy, which comes before it
		for i := range slices.Backward(b.Nodes) {
			n := &b.Nodes[i]
			packages := packagesOf(n.Last)
			wanted := func(k depgraph.Key) bool { return needed[k] && !there[k] }
			if n.Action == ActReuse && n.Facts.Kind == depgraph.KindImport && slices.ContainsFunc(packages, wanted) {
				imports += n.Seconds
				for _, k := range packages {
					needed[k] = true
				}
			}
		}
	}
	return p.start, imports, nil
}

func packagesOf(t *state.Trace) []depgraph.Key {
	var found []depgraph.Key
	if t != nil {
		for _, a := range t.Reads {
			if a.Key.Space() == "module" {
				found = append(found, a.Key)
			}
		}
	}
	return found
}

func writesOf(t *state.Trace) []state.Access {
	if t == nil {
		return nil
	}
	return t.Writes
}
