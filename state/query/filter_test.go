package query_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

const filteredProgram = `# %% load
rows = [int(x) for x in open("data.csv")]
# %% scale
def scale(x):
    return 2 * x
# %% scaled
scaled = [scale(r) for r in rows]
# %% when
import time
now = time.time()
# %% later
then = now + 1
# %% bad
1 / 0
# %% other
print("other")
`

// nameList returns what a filter found, by name.
func nameList(f *query.Found) []string {
	list := []string{}
	for _, b := range f.Blocks {
		list = append(list, string(b.ID))
	}
	for _, t := range f.Traces {
		list = append(list, t.Name)
	}
	for _, e := range f.Steps {
		list = append(list, string(e.Kind)+" "+string(e.Block))
	}
	return list
}

// TestWhere: one expression each over blocks, traces, steps and origins, at the steps that they are of.
func TestWhere(t *testing.T) {
	a := xstatetest.NewAsked(t, filteredProgram, strings.Replace(filteredProgram, "2 * x", "3 * x", 1))
	first, last := a.Runs[0], a.Runs[1]
	for _, c := range []struct {
		at         xstate.StepNumber
		expression string
		about      query.Subject
		want       []string
	}{
		{last, `block.status == "failed"`, query.AboutBlocks, []string{"bad"}},
		{last, `block.error.contains("ZeroDivision")`, query.AboutBlocks, []string{"bad"}},
		{last, `block.index < 2 && block.seconds >= 0.0`, query.AboutBlocks, []string{"load", "scale"}},
		{last, `"clock" in block.marks`, query.AboutBlocks, []string{"when"}},
		{last, `"var:scale" in block.reads`, query.AboutBlocks, []string{"scaled"}},
		{last, `block.output.contains("other")`, query.AboutBlocks, []string{"other"}},
		{last, `origin.agent == "coder" && origin.reason.endsWith("2")`, query.AboutBlocks, []string{"scale"}},
		{last, `block.source.contains("* x") && step.kind == "patch"`, query.AboutBlocks, []string{"scale"}},
		{first, `block.source.contains("3 * x")`, query.AboutBlocks, []string{}},
		{last, `block.edited_at > timestamp("2020-01-01T00:00:00Z") && block.title.matches("^s")`, query.AboutBlocks,
			[]string{"scale", "scaled"}},
		{last, `trace.reads.exists(r, r.key == "file:data.csv")`, query.AboutTraces, []string{"load"}},
		{last, `trace.writes.exists(w, w.type == "list" && w.by == "")`, query.AboutTraces, []string{"load", "scaled"}},
		{last, `trace.reason == "input-changed" && trace.key == "var:scale"`, query.AboutTraces, []string{"scaled"}},
		{last, `trace.block == block.id && block.id.startsWith("when")`, query.AboutTraces,
			[]string{"when#1", "when#2"}},
		{last, `step.kind == "run"`, query.AboutSteps, []string{"run ", "run "}},
		{first, `step.kind == "run"`, query.AboutSteps, []string{"run "}},
		{last, `step.kind == "patch" && step.added + step.removed > 1`, query.AboutSteps, []string{"patch scale"}},
		{last, `step.block == "load" && origin.reason == "version 1"`, query.AboutSteps, []string{"append load"}},
		{last, `step.failed > 0 && step.ran >= 4 && step.number > ` + "7", query.AboutSteps, []string{"run "}},
	} {
		f, err := query.NewFilter(c.expression)
		if err != nil {
			t.Errorf("NewFilter(%s): %v", c.expression, err)
			continue
		}
		found, err := a.Session.History().Where(t.Context(), c.at, f, query.Page{})
		if err != nil {
			t.Errorf("Where(%s): %v", c.expression, err)
			continue
		}
		if d := cmp.Diff(c.want, nameList(found)); d != "" || found.Subject != c.about {
			t.Errorf("Where(%s) is of %s (-want %s +got):\n%s", c.expression, found.Subject, c.about, d)
		}
	}
}

// TestWherePages: page after page is the whole answer.
func TestWherePages(t *testing.T) {
	a := xstatetest.NewAsked(t, filteredProgram, strings.Replace(filteredProgram, "2 * x", "3 * x", 1))
	for _, expression := range []string{"true", `trace.seconds >= 0.0`, "step.number > 0"} {
		f, err := query.NewFilter(expression)
		if err != nil {
			t.Fatal(err)
		}
		all, err := a.Session.History().Where(t.Context(), a.Runs[1], f, query.Page{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		p := query.Page{Limit: 2}
		for range 20 {
			found, err := a.Session.History().Where(t.Context(), a.Runs[1], f, p)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(nameList(found)); n > 2 || n == 0 {
				t.Fatalf("a page of %s has %d entries, want 1 or 2", expression, n)
			}
			got = append(got, nameList(found)...)
			if p.After = found.Next; p.After == "" {
				break
			}
		}
		if d := cmp.Diff(nameList(all), got); d != "" || len(got) < 5 {
			t.Errorf("pages of %s (-all at once +together):\n%s", expression, d)
		}
		if _, err := a.Session.History().Where(t.Context(), a.Runs[1], f, query.Page{After: "nonsense"}); state.CodeOf(
			err,
		) != state.CodeInvalid {
			t.Errorf("a page after nonsense = %v, want %s", err, state.CodeInvalid)
		}
	}
}

// TestBadExpressions: an error names the place of the mistake and the names that exist.
func TestBadExpressions(t *testing.T) {
	for expression, want := range map[string]string{
		"block.statu == 'failed'":      "column 6: undefined field 'statu'",
		"block.status = 'failed'":      "column 14",
		"blok.status == 'failed'":      "column 1: undeclared reference to 'blok'",
		"block.status":                 "it gives string",
		"":                             "column 1",
		"block.status == 3":            "column 14: found no matching overload",
		"block.status ==\n 'x' && ???": "line 2",
	} {
		_, err := query.NewFilter(expression)
		if state.CodeOf(err) != query.CodeExpression || !strings.Contains(err.Error(), want) {
			t.Errorf("NewFilter(%q) = %v, want %s with %q", expression, err, query.CodeExpression, want)
			continue
		}
		if hint := err.(*xstate.Error).Hint; !strings.Contains(hint, "block: id, index") ||
			!strings.Contains(hint, "origin: agent, model") {
			t.Errorf("hint of %q = %q, want the names", expression, hint)
		}
	}
	a := xstatetest.NewAsked(t, "x = 1\n")
	f, err := query.NewFilter(`[1, 2][block.index + 5] == 1`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Session.History().Where(t.Context(), a.Runs[0], f, query.Page{}); state.CodeOf(
		err,
	) != query.CodeExpression {
		t.Errorf("an expression that fails = %v, want %s", err, query.CodeExpression)
	}
}

// TestStates: what failed, what may differ, and what nobody has confirmed.
func TestStates(t *testing.T) {
	a := xstatetest.NewAsked(t, filteredProgram)
	ids := func(n xstate.StepNumber, keep func(*query.BlockView) bool) []string {
		t.Helper()
		snap, err := a.Session.History().At(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		list := []string{}
		for _, b := range snap.Select(keep) {
			list = append(list, string(b.ID))
		}
		return list
	}
	if d := cmp.Diff([]string{"bad"}, ids(a.Runs[0], (*query.BlockView).Failed)); d != "" {
		t.Errorf("failed (-want +got):\n%s", d)
	}
	d, err := a.Session.History().Dependencies(t.Context(), a.Runs[0])
	if err != nil {
		t.Fatal(err)
	}
	want := []query.Volatile{
		{Block: "when", Index: 3, Marks: []string{"clock"}, Inherited: []string{}},
		{Block: "later", Index: 4, Marks: []string{}, Inherited: []string{"clock"}},
	}
	if d := cmp.Diff(want, d.Volatile()); d != "" {
		t.Errorf("volatile (-want +got):\n%s", d)
	}

	all := ids(a.Runs[0], (*query.BlockView).Unverified)
	if len(all) != 7 {
		t.Errorf("unverified before any comparison = %v, want all", all)
	}
	out, step, err := a.Session.Run(t.Context(), runner.RunOptions{Timeout: await.Long}, xstate.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := replay.Verify(t.Context(), a.Session.Subject(), out, runner.RunOptions{Timeout: await.Long})
	if err != nil {
		t.Fatal(err)
	}
	if found, err = replay.Attribute(t.Context(), a.Session.Subject(), step.Number, found); err != nil {
		t.Fatal(err)
	}
	said, err := replay.Confirm(t.Context(), a.Session.Subject(), step.Number, found, xstate.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	if v := said.Verified; said.Kind != state.KindDeclare || v.Of != step.Number || v.Blocks != 5 ||
		v.Differences != 0 ||
		v.Explained == 0 {
		t.Errorf("the step says %+v, want 5 blocks equal and what reads the clock explained", v)
	}
	if d := cmp.Diff([]string{"when", "later"}, ids(said.Number, (*query.BlockView).Unverified)); d != "" {
		t.Errorf("unverified (-want +got):\n%s", d)
	}
	a.Run(t, strings.Replace(filteredProgram, "2 * x", "3 * x", 1))
	if d := cmp.Diff([]string{"scale", "scaled", "when", "later"},
		ids(a.Runs[1], (*query.BlockView).Unverified)); d != "" {
		t.Errorf("unverified after an edit (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"when", "later"}, ids(said.Number, (*query.BlockView).Unverified)); d != "" {
		t.Errorf("unverified at the step before (-want +got):\n%s", d)
	}
	if problems, err := a.Store.State().Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("check: %v, %v", problems, err)
	}
}

// TestVersions: when a version was there, over edits, a rollback and a deletion; and what an edit led to.
func TestVersions(t *testing.T) {
	a := xstatetest.NewAsked(t, xstatetest.AskedFirst, xstatetest.AskedSecond)
	version := func(n xstate.StepNumber) string {
		t.Helper()
		snap, err := a.Session.History().At(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		b, err := snap.Block("scale")
		if err != nil {
			t.Fatal(err)
		}
		return string(b.Version)
	}
	first, second := version(a.Runs[0]), version(a.Runs[1])
	back, err := a.Session.Rollback(t.Context(), a.Runs[0], xstate.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	gone, err := a.Session.Delete(t.Context(), "scale", xstate.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	spans := func(v string) [][2]xstate.StepNumber {
		t.Helper()
		found, err := a.Session.History().Version(t.Context(), v[:12])
		if err != nil || len(found) != 1 || found[0].Block != "scale" || string(found[0].Version) != v {
			t.Fatalf("Version(%s) = %+v, %v", v, found, err)
		}
		var list [][2]xstate.StepNumber
		for _, s := range found[0].Spans {
			list = append(list, [2]xstate.StepNumber{s.First.Number, s.Last})
		}
		return list
	}
	edit := a.Runs[0] + 1
	if d := cmp.Diff([][2]xstate.StepNumber{{2, a.Runs[0]}, {back.Number, gone.Number - 1}}, spans(first)); d != "" {
		t.Errorf("spans of the first version (-want +got):\n%s", d)
	}
	if d := cmp.Diff([][2]xstate.StepNumber{{edit, back.Number - 1}}, spans(second)); d != "" {
		t.Errorf("spans of the second version (-want +got):\n%s", d)
	}
	for _, bad := range []string{"12", "ffffffff", "nonsense"} {
		if _, err := a.Session.History().Version(t.Context(), bad); state.CodeOf(err) != query.CodeNoVersion {
			t.Errorf("Version(%s) = %v, want %s", bad, err, query.CodeNoVersion)
		}
	}

	patches, err := a.Session.History().Patches(t.Context(), "7")
	if err != nil || len(patches) != 1 {
		t.Fatalf("Patches(7) = %+v, %v", patches, err)
	}
	p := patches[0]
	var then []string
	for _, r := range p.Ran {
		then = append(then, string(r.Block)+" "+r.Reason.Code)
	}
	if !strings.Contains(p.Diff, "+    return 3 * x") || p.NextRun != a.Runs[1] ||
		!slices.Equal(then, []string{"scale code-changed", "scaled input-changed", "report input-changed"}) {
		t.Errorf("the patch = %+v, then ran %v", p, then)
	}
	for _, bad := range []string{"6", "99", "no-call"} {
		if _, err := a.Session.History().Patches(t.Context(), bad); state.CodeOf(err) != state.CodeNoStep {
			t.Errorf("Patches(%s) = %v, want %s", bad, err, state.CodeNoStep)
		}
	}
}
