package xstatetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/patch/syntax"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Agents write a program of blocks whose lines have one owner each: line i of a block belongs to agent i modulo their
// number. Every line is written with a number that no other line ever has, so that its text identifies its writer.
type Agents struct {
	t       *testing.T
	Session *xstate.Session
	R       *rand.Rand
	Names   []string
	number  int
	wrote   map[string]xstate.StepNumber // the step that wrote a line, by its text
	Slots   map[Slot][]string            // what was written there, oldest first
	Refused int
	Merged  int
}

// Slot is a line of a block, which one agent owns.
type Slot struct {
	block string
	Line  int
}

const slotLines = 9

// NewAgents opens a session in a temporary folder and writes the first program.
func NewAgents(t *testing.T, seed uint64, names ...string) *Agents {
	dir := t.TempDir()
	a := &Agents{
		t:     t,
		R:     rand.New(rand.NewPCG(seed, 5)),
		Names: names,
		wrote: map[string]xstate.StepNumber{},
		Slots: map[Slot][]string{},
	}
	a.Session = OpenSession(t, OpenStore(t, dir+"/"+xstate.StoreName), xstate.SessionOptions{Workspace: dir, Seed: 7})
	for b := range 5 {
		block := patch.Block{ID: fmt.Sprintf("part%d", b), Dialect: syntax.Python}
		var lines []string
		for i := range slotLines {
			lines = append(lines, a.line(Slot{block.ID, i}))
		}
		block.Source = strings.Join(
			append(
				lines,
				fmt.Sprintf("print(sum(v for k, v in list(vars().items()) if k.startswith(%q)))", "v"+block.ID),
			),
			"\n",
		)
		step, err := a.Session.Append(t.Context(), block, "", xstate.Origin{Agent: "founder"})
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

func (a *Agents) line(s Slot) string {
	a.number++
	text := fmt.Sprintf("v%s_%d = %d", s.block, s.Line, a.number)
	a.Slots[s] = append(a.Slots[s], text)
	return text
}

// Program returns the blocks of the present program.
func (a *Agents) Program() []patch.Block {
	blocks, _, err := a.Session.History().Program(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	return query.PatchBlocks(blocks)
}

// Edit lets one agent submit a whole block, made from the program that it saw, with its own lines in it.
func (a *Agents) Edit(who int, seen []patch.Block) {
	b := seen[a.R.IntN(len(seen))]
	lines := strings.Split(b.Source, "\n")
	var written []string
	for i := range slotLines {
		if i%len(a.Names) == who && a.R.IntN(2) == 0 {
			lines[i] = a.line(Slot{b.ID, i})
			written = append(written, lines[i])
		}
	}
	if written == nil {
		return
	}
	b.Source = strings.Join(lines, "\n")
	edits := []patch.Edit{{Op: patch.OpPatch, ID: b.ID, Block: b}}
	origin := xstate.Origin{
		Agent:    a.Names[who],
		Model:    "m/" + a.Names[who],
		CallID:   fmt.Sprintf("call-%d", a.number),
		TokensIn: int64(a.number),
	}
	steps, err := a.Session.Edit(a.t.Context(), seen, edits, xstate.Refuse, origin)
	if err != nil {
		var both *xstate.MergeError
		if state.CodeOf(err) != state.CodeConflict || !errors.As(err, &both) ||
			both.Conflicts[0].Clashes[0].Theirs != b.Source {
			a.t.Fatalf("a stale edit gives %v, want a conflict that shows both sides", err)
		}
		a.Refused++
		if steps, err = a.Session.Edit(a.t.Context(), seen, edits, xstate.Merge, origin); err != nil {
			a.t.Fatal(err)
		}
		a.Merged++
	}
	if len(steps) != 1 {
		a.t.Fatalf("%d steps, want 1", len(steps))
	}
	for _, line := range written {
		a.wrote[line] = steps[0].Number
	}
}

// Check verifies every line, and that blame knows the author of each.
func (a *Agents) Check(what string, want func(Slot) string) {
	a.t.Helper()
	head := a.Head()
	for _, b := range a.Program() {
		blame, err := a.Session.History().Blame(a.t.Context(), head, xstate.BlockID(b.ID))
		if err != nil {
			a.t.Fatal(err)
		}
		if len(blame) != slotLines+1 {
			a.t.Fatalf("%s: blame of %s has %d lines", what, b.ID, len(blame))
		}
		for i, l := range blame {
			if i < slotLines && l.Text != want(Slot{b.ID, i}) {
				a.t.Errorf("%s: %s line %d = %q, want %q", what, b.ID, i+1, l.Text, want(Slot{b.ID, i}))
			}
			who := "founder"
			if n := slices.Index(a.Slots[Slot{b.ID, i}], l.Text); n > 0 {
				who = a.Names[i%len(a.Names)]
			}
			if l.Step != a.wrote[l.Text] || l.Origin.Agent != who || l.Line != i+1 {
				a.t.Errorf(
					"%s: blame of %s line %d %q = step %d by %q, want step %d by %q",
					what,
					b.ID,
					l.Line,
					l.Text,
					l.Step,
					l.Origin.Agent,
					a.wrote[l.Text],
					who,
				)
			}
		}
	}
}

// Head returns the last step of the session.
func (a *Agents) Head() xstate.StepNumber {
	n, _, err := a.Session.Store().State().Head(a.t.Context(), a.Session.Name())
	if err != nil {
		a.t.Fatal(err)
	}
	return n
}

// Run runs the program, compares the outcome with a run from scratch, and returns the number of executed nodes.
func (a *Agents) Run() int {
	a.t.Helper()
	out, step, err := a.Session.Run(a.t.Context(), runner.RunOptions{}, xstate.Origin{})
	if err != nil {
		a.t.Fatal(err)
	}
	found, err := replay.Verify(a.t.Context(), a.Session.Subject(), out, runner.RunOptions{})
	if err != nil || len(found) > 0 {
		a.t.Errorf("not equal to a run from scratch: %v, %v", found, err)
	}
	return step.Run.Nodes.Ran
}
