package preflight

import (
	"context"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
)

// Planned is a block of a plan.
type Planned struct {
	ID      state.BlockID
	Runs    bool    // it runs or may run
	Seconds float64 // recorded; 0: unknown
}

// tally is what recorded calls took.
type tally struct {
	calls int64
	usage state.Usage
}

func (t *tally) add(c *state.Call) {
	t.calls++
	t.usage.Add(c.Usage)
}

// Predict says what a run takes by the records of a store: of a block that ran before, what its last run with calls
// took; of another, what each call that its text shows took on average.
func (t *Text) Predict(ctx context.Context, store *state.Store, session string, plan []Planned) (f Forecast,
	err error) {
	f.Unknown = []state.BlockID{}
	type made struct {
		block state.BlockID
		step  state.StepNumber
	}
	blocks, last, tools := map[made]*tally{}, map[state.BlockID]state.StepNumber{}, map[string]*tally{}
	if store != nil {
		err = store.Calls(ctx, 0, func(c *state.Call) bool {
			if !c.State.Ended() || c.Kind != string(journal.KindTool) && c.Kind != string(journal.KindModel) {
				return true
			}
			if tools[c.Tool] == nil {
				tools[c.Tool] = &tally{}
			}
			tools[c.Tool].add(c)
			if c.Caller.Session == session {
				at := made{c.Caller.Block, c.Caller.Step}
				if blocks[at] == nil {
					blocks[at] = &tally{}
				}
				blocks[at].add(c)
				last[at.block] = max(last[at.block], at.step)
			}
			return true
		})
	}
	var micro int64
	for _, p := range plan {
		if !p.Runs {
			continue
		}
		f.Seconds += p.Seconds
		if step, known := last[p.ID]; known {
			b := blocks[made{p.ID, step}]
			f.Calls += b.calls
			f.Tokens += b.usage.InputTokens + b.usage.OutputTokens
			micro += b.usage.MicroUSD
			continue
		}
		unknown := p.Seconds == 0
		for _, c := range t.Calls {
			if c.Block != p.ID || c.Kind == journal.KindAsk {
				continue
			}
			f.Calls++
			if x := tools[c.Name]; x != nil {
				f.Tokens += (x.usage.InputTokens + x.usage.OutputTokens) / x.calls
				micro += x.usage.MicroUSD / x.calls
			} else {
				unknown = true
			}
		}
		if unknown {
			f.Unknown = append(f.Unknown, p.ID)
		}
	}
	f.USD = float64(micro) / 1e6
	return f, err
}

// Outputs are the blocks that leave something: they write files or call tools that change something.
func (t *Text) Outputs() (found []Place) {
	add := func(at Place) {
		if !slices.ContainsFunc(found, func(p Place) bool { return p.Block == at.Block }) {
			found = append(found, at)
		}
	}
	for _, f := range t.files {
		if f.mode != depgraph.Reads {
			add(f.Place)
		}
	}
	for _, c := range t.Calls {
		if journal.Class(c.Class).Effects() {
			add(c.Place)
		}
	}
	return found
}
