package query_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/state/query"
)

// TestAt: the program at a step is that of the step, whatever came after.
func TestAt(t *testing.T) {
	a := xstatetest.NewAsked(t, xstatetest.AskedFirst, xstatetest.AskedSecond)
	for i, want := range []struct{ factor, output, reason string }{{"2 * x", "[2, 4]\n", "version 1"},
		{"3 * x", "[3, 6]\n", "version 2"}} {
		snap, err := a.Session.History().At(t.Context(), a.Runs[i])
		if err != nil {
			t.Fatal(err)
		}
		scale, err := snap.Block("scale")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(scale.Source, want.factor) || scale.Origin.Reason != want.reason {
			t.Errorf(
				"scale after step %d = %q by %q, want %q by %q",
				a.Runs[i],
				scale.Source,
				scale.Origin.Reason,
				want.factor,
				want.reason,
			)
		}
		report, err := snap.Block("report")
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Outputs) != 1 || report.Outputs[0].Text != want.output {
			t.Errorf("outputs of report after step %d = %+v, want %q", a.Runs[i], report.Outputs, want.output)
		}
		scaled, err := snap.Block("scaled")
		if err != nil {
			t.Fatal(err)
		}
		got := map[xstate.Key]string{}
		for _, r := range scaled.Nodes[0].Reads {
			if r.By != "" {
				got[r.Key] = r.By
			}
		}
		if d := cmp.Diff(map[xstate.Key]string{"var:rows": "load", "var:scale": "scale"}, got); d != "" {
			t.Errorf("reads of scaled after step %d (-want +got):\n%s", a.Runs[i], d)
		}
	}
	edit, err := a.Session.History().At(t.Context(), a.Runs[0]+1)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := edit.Block("scale"); edit.NextRun != a.Runs[1] || b.Status != "new" || len(b.Nodes) != 0 {
		t.Errorf(
			"after the edit: next run %d, scale %s with %d nodes, want %d, new and none",
			edit.NextRun,
			b.Status,
			len(b.Nodes),
			a.Runs[1],
		)
	}
	if _, err := a.Session.History().At(t.Context(), 99); err == nil || !strings.Contains(err.Error(), "no step 99") {
		t.Errorf("At(99) = %v, want no step 99", err)
	}
}

// TestCommentIsNoNews: a block whose code is the same but for a comment is up to date after the run, not "new".
func TestCommentIsNoNews(t *testing.T) {
	a := xstatetest.NewAsked(
		t,
		xstatetest.AskedFirst,
		strings.Replace(xstatetest.AskedFirst, "# %% load\n", "# %% load\n# the data\n", 1),
	)
	snap, err := a.Session.History().At(t.Context(), a.Runs[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range snap.Blocks {
		if b.Status == "new" || len(b.Nodes) == 0 {
			t.Errorf("block %s is %s with %d nodes, want it up to date", b.ID, b.Status, len(b.Nodes))
		}
	}
}

// TestDiff: what changed between two steps, and nothing else.
func TestDiff(t *testing.T) {
	a := xstatetest.NewAsked(t, xstatetest.AskedFirst, xstatetest.AskedSecond)
	changes, err := a.Session.History().Diff(t.Context(), a.Runs[0], a.Runs[1])
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		got = append(got, string(c.ID)+" "+c.Op)
	}
	if d := cmp.Diff([]string{"scale patch", "scaled ", "report "}, got); d != "" {
		t.Fatalf("Diff (-want +got):\n%s", d)
	}
	if values := changes[1].Values; len(values) != 1 || values[0].Key != "var:scaled" ||
		values[0].Was == values[0].Now {
		t.Errorf("Diff = %+v, want another value of scaled", changes)
	}
	if !strings.Contains(changes[0].Diff, "-    return 2 * x\n+    return 3 * x\n") ||
		!strings.Contains(changes[2].Outputs, "[3, 6]") {
		t.Errorf("Diff = %+v, want the new line and the new output", changes)
	}
	if same, err := a.Session.History().Diff(t.Context(), a.Runs[1], a.Runs[1]); err != nil || len(same) != 0 {
		t.Errorf("Diff of a step with itself = %v, %v, want nothing", same, err)
	}
}

// TestLog: newest first, with the lines of edits and the counts of runs.
func TestLog(t *testing.T) {
	a := xstatetest.NewAsked(t, xstatetest.AskedFirst, xstatetest.AskedSecond)
	entries, err := a.Session.History().Log(t.Context(), 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 || entries[0].Run == nil || entries[0].Run.Blocks.Ran != 3 || entries[1].Added != 1 ||
		entries[1].Removed != 1 {
		t.Errorf("Log(2) = %+v, want a run of 3 blocks, then a patch +1 -1", entries)
	}
	if all, err := a.Session.History().Log(t.Context(), 0, 0); err != nil || len(all) != int(a.Runs[1]) {
		t.Errorf("Log(0) has %d steps, %v, want %d", len(all), err, a.Runs[1])
	}
}

// TestAffected: what must re-run if a block, a name or a file is regenerated.
func TestAffected(t *testing.T) {
	a := xstatetest.NewAsked(t, xstatetest.AskedFirst)
	d, err := a.Session.History().Dependencies(t.Context(), a.Runs[0])
	if err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string][]string{
		"scale":    {"scale", "scaled", "report"},
		"rows":     {"load", "scaled", "report"},
		"data.csv": {"load", "scaled", "report"},
		"other":    {"other"},
		"report":   {"report"},
	} {
		found, err := d.Affected(what)
		if err != nil {
			t.Errorf("Affected(%q): %v", what, err)
			continue
		}
		if got := dependents(found); !slices.Equal(got, want) {
			t.Errorf("Affected(%q) = %v, want %v", what, got, want)
		}
	}
	readers, err := d.Readers("load")
	if got := dependents(readers); err != nil || !slices.Equal(got, []string{"scaled"}) {
		t.Errorf("Readers(load) = %v, %v, want scaled", got, err)
	}
	if _, err := d.Affected("nonsense"); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("Affected(nonsense) = %v, want an error that names it", err)
	}
	path, err := d.Path("load", "report")
	if err != nil || !slices.Equal(path, []string{"load", "scaled", "report"}) {
		t.Errorf("Path(load, report) = %v, %v", path, err)
	}
	s, err := d.Symbol("rows")
	if err != nil || len(s.Writers) != 1 || s.Writers[0].Node != "load" || len(s.Readers) != 1 ||
		s.Readers[0].Digest != s.Writers[0].Digest {
		t.Errorf("Symbol(rows) = %+v, %v, want written by load, read by one with the same digest", s, err)
	}
}

func dependents(list []query.Dependent) []string {
	var ids []string
	for _, d := range list {
		ids = append(ids, string(d.Block))
	}
	return ids
}
