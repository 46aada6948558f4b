package xstate_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
)

// agents write a program of blocks whose lines have one owner each: line i of a block is for agent i modulo their number. Every
// line is written with a number that no other line ever has, so that its text tells who wrote it.
type agents struct {
	t       *testing.T
	session *xstate.Session
	r       *rand.Rand
	names   []string
	number  int
	wrote   map[string]xstate.StepNumber // the step that wrote a line, by its text
	slots   map[slot][]string            // what was written there, oldest first
	refused int
	merged  int
}

type slot struct {
	block string
	line  int
}

const slotLines = 9

func newAgents(t *testing.T, seed uint64, names ...string) *agents {
	dir := t.TempDir()
	a := &agents{t: t, r: rand.New(rand.NewPCG(seed, 5)), names: names, wrote: map[string]xstate.StepNumber{}, slots: map[slot][]string{}}
	a.session = openSession(t, openStore(t, dir+"/"+xstate.StoreName), xstate.SessionOptions{Workspace: dir, Seed: 7})
	for b := range 5 {
		block := patch.Block{ID: fmt.Sprintf("part%d", b), Dialect: patch.Python}
		var lines []string
		for i := range slotLines {
			lines = append(lines, a.line(slot{block.ID, i}))
		}
		block.Source = strings.Join(append(lines, fmt.Sprintf("print(sum(v for k, v in list(vars().items()) if k.startswith(%q)))", "v"+block.ID)), "\n")
		step, err := a.session.Append(t.Context(), block, "", xstate.Origin{Agent: "founder"})
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			a.wrote[line] = step.Number
		}
		a.wrote[block.Source[strings.LastIndex(block.Source, "\n")+1:]] = step.Number
	}
	return a
}

func (a *agents) line(s slot) string {
	a.number++
	text := fmt.Sprintf("v%s_%d = %d", s.block, s.line, a.number)
	a.slots[s] = append(a.slots[s], text)
	return text
}

func (a *agents) program() []patch.Block {
	blocks, _, err := a.session.History().Program(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	out := []patch.Block{}
	for _, b := range blocks {
		out = append(out, patch.Block{ID: string(b.ID), Title: b.Title, Dialect: string(b.Dialect), Source: b.Source})
	}
	return out
}

// edit lets one agent hand in a whole block, made from the program as it saw it, with its own lines in it.
func (a *agents) edit(who int, seen []patch.Block) {
	b := seen[a.r.IntN(len(seen))]
	lines := strings.Split(b.Source, "\n")
	var written []string
	for i := range slotLines {
		if i%len(a.names) == who && a.r.IntN(2) == 0 {
			lines[i] = a.line(slot{b.ID, i})
			written = append(written, lines[i])
		}
	}
	if written == nil {
		return
	}
	b.Source = strings.Join(lines, "\n")
	edits := []patch.Edit{{Op: patch.OpPatch, ID: b.ID, Block: b}}
	origin := xstate.Origin{Agent: a.names[who], Model: "m/" + a.names[who], CallID: fmt.Sprintf("call-%d", a.number), TokensIn: int64(a.number)}
	steps, err := a.session.Edit(a.t.Context(), seen, edits, xstate.Refuse, origin)
	if err != nil {
		var both *xstate.MergeError
		if state.CodeOf(err) != state.CodeConflict || !errors.As(err, &both) || both.Conflicts[0].Clashes[0].Theirs != b.Source {
			a.t.Fatalf("a stale edit gives %v, want a conflict that shows both sides", err)
		}
		a.refused++
		if steps, err = a.session.Edit(a.t.Context(), seen, edits, xstate.Merge, origin); err != nil {
			a.t.Fatal(err)
		}
		a.merged++
	}
	if len(steps) != 1 {
		a.t.Fatalf("%d steps, want 1", len(steps))
	}
	for _, line := range written {
		a.wrote[line] = steps[0].Number
	}
}

// check tells that every line is the one wanted, and that blame knows who wrote it.
func (a *agents) check(what string, want func(slot) string) {
	a.t.Helper()
	head := a.head()
	for _, b := range a.program() {
		blame, err := a.session.History().Blame(a.t.Context(), head, xstate.BlockID(b.ID))
		if err != nil {
			a.t.Fatal(err)
		}
		if len(blame) != slotLines+1 {
			a.t.Fatalf("%s: blame of %s has %d lines", what, b.ID, len(blame))
		}
		for i, l := range blame {
			if i < slotLines && l.Text != want(slot{b.ID, i}) {
				a.t.Errorf("%s: %s line %d = %q, want %q", what, b.ID, i+1, l.Text, want(slot{b.ID, i}))
			}
			who := "founder"
			if n := slices.Index(a.slots[slot{b.ID, i}], l.Text); n > 0 {
				who = a.names[i%len(a.names)]
			}
			if l.Step != a.wrote[l.Text] || l.Origin.Agent != who || l.Line != i+1 {
				a.t.Errorf("%s: blame of %s line %d %q = step %d by %q, want step %d by %q", what, b.ID, l.Line, l.Text, l.Step, l.Origin.Agent, a.wrote[l.Text], who)
			}
		}
	}
}

func (a *agents) head() xstate.StepNumber {
	n, _, err := a.session.Store().State().Head(a.t.Context(), a.session.Name())
	if err != nil {
		a.t.Fatal(err)
	}
	return n
}

// run runs the program, compares with a run from scratch, and returns how many nodes were executed.
func (a *agents) run() int {
	a.t.Helper()
	out, step, err := a.session.Run(a.t.Context(), runner.RunOptions{}, xstate.Origin{})
	if err != nil {
		a.t.Fatal(err)
	}
	found, err := replay.Verify(a.t.Context(), a.session.Subject(), out, runner.RunOptions{})
	if err != nil || len(found) > 0 {
		a.t.Errorf("not equal to a run from scratch: %v, %v", found, err)
	}
	return step.Run.Nodes.Ran
}

// TestThreeAgents: three agents hand in whole blocks, made from a program that may be older than what the others did. No update is lost, blame is
// exact to the line, and the work of one of them is taken back while that of the others stays; then that is taken back, too, which
// restores every byte and executes nothing.
func TestThreeAgents(t *testing.T) {
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			a := newAgents(t, seed, "ann", "bob", "cy")
			seen := [3][][]patch.Block{{a.program()}, {a.program()}, {a.program()}} // since its last edit, which each knows
			for round := range 40 {
				who := a.r.IntN(3)
				a.edit(who, seen[who][a.r.IntN(len(seen[who]))])
				seen[who] = nil
				for i := range seen {
					seen[i] = append(seen[i], a.program())
				}
				if round == 20 {
					a.run()
				}
			}
			if a.merged < 5 {
				t.Errorf("%d stale edits, %d merged: too few to show anything", a.refused, a.merged)
			}
			latest := func(s slot) string { return a.slots[s][len(a.slots[s])-1] }
			a.check("after the edits", latest)
			a.run()
			before := a.program()

			u, err := a.session.PlanUndo(t.Context(), xstate.Which{Agent: "bob"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.session.Undo(t.Context(), u, xstate.Origin{Agent: "judge"}); err != nil {
				t.Fatal(err)
			}
			a.check("without bob", func(s slot) string {
				if s.line%3 == 1 {
					return a.slots[s][0]
				}
				return latest(s)
			})
			a.run()
			if _, err := a.session.PlanUndo(t.Context(), xstate.Which{Agent: "bob"}); state.CodeOf(err) != xstate.CodeNothing {
				t.Errorf("undo of what was undone: %v, want %s", err, xstate.CodeNothing)
			}

			if u, err = a.session.PlanUndo(t.Context(), xstate.Which{Agent: "judge"}); err != nil {
				t.Fatal(err)
			}
			if _, err := a.session.Undo(t.Context(), u, xstate.Origin{Agent: "appeal"}); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(before, a.program()); d != "" {
				t.Errorf("program there and back (-want +got):\n%s", d)
			}
			a.check("with bob again", latest)
			if n := a.run(); n != 0 {
				t.Errorf("there and back executed %d nodes, want none", n)
			}
		})
	}
}

// TestUndoConflict: an edit whose lines another one wrote again is not taken back by itself, and nothing changes; with the other
// one it is. So with blocks that were added, deleted and moved.
func TestUndoConflict(t *testing.T) {
	a := newAgents(t, 1, "ann")
	do := func(step xstate.Step, err error) xstate.StepNumber {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return step.Number
	}
	ctx, s := t.Context(), a.session
	founded := a.program()
	text := founded[0].Source
	one := do(s.Patch(ctx, "part0", "# one\n"+text, xstate.Origin{Agent: "ann"}))
	two := do(s.Patch(ctx, "part0", "# two\n"+text, xstate.Origin{Agent: "bob"}))
	added := do(s.Append(ctx, patch.Block{ID: "new", Dialect: patch.Python, Source: "n = 1"}, "part1", xstate.Origin{Agent: "ann"}))
	edited := do(s.Patch(ctx, "new", "n = 2", xstate.Origin{Agent: "bob"}))
	deleted := do(s.Delete(ctx, "part2", xstate.Origin{Agent: "ann"}))
	moved := do(s.Move(ctx, "part4", "", xstate.Origin{Agent: "ann"}))
	head, before := a.head(), a.program()
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
	if a.head() != head || !cmp.Equal(before, a.program()) {
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
	if d := cmp.Diff(founded, a.program()); d != "" {
		t.Errorf("with everything taken back (-want +got):\n%s", d)
	}
	for n, want := range map[xstate.StepNumber]state.Code{deleted: xstate.CodeNothing, head + 99: state.CodeNoStep} {
		if _, err := s.PlanUndo(ctx, xstate.Which{First: n, Last: n}); state.CodeOf(err) != want {
			t.Errorf("undo of step %d: %v, want %s", n, err, want)
		}
	}
}

// TestUndoThereAndBack: whatever edits are taken back, taking that back restores the program, blocks in order and to the byte; and an
// undo that is refused changes nothing.
func TestUndoThereAndBack(t *testing.T) {
	seed := rand.Uint64()
	if text := os.Getenv("XSTATE_TEST_SEED"); text != "" {
		if _, err := fmt.Sscan(text, &seed); err != nil {
			t.Fatal(err)
		}
	}
	a := newAgents(t, seed, "ann", "bob")
	ctx, s := t.Context(), a.session
	undone, refused := 0, 0
	for round := range 120 {
		program := a.program()
		who := xstate.Origin{Agent: a.names[a.r.IntN(2)]}
		b := program[a.r.IntN(len(program))]
		var err error
		switch op := a.r.IntN(8); {
		case op < 3:
			lines := strings.Split(b.Source, "\n")
			at := a.r.IntN(len(lines) + 1)
			lines = slices.Replace(lines, at, min(len(lines), at+a.r.IntN(2)), fmt.Sprintf("line_%d = 1", round))
			_, err = s.Patch(ctx, xstate.BlockID(b.ID), strings.Join(lines, "\n"), who)
		case op == 3:
			_, err = s.Append(ctx, patch.Block{Dialect: patch.Python, Source: fmt.Sprintf("new_%d = 1", round)}, xstate.BlockID(b.ID), who)
		case op == 4 && len(program) > 3:
			_, err = s.Delete(ctx, xstate.BlockID(b.ID), who)
		case op == 5 && b.ID != program[0].ID:
			_, err = s.Move(ctx, xstate.BlockID(b.ID), "", who)
		case op == 6:
			_, err = s.Rollback(ctx, a.head()-xstate.StepNumber(a.r.IntN(3)), who)
		}
		if err != nil {
			t.Fatalf("seed %d, round %d: %v", seed, round, err)
		}
		head := a.head()
		w := xstate.Which{First: head - xstate.StepNumber(a.r.IntN(5)), Last: head}
		if a.r.IntN(2) == 0 {
			w.Agent = a.names[a.r.IntN(2)]
		}
		before := a.program()
		u, err := s.PlanUndo(ctx, w)
		if err != nil {
			if code := state.CodeOf(err); code != state.CodeConflict && code != xstate.CodeNothing {
				t.Fatalf("seed %d, round %d: undo %+v: %v", seed, round, w, err)
			}
			refused++
			if d := cmp.Diff(before, a.program()); d != "" {
				t.Fatalf("seed %d, round %d: a refused undo changed (-before +after):\n%s", seed, round, d)
			}
			continue
		}
		steps, err := s.Undo(ctx, u, xstate.Origin{Agent: "judge"})
		if err != nil {
			t.Fatalf("seed %d, round %d: %v", seed, round, err)
		}
		if d := cmp.Diff(u.Blocks, a.program()); d != "" {
			t.Fatalf("seed %d, round %d: undo is not what was planned (-planned +done):\n%s", seed, round, d)
		}
		if a.r.IntN(4) == 0 {
			continue // and go on from there
		}
		undone++
		if u, err = s.PlanUndo(ctx, xstate.Which{First: steps[0].Number, Last: steps[len(steps)-1].Number}); err == nil {
			_, err = s.Undo(ctx, u, xstate.Origin{})
		}
		if err != nil {
			t.Fatalf("seed %d, round %d: undo of the undo %+v: %v", seed, round, w, err)
		}
		if d := cmp.Diff(before, a.program()); d != "" {
			t.Fatalf("seed %d, round %d: there and back, %+v (-before +after):\n%s", seed, round, w, d)
		}
	}
	if undone < 10 || refused < 3 {
		t.Errorf("seed %d: %d undone, %d refused: too few to show anything", seed, undone, refused)
	}
}

// TestEditAtOnce: three edit one block at the same moment, each its own lines, from what it saw when it began. No update is lost.
func TestEditAtOnce(t *testing.T) {
	a := newAgents(t, 2, "ann", "bob", "cy")
	const rounds = 15
	var all sync.WaitGroup
	for who, name := range a.names {
		s, err := a.session.Store().Existing(t.Context(), a.session.Name(), xstate.SessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		seen := a.program()
		all.Go(func() {
			for i := range rounds {
				b := seen[0]
				lines := strings.Split(b.Source, "\n")
				lines[who] = fmt.Sprintf("%s = %d", name, i)
				b.Source = strings.Join(lines, "\n")
				if _, err := s.Edit(t.Context(), seen, []patch.Edit{{Op: patch.OpPatch, ID: b.ID, Block: b}}, xstate.Merge, xstate.Origin{Agent: name}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				seen[0] = b // it knows of nothing but its own edits
			}
		})
	}
	all.Wait()
	lines := strings.Split(a.program()[0].Source, "\n")
	for who, name := range a.names {
		if want := fmt.Sprintf("%s = %d", name, rounds-1); lines[who] != want {
			t.Errorf("line %d = %q, want %q", who+1, lines[who], want)
		}
	}
	if n := a.head(); n != xstate.StepNumber(5+3*rounds) {
		t.Errorf("%d steps, want one for each edit", n)
	}
}
