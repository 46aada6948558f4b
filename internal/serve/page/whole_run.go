package page

import (
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// wholeRun is the last run in which no block failed. While blocks are blocked, it knows what they read and what they
// cost.
type wholeRun struct {
	Step     state.StepNumber
	versions map[state.BlockID]state.Digest // that it executed
}

// wholeRunBefore looks for the last run before a program in which blocks have not run; nil if all have, or none is
// near.
func (v *view) wholeRunBefore(d *query.Snapshot) *wholeRun {
	if allRan(d) {
		return nil
	}
	for _, s := range v.runsBefore(d.Step.Number + 1) {
		if c := &s.Run.Blocks; c.Failed != 0 || c.Blocked != 0 || c.NotReached != 0 {
			continue
		}
		past := *v
		past.AtStep = &s.Number
		then, err := past.snapshot()
		if err != nil {
			return nil
		}
		w := &wholeRun{Step: s.Number, versions: map[state.BlockID]state.Digest{}}
		for i := range then.Blocks {
			w.versions[then.Blocks[i].ID] = then.Blocks[i].Version
		}
		return w
	}
	return nil
}

// holds reports whether what the run observed of a block and a key may hold now: the block has the same source, or one
// that names the key.
func (w *wholeRun) holds(b *query.BlockView, k depgraph.Key) bool {
	return w.versions[b.ID] == b.Version || names(b.Source, k)
}

// addEdges adds what blocks that have not run took in the run from others that have not, or that fail, as far as it may
// hold. A source seldom says which values a call changes in place.
func (w *wholeRun) addEdges(to *whole, then *api.Graph) {
	known := map[[2]string]map[depgraph.Key]bool{}
	for _, e := range to.edges {
		ends := [2]string{e.from, e.to}
		if known[ends] == nil {
			known[ends] = map[depgraph.Key]bool{}
		}
		known[ends][e.key] = true
	}
	for _, e := range then.Edges {
		x := edge{from: e.From.Block(), to: e.To.Block(), kind: e.Type, key: e.Key, basis: depgraph.Predicted,
			then: w.Step}
		from, is := to.place[x.from]
		at, both := to.place[x.to]
		if !is || !both || x.from == x.to || known[[2]string{x.from, x.to}][x.key] ||
			e.Hazard != depgraph.Flow.String() || e.Evidence == depgraph.Predicted.String() {
			continue
		}
		writer, reader := &to.blocks[from], &to.blocks[at]
		if hasRun(reader) || hasRun(writer) && writer.Status != "failed" || !w.holds(writer, x.key) ||
			!w.holds(reader, x.key) {
			continue
		}
		to.edges = append(to.edges, x)
	}
}

// allRan reports whether what each block reads is known from its execution.
func allRan(d *query.Snapshot) bool {
	return !slices.ContainsFunc(d.Blocks, func(b query.BlockView) bool { return !hasRun(&b) })
}

// names reports whether a source has the name of a key. A variable of a function has it without the function.
func names(source string, k depgraph.Key) bool {
	_, plain := k.Cut()
	name := plain.Name()
	if k.Space() == "var" {
		name = name[strings.LastIndexByte(name, '.')+1:]
	}
	const other = `[^\pL\pN_]`
	found, err := regexp.MatchString(`(^|`+other+`)`+regexp.QuoteMeta(name)+`($|`+other+`)`, source)
	return found && err == nil
}
