package xstate

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

// Effect is what a program loses, and does again, when it is run as a plan says.
type Effect struct {
	Lost  []Lost   `json:"lost"`
	Fires []Firing `json:"fires"`
}

// Lost is a variable or a file that the program made, and makes no more.
type Lost struct {
	Key   Key              `json:"key"`
	By    string           `json:"by"` // the node that made it
	Value *state.ValueInfo `json:"value,omitempty"`
}

// Firing is an effect outside the program that comes, or may come, again.
type Firing struct {
	Node     string        `json:"node"`
	Action   runner.Action `json:"action"`   // run or maybe
	Effect   string        `json:"effect"`   // a file that is written, as file:NAME; network, subprocess, thread; unobserved …
	Evidence string        `json:"evidence"` // observed: this code did it; former: what stood there before did; predicted: the text says so
}

func lost(made map[Key]AccessView, kept func(Key) bool) []Lost {
	found := []Lost{}
	for _, k := range slices.Sorted(maps.Keys(made)) {
		if a := made[k]; a.Digest != state.Absent && !kept(k) {
			found = append(found, Lost{Key: k, By: a.By, Value: a.Value})
		}
	}
	return found
}

// made returns the variables and files that the last run of each block made, by who wrote them last.
func (s *Session) made(program []runner.Block) (map[Key]AccessView, error) {
	made := map[Key]AccessView{}
	for _, b := range program {
		for i, n := range b.Before.Nodes {
			if n.Trace == "" {
				continue
			}
			t, ok, err := s.store.state.Trace(n.Trace)
			if err != nil {
				return nil, err
			}
			if !ok || t.Err != nil {
				continue
			}
			for _, w := range t.Writes {
				if isMade(w.Key) {
					made[w.Key] = AccessView{Key: w.Key, Digest: w.Digest, Value: valueOf(&t, w.Key), By: nodeName(b.ID, i, len(b.Before.Nodes))}
				}
			}
		}
	}
	return made, nil
}

func isMade(k Key) bool { return k.Space() == "var" || k.Space() == "file" }

// outside are the effects of an execution outside the program: what its marks tell, and the files that it wrote.
func outside(marks []string, writes []state.Access) []string {
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

// Aftermath is what became of the program by the run that followed an edit. Other edits that were made before that run have
// a part in it.
type Aftermath struct {
	Seconds float64 `json:"seconds"` // spent executing
	Effect
}

// aftermath compares the program as it was run before a step with the run that followed it.
func (s *Session) aftermath(ctx context.Context, n StepNumber, after *Snapshot) (*Aftermath, error) {
	a := &Aftermath{Effect: Effect{Lost: []Lost{}, Fires: []Firing{}}}
	if run := after.Step.Run; run != nil {
		a.Seconds = run.Seconds
	}
	made := map[Key]AccessView{}
	for step, err := range s.lineage(ctx, n-1) {
		if err != nil {
			return nil, err
		}
		if step.Kind != state.KindRun {
			continue
		}
		program, err := s.ProgramAt(ctx, step.Number)
		if err == nil {
			made, err = s.made(program)
		}
		if err != nil {
			return nil, err
		}
		break
	}
	now := map[Key]AccessView{}
	for i := range after.Blocks {
		b := &after.Blocks[i]
		for j := range b.Nodes {
			x := &b.Nodes[j]
			var writes []state.Access
			for _, w := range x.Writes {
				now[w.Key] = w
				writes = append(writes, state.Access{Key: w.Key, Digest: w.Digest})
			}
			if b.RanAt != after.Step.Number || x.Status != StatusText(state.StatusRan) && x.Status != StatusText(state.StatusFailed) {
				continue
			}
			for _, effect := range outside(b.Marks, writes) {
				a.Fires = append(a.Fires, Firing{Node: x.Name, Action: runner.ActRun, Effect: effect, Evidence: "observed"})
			}
		}
	}
	a.Lost = lost(made, func(k Key) bool { return now[k].Digest != state.Absent })
	return a, nil
}
