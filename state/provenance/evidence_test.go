package provenance_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/artifact"
	"github.com/xstate-engine/xstate/state/provenance"
	"github.com/xstate-engine/xstate/state/query"
)

func evidence(t *testing.T, a *xstatetest.Asked, of string) *provenance.Evidence {
	t.Helper()
	e, err := provenance.EvidenceOf(t.Context(), a.Session.History(), a.Head(t), of)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestEvidence: the slice of a result holds what it rests on and nothing else.
func TestEvidence(t *testing.T) {
	a := xstatetest.NewArtifacts(t)
	a.Run(t, strings.Replace(xstatetest.ArtifactProgram, "by * x", "x * by", 1)) // version 2
	a.Declare(t, "show", state.ArtifactExample, "report")
	a.Declare(t, "input", state.ArtifactData, "data.csv")
	a.Declare(t, "guide", state.ArtifactDocs, "guide.md")
	for _, test := range []struct{ of, sort, nodes, results, inputs, edits string }{
		{"report", "block", "load helpers#2 scaled middle report", "", "file:data.csv",
			"load:1 scaled:1 middle:1 report:1 helpers:2"},
		{"artifact:show", "artifact", "load helpers#2 scaled middle report", "", "file:data.csv",
			"load:1 scaled:1 middle:1 report:1 helpers:2"},
		{"doubled", "name", "load helpers#2 scaled middle", "var:doubled", "file:data.csv",
			"load:1 scaled:1 middle:1 helpers:2"},
		{"file:out.csv", "file", "load helpers#2 scaled", "file:out.csv", "file:data.csv", "load:1 scaled:1 helpers:2"},
		{"check", "block", "helpers#2 check", "", "", "check:1 helpers:2"},
		{"scaled", "block", "load helpers#2 scaled", "var:scaled file:out.csv", "file:data.csv",
			"load:1 scaled:1 helpers:2"},
		{"helpers#1", "block", "helpers#1", "var:utils", "file:utils.py", "helpers:2"},
		{"input", "artifact", "", "", "file:data.csv", ""},
		{"guide", "artifact", "load helpers#2 helpers#3", "var:rows var:scale var:Table", "file:data.csv file:guide.md",
			"load:1 helpers:2"},
	} {
		e := evidence(t, a, test.of)
		var nodes, results, inputs, edits []string
		for _, n := range e.Nodes {
			nodes = append(nodes, n.Name)
		}
		for _, r := range e.Results {
			results = append(results, string(r.Key))
		}
		for _, x := range e.Inputs {
			if x.Key.Space() == "file" && strings.Contains(x.Key.Name(), ".") {
				inputs = append(inputs, string(x.Key))
			}
		}
		for _, p := range e.Patches {
			edits = append(edits, string(p.Block)+":"+strings.TrimPrefix(p.Step.Origin.Reason, "version "))
		}
		slices.Sort(results)
		want := strings.Fields(test.results)
		slices.Sort(want)
		got := fmt.Sprint(e.Sort, nodes, results, inputs, edits)
		if d := cmp.Diff(fmt.Sprint(test.sort, strings.Fields(test.nodes), want, strings.Fields(test.inputs),
			strings.Fields(test.edits)), got); d != "" {
			t.Errorf("Evidence(%s): (-want +got)\n%s", test.of, d)
		}
		if _, hash, _ := a.Store.State().Head(t.Context(), a.Session.Name()); e.Hash != hash {
			t.Errorf("Evidence(%s) has hash %s, want %s", test.of, e.Hash, hash)
		}
	}
	for of, code := range map[string]state.Code{"nothing": query.CodeNoBlock,
		"artifact:report": artifact.CodeNoArtifact, "data.csv": query.CodeNoBlock} {
		if _, err := provenance.EvidenceOf(t.Context(), a.Session.History(), a.Head(t), of); state.CodeOf(err) != code {
			t.Errorf("Evidence(%s) = %v, want code %s", of, err, code)
		}
	}
}

// TestEvidenceChecks: a check counts for the version that it executed, function by function, and for no other.
func TestEvidenceChecks(t *testing.T) {
	a := xstatetest.NewArtifacts(t)
	e := evidence(t, a, "report")
	if len(e.Checks) != 1 || e.Checks[0].ID != "check" || !e.Checks[0].Proves() ||
		e.Checks[0].Exercised[0].Function != "scale" {
		t.Fatalf("checks of report: %+v", e.Checks)
	}
	covered := func() string {
		var b strings.Builder
		for _, c := range evidence(t, a, "report").Coverage {
			fmt.Fprintf(&b, "%s %d/%d %q %q\n", c.Block, c.Covered, c.Lines, c.Checks, c.Missed)
		}
		return b.String()
	}
	const rest = `scaled 0/2 [] [""]
middle 0/1 [] [""]
report 0/1 [] [""]
`
	if d := cmp.Diff("load 0/1 [] [\"\"]\n"+
		"helpers 2/5 [\"check\"] [\"\" \"Table\" \"Table.total\"]\n"+rest, covered()); d != "" {
		t.Errorf("coverage: (-want +got)\n%s", d)
	}
	unchecked, err := artifact.IncompleteCoverage(t.Context(), a.Session.History(), a.Head(t))
	if err != nil || len(unchecked) != 5 {
		t.Errorf("Unchecked = %d blocks, %v, want all but check", len(unchecked), err)
	}
	a.Edit(
		t,
		strings.Replace(xstatetest.ArtifactProgram, "by * x", "x * by", 1),
	) // not run: the check was of another version
	if e := evidence(t, a, "report"); e.Checks[0].Proves() || e.Status != artifact.Stale {
		t.Errorf("after an edit without a run: %+v, %s", e.Checks, e.Status)
	}
	if got := covered(); !strings.Contains(got, "helpers 0/5 []") {
		t.Errorf("after an edit without a run, covered is\n%s", got)
	}
	a.Run(t, strings.Replace(xstatetest.ArtifactProgram, "by * x", "3 * x", 1)) // the check fails
	if got := covered(); !strings.Contains(got, "helpers 0/5 []") {
		t.Errorf("after the check failed, covered is\n%s", got)
	}
	if e := evidence(t, a, "report"); len(e.Checks) != 1 || e.Checks[0].Outcome != query.CheckFailed ||
		!strings.HasPrefix(e.Checks[0].Message, "AssertionError") {
		t.Errorf("after the check failed: %+v", e.Checks)
	}
}

// TestVolatileCheck: a check that was found to come to something else each time proves nothing.
func TestVolatileCheck(t *testing.T) {
	a := xstatetest.NewAsked(
		t,
		"# %% f\ndef f(x): return x\n# %% check\ndraw = __import__(\"os\").urandom(8)\nassert f(1) == 1\n",
	)
	a.Declare(t, "code", state.ArtifactCode, "f")
	a.Declare(t, "tests", state.ArtifactTests, "check")
	if got := a.Statuses(t, a.Head(t)); strings.Count(got, " fresh: ") != 2 {
		t.Fatalf("statuses: %s", got)
	}
	if found, err := replay.VerifyBlock(t.Context(), a.Session.Subject(), "check", replay.VerifyOptions{Times: 2},
		xstate.Origin{}); err != nil ||
		found.Stable {
		t.Fatalf("VerifyBlock = %+v, %v", found, err)
	}
	a.WantStatuses(
		t,
		a.Head(t),
		"code unverified: no check exercised the present version of block f\n"+
			"tests unverified: no check of block check passed that proves anything\n",
	)
}

// TestFileChecks: tests of files count as long as the files hold what they held, and cover the functions that they
// executed.
func TestFileChecks(t *testing.T) {
	a := xstatetest.NewArtifacts(t)
	const source = "import os\n\ndef used(x):\n    return x\n\ndef unused(x):\n    return x\n\nclass Table:\n" +
		"    rows = 1\n    def total(self):\n        return used(1)\n    def other(self):\n        pass\n"
	xstatetest.WriteFiles(
		t,
		a.Dir,
		map[string][]byte{"lib.py": []byte(source), "test_lib.py": []byte("def test(): pass\n")},
	)
	content := state.DigestOf([]byte(source))
	part := func(function string, from, to int) query.Exercised {
		return query.Exercised{File: "lib.py", Function: function, Version: "v", From: from, To: to, Content: content}
	}
	record := map[string]any{
		"parts": []query.Exercised{part("", 1, 14), part("used", 3, 4), part("Table.total", 11, 12)},
		"checks": []map[string]any{
			{
				"check": query.Check{
					ID:      "test_lib.py::test",
					Kind:    query.CheckPytest,
					Outcome: query.CheckPassed,
					Step:    8,
				},
				"parts": []int{0, 1, 2},
			},
		},
	}
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	draft := state.Draft{
		Kind:    state.KindDeclare,
		Sources: [][]byte{text},
		Tested:  &state.Testing{Ran: 1, Checks: state.DigestOf(text)},
		Records: map[string]any{"tested": a.Head(t) + 1},
	}
	if _, err := a.Store.State().Commit(t.Context(), a.Session.Name(), a.Head(t), []state.Draft{draft}); err != nil {
		t.Fatal(err)
	}
	tested := a.Head(t)
	a.Declare(t, "lib", state.ArtifactCode, "lib.py")
	a.Declare(t, "tests", state.ArtifactTests, "test_lib.py")
	e := evidence(t, a, "lib")
	want := []artifact.Coverage{
		{
			File:    "lib.py",
			Checks:  []string{"test_lib.py::test"},
			Lines:   11,
			Covered: 7,
			Missed:  []string{"unused", "Table.other"},
			Whole:   []string{"", "used", "Table.total"},
		},
	}
	if d := cmp.Diff(want, e.Coverage); d != "" || len(e.Checks) != 1 || e.Status != artifact.Fresh {
		t.Errorf("evidence of lib is %s by %d checks, coverage (-want +got)\n%s", e.Status, len(e.Checks), d)
	}
	if got := a.Statuses(t, a.Head(t)); !strings.Contains(got, "tests fresh") {
		t.Errorf("statuses: %s", got)
	}
	unchecked, err := artifact.IncompleteCoverage(t.Context(), a.Session.History(), a.Head(t))
	if err != nil ||
		!slices.ContainsFunc(
			unchecked,
			func(c artifact.Coverage) bool { return c.File == "lib.py" && c.Covered == 7 },
		) {
		t.Errorf("Unchecked = %+v, %v", unchecked, err)
	}
	xstatetest.WriteFiles(t, a.Dir, map[string][]byte{"lib.py": []byte(strings.Replace(source, "pass", "...", 1))})
	if got := a.Statuses(t, a.Head(t)); !strings.Contains(
		got,
		"tests stale: what test_lib.py::test exercised has changed since it ran in step 8",
	) ||
		!strings.Contains(got, "lib unverified: no check exercised lib.py as it is") {
		t.Errorf("statuses after an edit: %s", got)
	}
	for n, want := range map[xstate.StepNumber]int{tested - 1: 0, tested: 1, tested + 1: 1} {
		if checks, err := a.Session.History().ChecksAt(t.Context(), n); err != nil || len(checks) != want {
			t.Errorf("ChecksAt(%d) = %d, %v, want %d", n, len(checks), err, want)
		}
	}
	// its record names a step that is another's
	if _, err := a.Session.Fork(t.Context(), "fork", tested-1, xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	fork, err := a.Store.Existing(t.Context(), "fork", xstate.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if checks, err := fork.History().Checks(t.Context()); err != nil || len(checks) != 0 {
		t.Errorf("Checks of a fork from before the tests = %d, %v", len(checks), err)
	}
}

// TestEvidencePROV: the slice is valid PROV-JSON, and holds the check but nothing that is not part of it.
func TestEvidencePROV(t *testing.T) {
	a := xstatetest.NewArtifacts(t)
	data, err := provenance.PROV(t.Context(), a.Session.History(), evidence(t, a, "scaled"))
	if err != nil {
		t.Fatal(err)
	}
	valid(t, "prov.json", data)
	keep(t, "evidence.prov.json", data)
	for text, want := range map[string]bool{`"prov:label": "scaled"`: true, `"prov:label": "check"`: true,
		`"prov:label": "middle"`: false, `"prov:label": "report"`: false} {
		if got := strings.Contains(string(data), text); got != want {
			t.Errorf("the document holds %s: %v, want %v", text, got, want)
		}
	}
}
