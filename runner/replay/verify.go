package replay

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Difference is one place where two outcomes of the same program differ.
type Difference struct {
	Block state.BlockID `json:"block,omitempty"`
	What  string        `json:"what"` // "status", "output", "error", "value NAME" or "file NAME"
	Have  string        `json:"have"` // incrementally
	Want  string        `json:"want"` // from scratch
	// Marks says why it may vary from run to run: "clock", "network", …; nil: it must not vary.
	Marks []string `json:"marks,omitempty"`

	Alone bool `json:"alone,omitempty"` // Want is from the interpreter alone, which knows nothing of xstate

	// For a value or file: the blocks that wrote it, and after which it differs. The first one made the difference.
	writers []state.BlockID
}

func (d Difference) String() string {
	where := d.What
	if d.Block != "" {
		where = fmt.Sprintf("block %s, %s", d.Block, d.What)
	}
	return fmt.Sprintf("%s: incrementally %s, from scratch %s", where, d.Have, d.Want)
}

// Verify runs the whole program from scratch, in a fresh interpreter and from the workspace as it was before the
// program. It reports where the outcome have of the incremental run differs. It records nothing, unless the session is
// foreign: then it records what it executed, so that equal results are the store's own from now on. Effects outside the
// workspace happen again.
func Verify(ctx context.Context, s *Subject, have *runner.Outcome, o runner.RunOptions) ([]Difference, error) {
	engine, release, err := s.Engine(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	blocks, _, err := s.Program(ctx)
	if err != nil {
		return nil, err
	}
	o.Fresh, o.Discard, o.Traces = true, true, s.Store().Foreign()
	want, err := engine.Run(ctx, blocks, o)
	if err != nil {
		return nil, err
	}
	if want.Stopped != nil {
		return nil, want.Stopped
	}
	return Compare(have, want), nil
}

// Confirm records what Verify, with Attribute, found about the run of step n, as a separate step. Blocks with equal
// results are confirmed (BlockView.Verified) while their results stay the same. It fails with state.CodeConflict if the
// program has changed since.
func Confirm(
	ctx context.Context,
	s *Subject,
	n state.StepNumber,
	found []Difference,
	origin state.Origin,
) (state.Step, error) {
	blocks, err := s.Store().ProgramAt(ctx, s.Name(), n)
	if err != nil {
		return state.Step{}, err
	}
	differs := map[state.BlockID]bool{}
	v := &state.Verification{Of: n}
	for _, d := range found {
		differs[d.Block] = true
		for _, id := range d.writers {
			differs[id] = true
		}
		if len(d.Marks) > 0 {
			v.Explained++
		} else {
			v.Differences++
		}
	}
	volatile, err := s.VaryingCode(ctx)
	if err != nil {
		return state.Step{}, err
	}
	draft := state.Draft{Kind: state.KindDeclare, Origin: origin, Verified: v}
	for i := range blocks {
		b := &blocks[i]
		if differs[b.ID] || differs[""] || b.RanAt < b.Edited || b.Status == state.StatusNew ||
			unprovable(b, volatile) {
			continue
		}
		v.Blocks++
		if b.Verified == 0 {
			b.Verified = n + 1
			draft.Changes = append(draft.Changes, state.Change{Op: state.OpUpdate, ID: b.ID, Block: b})
		}
	}
	steps, err := s.Store().Commit(ctx, s.Name(), n, []state.Draft{draft})
	if err != nil {
		return state.Step{}, err
	}
	return steps[0], nil
}

// Compare reports where the outcome have differs from want. It compares status, outputs and errors block by block, as
// text with object addresses blanked; then values and files by digest.
func Compare(have, want *runner.Outcome) []Difference {
	var found []Difference
	add := func(b *runner.BlockOutcome, what, x, y string) {
		if x != y {
			d := Difference{What: what, Have: x, Want: y}
			if b != nil {
				d.Block, d.Marks = b.ID, b.AllMarks
			} else {
				k := keyOf(what)
				if d.writers = writersOtherwise(have, want, k); d.writers != nil {
					d.Block = d.writers[0]
				}
				if k.Space() == "var" {
					d.Have = described(state.Digest(x), infoOf(have, k))
					d.Want = described(state.Digest(y), infoOf(want, k))
				}
				d.Marks = have.VaryingKeys[what]
				if x == "" { // such as a file under a name drawn by chance
					d.Marks = want.VaryingKeys[what]
				}
			}
			found = append(found, d)
		}
	}
	for i := range min(len(have.Blocks), len(want.Blocks)) {
		x, y := &have.Blocks[i], &want.Blocks[i]
		add(x, "status", settled(x.Status), settled(y.Status))
		if a, b := query.Text(x.Outputs), query.Text(y.Outputs); a != b {
			add(x, "output", a, b)
		}
		add(x, "error", query.ErrorText(x.Err), query.ErrorText(y.Err))
	}
	addAll(have.Values, want.Values, "value ", add)
	addAll(have.Files, want.Files, "file ", add)
	return found
}

// keyOf returns the key that "value NAME" or "file NAME" is about.
func keyOf(what string) depgraph.Key {
	if name, ok := strings.CutPrefix(what, "value "); ok {
		return depgraph.Var(name)
	}
	return depgraph.Key("file:" + strings.TrimPrefix(what, "file "))
}

// writersOtherwise returns the blocks that wrote k, and after which it differs between two outcomes of one program.
func writersOtherwise(have, want *runner.Outcome, k depgraph.Key) []state.BlockID {
	var found []state.BlockID
	var x, y state.Digest
	for i := range min(len(have.Blocks), len(want.Blocks)) {
		wrote := false
		for _, of := range []struct {
			block *runner.BlockOutcome
			now   *state.Digest
		}{{&have.Blocks[i], &x}, {&want.Blocks[i], &y}} {
			for t := range results(of.block) {
				if t.Err != nil {
					continue
				}
				for _, a := range t.Writes {
					if a.Key == k {
						*of.now, wrote = a.Digest, true
					}
				}
			}
		}
		if wrote && x != y && !(byLineage(x) && byLineage(y)) {
			found = append(found, have.Blocks[i].ID)
		}
	}
	return found
}

// results are the traces of a block's nodes that the program reached.
func results(b *runner.BlockOutcome) iter.Seq[*state.Trace] {
	return func(yield func(*state.Trace) bool) {
		for j := range b.Nodes {
			if t := b.Nodes[j].Result(); t != nil && !yield(t) {
				return
			}
		}
	}
}

// infoOf returns what is known of the last value of k.
func infoOf(o *runner.Outcome, k depgraph.Key) (info state.ValueInfo) {
	for i := range o.Blocks {
		for t := range results(&o.Blocks[i]) {
			if now, ok := t.Info[k]; ok && t.Err == nil {
				info = now
			}
		}
	}
	return info
}

// described is a value in a form that people can compare.
func described(d state.Digest, info state.ValueInfo) string {
	switch {
	case d == state.Absent:
		return "absent"
	case info.Repr != "":
		return info.Repr + " (" + query.Short(d) + ")"
	case info.Type != "":
		return info.Type + " " + info.Shape + " (" + query.Short(d) + ")"
	}
	return string(d)
}

func addAll(have, want map[string]state.Digest, what string, add func(*runner.BlockOutcome, string, string, string)) {
	both := maps.Clone(have)
	maps.Copy(both, want)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if what == "value " && byLineage(have[name]) && byLineage(want[name]) {
			continue // two lineages, which may differ though the values do not
		}
		add(nil, what+name, string(have[name]), string(want[name]))
	}
}

// byLineage reports whether a digest is by lineage (SHA-256) and not by content (BLAKE2, 160 bits).
func byLineage(d state.Digest) bool { return len(d) == 64 }

// settled is a status that ignores reuse.
func settled(s state.Status) string {
	switch s {
	case state.StatusFailed:
		return "failed"
	case state.StatusBlocked:
		return "blocked"
	case state.StatusNew:
		return "not run"
	case state.StatusNotReached:
		return "not reached"
	}
	return "done"
}

// unprovable reports whether the result of a block proves nothing although a run from scratch gave an equal one.
func unprovable(b *state.Block, volatile map[state.Digest][]string) bool {
	return slices.ContainsFunc(
		b.Nodes,
		func(n state.NodeResult) bool { return volatile[n.Code] != nil || query.IsPinned(&n) },
	)
}
