package query

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// Impact is what a program loses, and which effects it repeats, when it runs as a plan says.
type Impact struct {
	Lost  []Lost           `json:"lost"`
	Fires []RepeatedEffect `json:"fires"`
}

// Lost is a variable or a file that the program made and no longer makes.
type Lost struct {
	Key   depgraph.Key     `json:"key"`
	By    string           `json:"by"` // the node that made it
	Value *state.ValueInfo `json:"value,omitempty"`
}

// RepeatedEffect is an effect outside the program that happens, or may happen, again.
type RepeatedEffect struct {
	Node   string `json:"node"`
	Action string `json:"action"` // run or maybe, as in a plan
	Effect string `json:"effect"` // a file that is written, as file:NAME; network, subprocess, thread; unobserved …
	// observed: this code did it; former: what stood there before did; predicted: the text says so; asks: of a call,
	// call:NUMBER TEXT, whose arguments vary, and a person is asked before it happens again
	Evidence string `json:"evidence"`
}

// NotKept returns the present entries of made whose keys kept does not hold for, sorted by key.
func NotKept(made map[depgraph.Key]AccessView, kept func(depgraph.Key) bool) []Lost {
	found := []Lost{}
	for _, k := range slices.Sorted(maps.Keys(made)) {
		if a := made[k]; a.Digest != state.Absent && !kept(k) {
			found = append(found, Lost{Key: k, By: a.By, Value: a.Value})
		}
	}
	return found
}

// Made returns the variables and files that the last run of each block made, with the node that wrote each last.
func (h *History) Made(program []state.ProgramBlock) (map[depgraph.Key]AccessView, error) {
	made := map[depgraph.Key]AccessView{}
	for _, b := range program {
		for i, n := range b.Before.Nodes {
			if n.Trace == "" {
				continue
			}
			t, ok, err := h.store.Trace(n.Trace)
			if err != nil {
				return nil, err
			}
			if !ok || t.Err != nil {
				continue
			}
			for _, w := range t.Writes {
				if IsMade(w.Key) {
					made[w.Key] = AccessView{
						Key:    w.Key,
						Digest: w.Digest,
						Value:  ValueOf(&t, w.Key),
						By:     NodeName(b.ID, i, state.Statements(b.Before.Nodes), n.Part),
					}
				}
			}
		}
	}
	return made, nil
}

// IsMade reports whether a key is a variable of the program or a file: what a program makes. A variable of a function
// ("main.df") is only a step on the way.
func IsMade(k depgraph.Key) bool {
	return k.Space() == "var" && !strings.Contains(k.Name(), ".") || k.Space() == "file"
}

// OutsideEffects returns the effects of an execution outside the program: those that its marks name, and the files that
// it wrote.
func OutsideEffects(marks []string, writes []state.Access) []string {
	var found []string
	for _, m := range marks {
		if m == "network" || m == "subprocess" || m == "thread" || strings.HasPrefix(m, "unobserved") {
			found = append(found, m)
		}
	}
	for _, w := range writes {
		if w.Key.Space() == "file" {
			found = append(found, string(w.Key))
		}
	}
	return found
}

// Aftermath is what the run that followed an edit changed. Other edits that were made before that run contribute to it.
type Aftermath struct {
	Seconds float64 `json:"seconds"` // spent executing
	Impact
}

// aftermath compares the program as it last ran before a step with the run that followed the step.
func (h *History) aftermath(ctx context.Context, n state.StepNumber, after *Snapshot) (*Aftermath, error) {
	a := &Aftermath{Impact: Impact{Lost: []Lost{}, Fires: []RepeatedEffect{}}}
	if run := after.Step.Run; run != nil {
		a.Seconds = run.Seconds
	}
	made, ranBefore := map[depgraph.Key]AccessView{}, map[state.BlockID]bool{}
	for step, err := range h.Ancestors(ctx, n-1) {
		if err != nil {
			return nil, err
		}
		if step.Kind != state.KindRun {
			continue
		}
		program, err := h.ProgramAt(ctx, step.Number)
		if err == nil {
			made, err = h.Made(program)
		}
		if err != nil {
			return nil, err
		}
		for _, b := range program {
			ranBefore[b.ID] = b.Before != nil && b.Before.RanAt > 0
		}
		break
	}
	now := map[depgraph.Key]AccessView{}
	for i := range after.Blocks {
		b := &after.Blocks[i]
		for j := range b.Nodes {
			x := &b.Nodes[j]
			var writes []state.Access
			for _, w := range x.Writes {
				now[w.Key] = w
				writes = append(writes, state.Access{Key: w.Key, Digest: w.Digest})
			}
			if !ranBefore[b.ID] || b.RanAt != after.Step.Number ||
				x.Status != state.StatusRan.String() && x.Status != state.StatusFailed.String() {
				continue
			}
			for _, effect := range OutsideEffects(b.Marks, writes) {
				a.Fires = append(
					a.Fires,
					RepeatedEffect{Node: x.Name, Action: "run", Effect: effect, Evidence: "observed"},
				)
			}
		}
	}
	a.Lost = NotKept(made, func(k depgraph.Key) bool { return now[k].Digest != state.Absent })
	return a, nil
}
