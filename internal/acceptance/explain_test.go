package acceptance

import (
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/runner"
)

// TestWhy: the reason of a re-run names the key, both digests, both values and the node that wrote the key.
func TestWhy(t *testing.T) {
	a := xstatetest.NewAsked(t, xstatetest.AskedFirst, xstatetest.AskedSecond)
	x, planned, err := a.Session.Why(t.Context(), "report", nil)
	if err != nil || planned != nil {
		t.Fatalf("Why: %v, %v", err, planned)
	}
	n := x.Nodes[0]
	if n.Action != "ran" || n.Reason.Key != "var:scaled" || n.Reason.By != "scaled" || n.Reason.Was == n.Reason.Now {
		t.Errorf("reason of report = %+v, want that scaled, written by scaled, changed", n)
	}
	if n.WasValue == nil || n.NowValue == nil {
		t.Errorf("values of the reason = %v and %v, want both", n.WasValue, n.NowValue)
	}
	if len(x.Next) != 1 || x.Next[0].Action != string(runner.ActReuse) {
		t.Errorf("next = %+v, want reuse", x.Next)
	}
	x, _, err = a.Session.Why(
		t.Context(),
		"report",
		xstatetest.ParseScript(t, xstatetest.AskedFirst+"# %% more\nprint(1)\n"),
	)
	if err != nil {
		t.Fatal(err)
	}
	if x.Pending != "" {
		t.Errorf("pending of report, whose text is the same = %q, want none", x.Pending)
	}
	x, _, err = a.Session.Why(t.Context(), "scale", xstatetest.ParseScript(t, xstatetest.AskedFirst))
	if err != nil {
		t.Fatal(err)
	}
	if x.Pending != "edited" {
		t.Errorf("pending of scale = %q, want edited", x.Pending)
	}
	if _, _, err = a.Session.Why(t.Context(), "nope", nil); err == nil {
		t.Error("Why of a block that is not there: want an error")
	}
}

// TestLoadFile: bytes that gave the program before give no edit, whatever came in between; other bytes do.
func TestLoadFile(t *testing.T) {
	a := xstatetest.NewAsked(t)
	load := func(source string) int {
		t.Helper()
		steps, err := a.Session.LoadFile(t.Context(), "prog.py", []byte(source), xstate.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		return len(steps)
	}
	for i, c := range []struct {
		source string
		edits  int
	}{{xstatetest.AskedFirst, 5}, {xstatetest.AskedFirst, 0}, {xstatetest.AskedSecond, 1}, {xstatetest.AskedSecond, 0},
		{xstatetest.AskedFirst, 1}, {xstatetest.AskedFirst, 0}} {
		if got := load(c.source); got != c.edits {
			t.Errorf("load %d made %d edits, want %d", i, got, c.edits)
		}
	}
	if _, err := a.Session.Patch(t.Context(), "report", "print(1)", xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	if got := load(xstatetest.AskedFirst); got != 1 {
		t.Errorf("load after an edit past the file made %d edits, want 1", got)
	}
}
