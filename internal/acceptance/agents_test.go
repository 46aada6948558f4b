package acceptance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/patch/syntax"
	"github.com/xstate-engine/xstate/state"
)

// TestThreeAgents: three agents hand in whole blocks, made from a program that may be older than what the others did.
// No update is lost, blame is exact to the line, and the work of one of them is taken back while that of the others
// stays; then that is taken back, too, which restores every byte and executes nothing.
func TestThreeAgents(t *testing.T) {
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			a := xstatetest.NewAgents(t, seed, "ann", "bob", "cy")
			seen := [3][][]patch.Block{
				{a.Program()},
				{a.Program()},
				{a.Program()},
			} // since its last edit, which each knows
			for round := range 40 {
				who := a.R.IntN(3)
				a.Edit(who, seen[who][a.R.IntN(len(seen[who]))])
				seen[who] = nil
				for i := range seen {
					seen[i] = append(seen[i], a.Program())
				}
				if round == 20 {
					a.Run()
				}
			}
			if a.Merged < 5 {
				t.Errorf("%d stale edits, %d merged: too few to show anything", a.Refused, a.Merged)
			}
			latest := func(s xstatetest.Slot) string { return a.Slots[s][len(a.Slots[s])-1] }
			a.Check("after the edits", latest)
			a.Run()
			before := a.Program()

			u, err := a.Session.PlanUndo(t.Context(), xstate.Which{Agent: "bob"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.Session.Undo(t.Context(), u, xstate.Origin{Agent: "judge"}); err != nil {
				t.Fatal(err)
			}
			a.Check("without bob", func(s xstatetest.Slot) string {
				if s.Line%3 == 1 {
					return a.Slots[s][0]
				}
				return latest(s)
			})
			a.Run()
			if _, err := a.Session.PlanUndo(t.Context(), xstate.Which{Agent: "bob"}); state.CodeOf(
				err,
			) != xstate.CodeNothing {
				t.Errorf("undo of what was undone: %v, want %s", err, xstate.CodeNothing)
			}

			if u, err = a.Session.PlanUndo(t.Context(), xstate.Which{Agent: "judge"}); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Session.Undo(t.Context(), u, xstate.Origin{Agent: "appeal"}); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(before, a.Program()); d != "" {
				t.Errorf("program there and back (-want +got):\n%s", d)
			}
			a.Check("with bob again", latest)
			if n := a.Run(); n != 0 {
				t.Errorf("there and back executed %d nodes, want none", n)
			}
		})
	}
}

// TestUndoConflict: an edit whose lines another one wrote again is not taken back by itself, and nothing changes; with
// the other one it is. So with blocks that were added, deleted and moved.
func TestUndoConflict(t *testing.T) {
	a := xstatetest.NewAgents(t, 1, "ann")
	do := func(step xstate.Step, err error) xstate.StepNumber {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return step.Number
	}
	ctx, s := t.Context(), a.Session
	founded := a.Program()
	text := founded[0].Source
	one := do(s.Patch(ctx, "part0", "# one\n"+text, xstate.Origin{Agent: "ann"}))
	two := do(s.Patch(ctx, "part0", "# two\n"+text, xstate.Origin{Agent: "bob"}))
	added := do(
		s.Append(
			ctx,
			patch.Block{ID: "new", Dialect: syntax.Python, Source: "n = 1"},
			"part1",
			xstate.Origin{Agent: "ann"},
		),
	)
	edited := do(s.Patch(ctx, "new", "n = 2", xstate.Origin{Agent: "bob"}))
	deleted := do(s.Delete(ctx, "part2", xstate.Origin{Agent: "ann"}))
	moved := do(s.Move(ctx, "part4", "", xstate.Origin{Agent: "ann"}))
	head, before := a.Head(), a.Program()
	for _, n := range []xstate.StepNumber{one, added} {
		_, err := s.PlanUndo(ctx, xstate.Which{First: n, Last: n})
		var both *xstate.MergeError
		if state.CodeOf(err) != state.CodeConflict || !errors.As(err, &both) || len(both.Conflicts[0].Clashes) != 1 {
			t.Errorf("undo of step %d: %v, want a conflict with both sides", n, err)
		}
	}
	if _, err := s.PlanUndo(ctx, xstate.Which{Agent: "ann"}); state.CodeOf(err) != state.CodeConflict {
		t.Errorf("undo of all by ann: %v, want a conflict", err)
	}
	if a.Head() != head || !cmp.Equal(before, a.Program()) {
		t.Errorf("a refused undo changed something")
	}
	for _, w := range []xstate.Which{{First: two, Last: two}, {First: edited, Last: moved}, {First: one, Last: added}} {
		u, err := s.PlanUndo(ctx, w)
		if err != nil {
			t.Fatalf("undo of %+v: %v", w, err)
		}
		if _, err := s.Undo(ctx, u, xstate.Origin{}); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(founded, a.Program()); d != "" {
		t.Errorf("with everything taken back (-want +got):\n%s", d)
	}
	for n, want := range map[xstate.StepNumber]state.Code{deleted: xstate.CodeNothing, head + 99: state.CodeNoStep} {
		if _, err := s.PlanUndo(ctx, xstate.Which{First: n, Last: n}); state.CodeOf(err) != want {
			t.Errorf("undo of step %d: %v, want %s", n, err, want)
		}
	}
}

// TestUndoThereAndBack: whatever edits are taken back, taking that back restores the program, blocks in order and to
// the byte; and an undo that is refused changes nothing.
func TestUndoThereAndBack(t *testing.T) {
	seed := sampling.Seed(t)
	a := xstatetest.NewAgents(t, seed, "ann", "bob")
	ctx, s := t.Context(), a.Session
	undone, refused := 0, 0
	for round := range 120 {
		program := a.Program()
		who := xstate.Origin{Agent: a.Names[a.R.IntN(2)]}
		b := program[a.R.IntN(len(program))]
		var err error
		switch op := a.R.IntN(8); {
		case op < 3:
			lines := strings.Split(b.Source, "\n")
			at := a.R.IntN(len(lines) + 1)
			lines = slices.Replace(lines, at, min(len(lines), at+a.R.IntN(2)), fmt.Sprintf("line_%d = 1", round))
			_, err = s.Patch(ctx, xstate.BlockID(b.ID), strings.Join(lines, "\n"), who)
		case op == 3:
			_, err = s.Append(
				ctx,
				patch.Block{Dialect: syntax.Python, Source: fmt.Sprintf("new_%d = 1", round)},
				xstate.BlockID(b.ID),
				who,
			)
		case op == 4 && len(program) > 3:
			_, err = s.Delete(ctx, xstate.BlockID(b.ID), who)
		case op == 5 && b.ID != program[0].ID:
			_, err = s.Move(ctx, xstate.BlockID(b.ID), "", who)
		case op == 6:
			_, err = s.Rollback(ctx, a.Head()-xstate.StepNumber(a.R.IntN(3)), who)
		}
		if err != nil {
			t.Fatalf("seed %d, round %d: %v", seed, round, err)
		}
		head := a.Head()
		w := xstate.Which{First: head - xstate.StepNumber(a.R.IntN(5)), Last: head}
		if a.R.IntN(2) == 0 {
			w.Agent = a.Names[a.R.IntN(2)]
		}
		before := a.Program()
		u, err := s.PlanUndo(ctx, w)
		if err != nil {
			if code := state.CodeOf(err); code != state.CodeConflict && code != xstate.CodeNothing {
				t.Fatalf("seed %d, round %d: undo %+v: %v", seed, round, w, err)
			}
			refused++
			if d := cmp.Diff(before, a.Program()); d != "" {
				t.Fatalf("seed %d, round %d: a refused undo changed (-before +after):\n%s", seed, round, d)
			}
			continue
		}
		steps, err := s.Undo(ctx, u, xstate.Origin{Agent: "judge"})
		if err != nil {
			t.Fatalf("seed %d, round %d: %v", seed, round, err)
		}
		if d := cmp.Diff(u.Blocks, a.Program()); d != "" {
			t.Fatalf("seed %d, round %d: undo is not what was planned (-planned +done):\n%s", seed, round, d)
		}
		if a.R.IntN(4) == 0 {
			continue // and go on from there
		}
		undone++
		if u, err = s.PlanUndo(ctx, xstate.Which{First: steps[0].Number,
			Last: steps[len(steps)-1].Number}); err == nil {
			_, err = s.Undo(ctx, u, xstate.Origin{})
		}
		if err != nil {
			t.Fatalf("seed %d, round %d: undo of the undo %+v: %v", seed, round, w, err)
		}
		if d := cmp.Diff(before, a.Program()); d != "" {
			t.Fatalf("seed %d, round %d: there and back, %+v (-before +after):\n%s", seed, round, w, d)
		}
	}
	if undone < 10 || refused < 3 {
		t.Errorf("seed %d: %d undone, %d refused: too few to show anything", seed, undone, refused)
	}
}

// TestEditAtOnce: three edit one block at the same moment, each its own lines, from what it saw when it began. No
// update is lost.
func TestEditAtOnce(t *testing.T) {
	a := xstatetest.NewAgents(t, 2, "ann", "bob", "cy")
	const rounds = 15
	var all sync.WaitGroup
	for who, name := range a.Names {
		s, err := a.Session.Store().Existing(t.Context(), a.Session.Name(), xstate.SessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		seen := a.Program()
		all.Go(func() {
			for i := range rounds {
				b := seen[0]
				lines := strings.Split(b.Source, "\n")
				lines[who] = fmt.Sprintf("%s = %d", name, i)
				b.Source = strings.Join(lines, "\n")
				if _, err := s.Edit(t.Context(), seen, []patch.Edit{{Op: patch.OpPatch, ID: b.ID, Block: b}},
					xstate.Merge, xstate.Origin{Agent: name}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				seen[0] = b // it knows of nothing but its own edits
			}
		})
	}
	all.Wait()
	lines := strings.Split(a.Program()[0].Source, "\n")
	for who, name := range a.Names {
		if want := fmt.Sprintf("%s = %d", name, rounds-1); lines[who] != want {
			t.Errorf("line %d = %q, want %q", who+1, lines[who], want)
		}
	}
	if n := a.Head(); n != xstate.StepNumber(5+3*rounds) {
		t.Errorf("%d steps, want one for each edit", n)
	}
}
