package xstate_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state/query"
)

// asked is a session to ask questions of: two versions of a program, each run.
type asked struct {
	dir     string
	store   *xstate.Store
	session *xstate.Session
	runs    []xstate.StepNumber
}

func newAsked(t *testing.T, versions ...string) *asked {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, map[string][]byte{"data.csv": []byte("1\n2\n")})
	a := &asked{dir: dir, store: openStore(t, filepath.Join(dir, xstate.StoreName))}
	a.session = openSession(t, a.store, xstate.SessionOptions{Workspace: dir, Seed: 7})
	for _, v := range versions {
		a.run(t, v)
	}
	return a
}

func (a *asked) run(t *testing.T, source string) {
	t.Helper()
	_, err := a.session.Load(t.Context(), parse(t, source), xstate.Origin{Agent: "coder", Reason: "version " + string(rune('1'+len(a.runs)))})
	if err != nil {
		t.Fatal(err)
	}
	_, step, err := a.session.Run(t.Context(), runner.RunOptions{Timeout: time.Minute}, xstate.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	a.runs = append(a.runs, step.Number)
}

func parse(t *testing.T, source string) []patch.Block {
	t.Helper()
	p, err := patch.Parse("prog.py", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return p.Blocks
}

const askedFirst = `# %% load
rows = [int(x) for x in open("data.csv")]
# %% scale
def scale(x):
    return 2 * x
# %% scaled
scaled = [scale(r) for r in rows]
# %% report
print(scaled)
# %% other
print("other")
`

var askedSecond = strings.Replace(askedFirst, "2 * x", "3 * x", 1)

// TestAt: the program at a step is that of the step, whatever came after.
func TestAt(t *testing.T) {
	a := newAsked(t, askedFirst, askedSecond)
	for i, want := range []struct{ factor, output, reason string }{{"2 * x", "[2, 4]\n", "version 1"}, {"3 * x", "[3, 6]\n", "version 2"}} {
		snap, err := a.session.History().At(t.Context(), a.runs[i])
		if err != nil {
			t.Fatal(err)
		}
		scale, err := snap.Block("scale")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(scale.Source, want.factor) || scale.Origin.Reason != want.reason {
			t.Errorf("scale after step %d = %q by %q, want %q by %q", a.runs[i], scale.Source, scale.Origin.Reason, want.factor, want.reason)
		}
		report, err := snap.Block("report")
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Outputs) != 1 || report.Outputs[0].Text != want.output {
			t.Errorf("outputs of report after step %d = %+v, want %q", a.runs[i], report.Outputs, want.output)
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
			t.Errorf("reads of scaled after step %d (-want +got):\n%s", a.runs[i], d)
		}
	}
	edit, err := a.session.History().At(t.Context(), a.runs[0]+1)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := edit.Block("scale"); edit.NextRun != a.runs[1] || b.Status != "new" || len(b.Nodes) != 0 {
		t.Errorf("after the edit: next run %d, scale %s with %d nodes, want %d, new and none", edit.NextRun, b.Status, len(b.Nodes), a.runs[1])
	}
	if _, err := a.session.History().At(t.Context(), 99); err == nil || !strings.Contains(err.Error(), "no step 99") {
		t.Errorf("At(99) = %v, want no step 99", err)
	}
}

// TestCommentIsNoNews: a block whose code is the same but for a comment is up to date after the run, not "new".
func TestCommentIsNoNews(t *testing.T) {
	a := newAsked(t, askedFirst, strings.Replace(askedFirst, "# %% load\n", "# %% load\n# the data\n", 1))
	snap, err := a.session.History().At(t.Context(), a.runs[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range snap.Blocks {
		if b.Status == "new" || len(b.Nodes) == 0 {
			t.Errorf("block %s is %s with %d nodes, want it up to date", b.ID, b.Status, len(b.Nodes))
		}
	}
}

// TestWhy: the reason of a re-run names the key, both digests, both values and the node that wrote the key.
func TestWhy(t *testing.T) {
	a := newAsked(t, askedFirst, askedSecond)
	x, planned, err := a.session.Why(t.Context(), "report", nil)
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
	x, _, err = a.session.Why(t.Context(), "report", parse(t, askedFirst+"# %% more\nprint(1)\n"))
	if err != nil {
		t.Fatal(err)
	}
	if x.Pending != "" {
		t.Errorf("pending of report, whose text is the same = %q, want none", x.Pending)
	}
	x, _, err = a.session.Why(t.Context(), "scale", parse(t, askedFirst))
	if err != nil {
		t.Fatal(err)
	}
	if x.Pending != "edited" {
		t.Errorf("pending of scale = %q, want edited", x.Pending)
	}
	if _, _, err = a.session.Why(t.Context(), "nope", nil); err == nil {
		t.Error("Why of a block that is not there: want an error")
	}
}

// TestDiff: what changed between two steps, and nothing else.
func TestDiff(t *testing.T) {
	a := newAsked(t, askedFirst, askedSecond)
	changes, err := a.session.History().Diff(t.Context(), a.runs[0], a.runs[1])
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
	if values := changes[1].Values; len(values) != 1 || values[0].Key != "var:scaled" || values[0].Was == values[0].Now {
		t.Errorf("Diff = %+v, want another value of scaled", changes)
	}
	if !strings.Contains(changes[0].Diff, "-    return 2 * x\n+    return 3 * x\n") || !strings.Contains(changes[2].Outputs, "[3, 6]") {
		t.Errorf("Diff = %+v, want the new line and the new output", changes)
	}
	if same, err := a.session.History().Diff(t.Context(), a.runs[1], a.runs[1]); err != nil || len(same) != 0 {
		t.Errorf("Diff of a step with itself = %v, %v, want nothing", same, err)
	}
}

// TestLog: newest first, with the lines of edits and the counts of runs.
func TestLog(t *testing.T) {
	a := newAsked(t, askedFirst, askedSecond)
	entries, err := a.session.History().Log(t.Context(), 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 || entries[0].Run == nil || entries[0].Run.Blocks.Ran != 3 || entries[1].Added != 1 || entries[1].Removed != 1 {
		t.Errorf("Log(2) = %+v, want a run of 3 blocks, then a patch +1 -1", entries)
	}
	if all, err := a.session.History().Log(t.Context(), 0, 0); err != nil || len(all) != int(a.runs[1]) {
		t.Errorf("Log(0) has %d steps, %v, want %d", len(all), err, a.runs[1])
	}
}

// TestAffected: what must re-run if a block, a name or a file is regenerated.
func TestAffected(t *testing.T) {
	a := newAsked(t, askedFirst)
	d, err := a.session.History().Dependencies(t.Context(), a.runs[0])
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
	if err != nil || len(s.Writers) != 1 || s.Writers[0].Node != "load" || len(s.Readers) != 1 || s.Readers[0].Digest != s.Writers[0].Digest {
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

// TestAttribute: a difference in what a volatile block gives, or in what is computed from it, is explained; no other is.
func TestAttribute(t *testing.T) {
	a := newAsked(t, "# %% now\nimport time\nt = time.time()\n# %% then\nu = t + 1\n# %% other\nv = 1\n")
	found, err := replay.Attribute(t.Context(), a.session.Subject(), a.runs[0], []replay.Difference{{What: "value t"}, {What: "value u"}, {What: "value v"}, {What: "output", Block: "then"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range found {
		got = append(got, string(d.Block)+" "+strings.Join(d.Marks, ","))
	}
	if d := cmp.Diff([]string{"now clock", "then clock", "other ", "then clock"}, got); d != "" {
		t.Errorf("Attribute (-want +got):\n%s", d)
	}
}

// TestLoadFile: bytes that gave the program before give no edit, whatever came in between; other bytes do.
func TestLoadFile(t *testing.T) {
	a := newAsked(t)
	load := func(source string) int {
		t.Helper()
		steps, err := a.session.LoadFile(t.Context(), "prog.py", []byte(source), xstate.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		return len(steps)
	}
	for i, c := range []struct {
		source string
		edits  int
	}{{askedFirst, 5}, {askedFirst, 0}, {askedSecond, 1}, {askedSecond, 0}, {askedFirst, 1}, {askedFirst, 0}} {
		if got := load(c.source); got != c.edits {
			t.Errorf("load %d made %d edits, want %d", i, got, c.edits)
		}
	}
	if _, err := a.session.Patch(t.Context(), "report", "print(1)", xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	if got := load(askedFirst); got != 1 {
		t.Errorf("load after an edit past the file made %d edits, want 1", got)
	}
}
