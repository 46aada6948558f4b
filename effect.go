package xstate

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

// Form is what an edit changes of a text.
type Form string

const (
	FormCode    Form = "code"
	FormComment Form = "comment" // comments, and maybe layout; no token of the code
	FormLayout  Form = "layout"  // white space, line ends
	FormNone    Form = ""        // nothing: a title, a place
)

// Symbols are names that a block binds, by what an edit does to the statements that bind them. Each list is sorted.
type Symbols struct {
	Added   []string `json:"added"`
	Changed []string `json:"changed"`
	Removed []string `json:"removed"`
}

// TextEffect is what an edit does to the text of a block.
type TextEffect struct {
	Form    Form    `json:"form"`
	Symbols Symbols `json:"symbols"`
}

// TextEffectOf compares two texts of a block. One that does not parse has no symbols, and whatever is done to it is code.
func TextEffectOf(was, now string, dialect depgraph.Dialect) TextEffect {
	x := TextEffect{Form: formOf(was, now, dialect), Symbols: Symbols{Added: []string{}, Changed: []string{}, Removed: []string{}}}
	if x.Form != FormCode {
		return x
	}
	old, _ := python.Symbols([]byte(was), dialect)
	new, _ := python.Symbols([]byte(now), dialect)
	for _, name := range slices.Sorted(maps.Keys(new)) {
		switch tokens, known := old[name]; {
		case !known:
			x.Symbols.Added = append(x.Symbols.Added, name)
		case tokens != new[name]:
			x.Symbols.Changed = append(x.Symbols.Changed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, kept := new[name]; !kept {
			x.Symbols.Removed = append(x.Symbols.Removed, name)
		}
	}
	return x
}

func formOf(was, now string, dialect depgraph.Dialect) Form {
	if was == now {
		return FormNone
	}
	old, err := python.Analyze([]byte(was), dialect)
	if err != nil {
		return FormCode
	}
	new, err := python.Analyze([]byte(now), dialect)
	switch {
	case err != nil || old.Tokens() != new.Tokens():
		return FormCode
	case !slices.Equal(python.Comments(old), python.Comments(new)):
		return FormComment
	}
	return FormLayout
}

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

// Effect tells what a run as planned makes of what the program did before.
func (s *Session) Effect(ctx context.Context, plan *Plan) (*Effect, error) {
	program, _, err := s.Program(ctx)
	if err != nil {
		return nil, err
	}
	made, err := s.made(program)
	if err != nil {
		return nil, err
	}
	e := &Effect{Lost: []Lost{}, Fires: []Firing{}}
	will := map[Key]bool{}
	for i := range plan.Blocks {
		b := &plan.Blocks[i]
		for j := range b.Nodes {
			willMake(&b.Nodes[j], will)
			e.Fires = append(e.Fires, firings(&b.Nodes[j], nodeName(b.ID, j, len(b.Nodes)))...)
		}
	}
	e.Lost = lost(made, func(k Key) bool { return will[k] })
	return e, nil
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

// willMake adds what a node makes or may make, and takes away what it takes away.
func willMake(n *runner.PlanNode, will map[Key]bool) {
	if n.Action == runner.ActBlock {
		return
	}
	if n.Last != nil && n.Last.Err == nil {
		for _, w := range n.Last.Writes {
			if isMade(w.Key) && (n.Last.Code == n.Code || w.Key.Space() == "file") {
				will[w.Key] = w.Digest != state.Absent
			}
		}
	}
	if n.Action == runner.ActReuse {
		return
	}
	for _, name := range n.Facts.Deletes {
		delete(will, depgraph.Var(name))
	}
	for _, name := range n.Facts.Defines {
		will[depgraph.Var(name)] = true
	}
	for _, f := range n.Facts.Effects {
		if f.Kind == depgraph.EffectFile && f.Arg != "" {
			will[Key("file:"+f.Arg)] = true
		}
	}
}

// firings are the effects of a node that is to run.
func firings(n *runner.PlanNode, name string) []Firing {
	if n.Action != runner.ActRun && n.Action != runner.ActMaybe {
		return nil
	}
	var found []Firing
	add := func(effect, evidence string) {
		if !slices.ContainsFunc(found, func(f Firing) bool { return f.Effect == effect }) {
			found = append(found, Firing{Node: name, Action: n.Action, Effect: effect, Evidence: evidence})
		}
	}
	if n.Last != nil {
		evidence := "observed"
		if n.Last.Code != n.Code {
			evidence = "former"
		}
		for _, effect := range outside(n.Last.Marks, n.Last.Writes) {
			add(effect, evidence)
		}
	}
	for _, f := range n.Facts.Effects {
		if f.Kind == depgraph.EffectNetwork || f.Kind == depgraph.EffectSubprocess {
			add(string(f.Kind), "predicted")
		}
	}
	return found
}

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

// EditEffects tells what each of some edits of a program does to the text of its block.
func EditEffects(old []patch.Block, edits []patch.Edit) []TextEffect {
	was := map[string]patch.Block{}
	for _, b := range old {
		was[b.ID] = b
	}
	var found []TextEffect
	for _, e := range edits {
		before, now := was[e.ID], e.Block
		dialect := now.Dialect
		switch e.Op {
		case patch.OpMove:
			now = before
		case patch.OpDelete:
			now, dialect = patch.Block{}, before.Dialect
		}
		found = append(found, TextEffectOf(before.Source, now.Source, depgraph.Dialect(dialect)))
		was[e.ID] = now
	}
	return found
}
