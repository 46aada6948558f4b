package query_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/patch/syntax"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// summed is the credit of a session's steps, added up one by one.
func summed(t *testing.T, s *xstate.Session) query.CreditRow {
	t.Helper()
	var sum query.CreditRow
	for step, err := range s.Store().State().Steps(t.Context(), s.Name(), 1, math.MaxUint64) {
		if err != nil {
			t.Fatal(err)
		}
		switch step.Kind {
		case state.KindAppend, state.KindPatch, state.KindMove, state.KindDelete:
			sum.Patches++
		case state.KindRun:
			sum.Caused += time.Duration(math.Round(step.Run.Seconds * 1e9))
			sum.Saved += time.Duration(math.Round(step.Run.SavedSeconds * 1e9))
		}
		sum.TokensIn += step.Origin.TokensIn
		sum.TokensOut += step.Origin.TokensOut
		sum.Cost += step.Origin.Cost
	}
	return sum
}

func credit(t *testing.T, s *xstate.Session, by query.CreditBy) *query.Credit {
	t.Helper()
	head, _, err := s.Store().State().Head(t.Context(), s.Name())
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.History().Credit(t.Context(), head, by)
	if err != nil {
		t.Fatal(err)
	}
	var sum query.CreditRow
	for _, r := range c.Rows {
		sum.Patches, sum.Broken, sum.Fixed = sum.Patches+r.Patches, sum.Broken+r.Broken, sum.Fixed+r.Fixed
		sum.Caused, sum.Saved = sum.Caused+r.Caused, sum.Saved+r.Saved
		sum.TokensIn, sum.TokensOut, sum.Cost = sum.TokensIn+r.TokensIn, sum.TokensOut+r.TokensOut, sum.Cost+r.Cost
	}
	if d := cmp.Diff(sum, c.Total); d != "" {
		t.Errorf("the rows are not the total (-rows +total):\n%s", d)
	}
	want := summed(t, s)
	want.Broken, want.Fixed = c.Total.Broken, c.Total.Fixed
	if d := cmp.Diff(want, c.Total); d != "" {
		t.Errorf("the total is not the sum over the steps (-steps +total):\n%s", d)
	}
	return c
}

// TestCredit: who broke what and who fixed it is told along the reasons for which blocks ran, also where several edit
// before a run.
func TestCredit(t *testing.T) {
	dir := t.TempDir()
	s := xstatetest.OpenSession(
		t,
		xstatetest.OpenStore(t, dir+"/"+xstate.StoreName),
		xstate.SessionOptions{Workspace: dir, Seed: 7},
	)
	ctx := t.Context()
	edit := func(who, block, source string) {
		t.Helper()
		if _, err := s.Patch(ctx, xstate.BlockID(block), source,
			xstate.Origin{Agent: who, CallID: who + "/" + block, TokensIn: 10, TokensOut: 1, Cost: 3}); err != nil {
			t.Fatal(err)
		}
	}
	run := func(o runner.RunOptions) {
		t.Helper()
		if _, _, err := s.Run(ctx, o, xstate.Origin{Agent: "runner"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range [][2]string{{"x", "x = 1"}, {"y", "y = 1"}, {"fx", "assert x < 10"},
		{"fy", "z = y\nassert y < 10"}, {"last", "print(x, y)"}} {
		if _, err := s.Append(ctx, patch.Block{ID: b[0], Dialect: syntax.Python, Source: b[1]}, "",
			xstate.Origin{Agent: "founder"}); err != nil {
			t.Fatal(err)
		}
	}
	run(runner.RunOptions{})
	edit("ann", "x", "x = 10") // breaks fx,
	edit("bob", "y", "y = 2")  // which bob does not
	run(runner.RunOptions{})
	edit("bob", "y", "y = 12") // breaks fy
	edit("cy", "x", "x = 3")   // fixes fx
	run(runner.RunOptions{})
	edit("cy", "fy", "z = y\nassert y < 100") // fixes fy
	edit("ann", "last", "print(x, y, z)")
	run(runner.RunOptions{})
	run(runner.RunOptions{Fresh: true})

	type counts struct{ Patches, Broken, Fixed int }
	got := map[string]counts{}
	for _, r := range credit(t, s, query.CreditBy{Agent: true}).Rows {
		got[r.Agent] = counts{r.Patches, r.Broken, r.Fixed}
		if (r.Caused > 0) != (r.Agent != "") {
			t.Errorf("%q caused %v", r.Agent, r.Caused)
		}
	}
	want := map[string]counts{"founder": {5, 0, 0}, "ann": {2, 1, 0}, "bob": {2, 1, 0}, "cy": {2, 0, 2}, "runner": {}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("patches, broken and fixed (-want +got):\n%s", d)
	}
	if rows := credit(t, s, query.CreditBy{Call: true}).Rows; len(rows) != 6 {
		t.Errorf("%d rows by call, want 5 calls and what belongs to none: %+v", len(rows), rows)
	}
}

// TestCreditSums: whatever agents do, the rows are the total, and the total is the sum over the steps.
func TestCreditSums(t *testing.T) {
	a := xstatetest.NewAgents(t, 9, "ann", "bob")
	fresh := rand.New(rand.NewPCG(9, 1))
	for round := range 24 {
		a.Edit(a.R.IntN(2), slices.DeleteFunc(a.Program(), func(b patch.Block) bool { return b.ID == "part1" }))
		switch round % 6 {
		case 2:
			source := fmt.Sprintf("undefined_%d", round)
			if round%12 == 8 {
				source = "print(1)"
			}
			if _, err := a.Session.Patch(t.Context(), "part1", source,
				xstate.Origin{Agent: "cy", Cost: 7, TokensOut: 5}); err != nil {
				t.Fatal(err)
			}
			fallthrough
		case 4:
			if _, _, err := a.Session.Run(t.Context(), runner.RunOptions{Fresh: fresh.IntN(4) == 0},
				xstate.Origin{Agent: "runner", TokensIn: 2}); err != nil {
				t.Fatal(err)
			}
		case 3:
			if _, err := a.Session.Rollback(t.Context(), a.Head()-2, xstate.Origin{Agent: "cy"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, by := range []query.CreditBy{{}, {Agent: true}, {Call: true}, {Agent: true, Model: true, Call: true}} {
		if c := credit(t, a.Session, by); c.Total.Patches == 0 || c.Total.Caused == 0 || c.Total.Saved == 0 ||
			c.Total.Broken == 0 ||
			c.Total.Fixed == 0 {
			t.Errorf("%+v: %+v shows nothing", by, c.Total)
		}
	}
}
