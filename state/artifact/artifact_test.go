package artifact_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/artifact"
	"github.com/xstate-engine/xstate/state/query"
)

// TestArtifactStatus follows artifacts of each kind through edits, runs and changes of files; each step still tells
// what was.
func TestArtifactStatus(t *testing.T) {
	a := xstatetest.NewArtifacts(t) // step 7 is the run
	a.Declare(t, "code", state.ArtifactCode, "helpers")
	a.Declare(t, "input", state.ArtifactData, "data.csv")
	a.Declare(t, "output", state.ArtifactData, "out.csv")
	a.Declare(t, "tests", state.ArtifactTests, "check")
	a.Declare(t, "show", state.ArtifactExample, "report")
	a.Declare(t, "guide", state.ArtifactDocs, "guide.md")
	declared := a.Declare(t, "untested", state.ArtifactCode, "middle", "show")
	const fresh = `
code fresh: checks that passed exercised every block and file that it holds, as it is
guide fresh: what it speaks of is as it was when it was declared
input fresh: its files are as they were declared or written
output fresh: its files are as they were declared or written
show fresh: the results of its blocks hold
tests fresh: its checks passed on the present code
untested unverified: no check exercised the present version of block middle
`
	a.WantStatuses(t, declared, fresh)

	second := strings.Replace(xstatetest.ArtifactProgram, "by=2", "by=3", 1)
	a.Edit(t, second) // step 15
	a.WantStatuses(t, a.Head(t), `
code stale: block helpers was edited in step 15 and has not run since
guide stale: line 3 of guide.md speaks of `+"`scale`, which since step 15 is "+
		"def scale(x, by=3), not def scale(x, by=2)"+`
input fresh: its files are as they were declared or written
output fresh: its files are as they were declared or written
show stale: block report rests on helpers, which was edited in step 15 and has not run since
tests stale: block check rests on helpers, which was edited in step 15 and has not run since
untested stale: block middle rests on helpers, which was edited in step 15 and has not run since
`)
	a.Run(t, second) // step 16
	a.WantStatuses(t, a.Head(t), `
code unverified: no check exercised the present version of block helpers
guide stale: line 3 of guide.md speaks of `+"`scale`, which since step 15 is "+
		"def scale(x, by=3), not def scale(x, by=2)"+`
input fresh: its files are as they were declared or written
output fresh: its files are as they were declared or written
show fresh: the results of its blocks hold
tests failing: block check failed in step 16: AssertionError
untested unverified: no check exercised the present version of block middle
`)
	third := strings.NewReplacer("class Table:\n    def total(self): return 0\n", "", "by=3", "by=2").Replace(second)
	a.Run(t, third) // steps 17, 18
	a.WantStatuses(
		t,
		a.Head(t),
		strings.Replace(fresh, "guide fresh: what it speaks of is as it was when it was declared",
			"guide stale: line 3 of guide.md speaks of `Table`, which is gone since step 17", 1),
	)
	a.Declare(t, "guide", state.ArtifactDocs, "guide.md") // holds for what is there now; Table is only a word
	a.WantStatuses(t, a.Head(t), fresh)

	xstatetest.WriteFiles(
		t,
		a.Dir,
		map[string][]byte{
			"data.csv": []byte("5\n"),
			"out.csv":  []byte("by hand"),
			"utils.py": []byte("def helper(): pass\n"),
		},
	)
	a.WantStatuses(t, a.Head(t), `
code stale: block helpers reads utils.py, which has changed since it ran in step 18
guide stale: line 4 of guide.md speaks of `+"`utils.helper(a)`, which is def helper(), not def helper(a)"+`
input stale: data.csv has changed since step 9, which declares it
output stale: out.csv is not what scaled wrote
show stale: block report rests on load, which reads data.csv, which has changed since it ran in step 7
tests fresh: its checks passed on the present code
untested stale: block middle rests on load, which reads data.csv, which has changed since it ran in step 7
`)
	a.Edit(t, strings.Replace(third, "# %% middle\ndoubled = scaled + scaled\n", "", 1))
	if got := a.Statuses(t, a.Head(t)); !strings.Contains(
		got,
		"untested failing: holds block middle, which is gone since step 20\n",
	) ||
		!strings.Contains(got, "show stale: block report rests on load") {
		t.Errorf("after a block was deleted: %s", got)
	}
	a.WantStatuses(t, declared, fresh) // what was, was
	a.WantStatuses(t, 7, "")
}

// TestArtifactNeeds: what is inferred follows what was read, over blocks that are in no artifact, and what texts speak
// of.
func TestArtifactNeeds(t *testing.T) {
	a := xstatetest.NewArtifacts(t)
	a.Declare(t, "code", state.ArtifactCode, "helpers", "utils.py")
	a.Declare(t, "input", state.ArtifactData, "data.csv")
	a.Declare(t, "show", state.ArtifactExample, "report")
	a.Declare(t, "guide", state.ArtifactDocs, "guide.md")
	n := a.Declare(t, "all", state.ArtifactCode, "code", "show", "scaled")
	all, err := artifact.List(t.Context(), a.Session.History(), n)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, v := range all {
		for _, need := range v.Needs {
			got[v.Name] = append(got[v.Name], need.Artifact+" "+need.Evidence+" "+fmt.Sprint(need.Through))
		}
	}
	want := map[string][]string{
		"all": {"input observed [{ file:data.csv}]"}, // what it contains is no need
		"guide": {
			"code reference [{guide.md:3 var:scale} {guide.md:3 var:Table} {guide.md:4 var:Table.total} {guide.md:4 " +
				"file:utils.py}]",
		},
		"show": {"all observed [{scaled file:out.csv} {scaled var:scaled}]"}, // by way of middle
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("needs: (-want +got)\n%s", d)
	}
}

// TestDeclaredNeed: what was said to depend on another artifact is stale when that has changed since, and fresh when it
// was declared again or, where it holds blocks, has run.
func TestDeclaredNeed(t *testing.T) {
	a := xstatetest.NewArtifacts(t)
	a.Declare(t, "code", state.ArtifactCode, "helpers")
	for name, member := range map[string]string{"paper": "data.csv", "runs": "check"} {
		if _, err := artifact.Declare(t.Context(), a.Session.History(),
			artifact.Spec{Name: name, Kind: state.ArtifactExample, Members: []string{member}, Needs: []string{"code"}},
			xstate.Origin{}); err != nil {
			t.Fatal(err)
		}
	}
	second := strings.Replace(xstatetest.ArtifactProgram, "return by * x", "return x * by", 1)
	a.Run(t, second)
	got := a.Statuses(t, a.Head(t))
	if !strings.Contains(got, "paper stale: needs code, which changed in step 11, after step ") ||
		!strings.Contains(got, "runs fresh") {
		t.Errorf("after an edit and a run: %s", got)
	}
	if _, err := artifact.Declare(t.Context(), a.Session.History(),
		artifact.Spec{Name: "paper", Kind: state.ArtifactExample, Members: []string{"data.csv"},
			Needs: []string{"code"}}, xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	if got := a.Statuses(t, a.Head(t)); !strings.Contains(got, "paper fresh") {
		t.Errorf("after it was declared again: %s", got)
	}
}

// TestArtifactUndo: declarations are undone like edits, and come and go with a rollback.
func TestArtifactUndo(t *testing.T) {
	a := xstatetest.NewArtifacts(t)
	first := a.Declare(t, "code", state.ArtifactCode, "helpers")
	second := a.Declare(t, "code", state.ArtifactExample, "helpers")
	third := a.Declare(t, "more", state.ArtifactCode, "code")
	undo := func(n xstate.StepNumber) error {
		u, err := a.Session.PlanUndo(t.Context(), xstate.Which{First: n, Last: n})
		if err != nil {
			return err
		}
		_, err = a.Session.Undo(t.Context(), u, xstate.Origin{})
		return err
	}
	kinds := func() string {
		all, err := artifact.List(t.Context(), a.Session.History(), a.Head(t))
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, v := range all {
			text += v.Name + ":" + string(v.Kind) + " "
		}
		return text
	}
	for _, step := range []struct {
		undo xstate.StepNumber
		code state.Code
		want string
	}{
		{first, state.CodeConflict, "code:example more:code "}, // it was declared again since
		{second, "", "code:code more:code "},
		{first, state.CodeInvalid, "code:code more:code "}, // more contains it
		{third, "", "code:code "},
		{first, "", ""},
		{second, xstate.CodeNothing, ""},
	} {
		if err := undo(step.undo); state.CodeOf(err) != step.code {
			t.Errorf("undo %d = %v, want code %q", step.undo, err, step.code)
		}
		if got := kinds(); got != step.want {
			t.Errorf("after undo %d there is %q, want %q", step.undo, got, step.want)
		}
	}
	if _, err := a.Session.Rollback(t.Context(), third, xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	if got := kinds(); got != "code:example more:code " {
		t.Errorf("after a rollback there is %q", got)
	}
}

// TestArtifactsRefused: bad input has a code, and names what was meant.
func TestArtifactsRefused(t *testing.T) {
	a := xstatetest.NewArtifacts(t)
	xstatetest.WriteFiles(t, a.Dir, map[string][]byte{"load": []byte("x")})
	a.Declare(t, "code", state.ArtifactCode, "helpers")
	a.Declare(t, "all", state.ArtifactCode, "code")
	outside := filepath.Join(t.TempDir(), "x")
	xstatetest.WriteFiles(t, filepath.Dir(outside), map[string][]byte{"x": []byte("x")})
	for name, test := range map[string]struct {
		declaring artifact.Spec
		code      state.Code
		says      string
	}{
		"unknown kind": {artifact.Spec{Name: "x", Kind: "code s", Members: []string{"load"}}, state.CodeInvalid,
			`no kind of artifact "code s"; did you mean code?`},
		"nothing": {artifact.Spec{Name: "x", Kind: "code"}, state.CodeInvalid, "would hold nothing"},
		"bad name": {artifact.Spec{Name: "a:b", Kind: "code", Members: []string{"scaled"}}, state.CodeInvalid,
			"cannot be the name"},
		"unknown member": {artifact.Spec{Name: "x", Kind: "code", Members: []string{"scalde"}}, query.CodeNoBlock,
			"did you mean scaled?"},
		"unknown block": {artifact.Spec{Name: "x", Kind: "code", Members: []string{"block:utils.py"}},
			query.CodeNoBlock, "no block or artifact"},
		"unknown artifact": {artifact.Spec{Name: "x", Kind: "code", Members: []string{"artifact:cod"}},
			artifact.CodeNoArtifact, "did you mean code?"},
		"unknown need": {artifact.Spec{Name: "x", Kind: "code", Members: []string{"scaled"},
			Needs: []string{"nothing"}}, artifact.CodeNoArtifact, "its artifacts are: all, code"},
		"two meanings": {artifact.Spec{Name: "x", Kind: "code", Members: []string{"load"}}, state.CodeInvalid,
			`"load" is block and file; say which: block:load or file:load`},
		"a folder": {artifact.Spec{Name: "x", Kind: "code", Members: []string{"file:."}}, state.CodeInvalid,
			"is no file"},
		"outside": {artifact.Spec{Name: "x", Kind: "data", Members: []string{outside}}, state.CodeInvalid,
			"outside the workspace"},
		"needs itself": {artifact.Spec{Name: "x", Kind: "code", Members: []string{"scaled"}, Needs: []string{"x"}},
			state.CodeArtifactCycle, "x -> x"},
		"contains itself": {artifact.Spec{Name: "x", Kind: "code", Members: []string{"artifact:x"}},
			state.CodeArtifactCycle, "x -> x"},
		"in turn": {artifact.Spec{Name: "code", Kind: "code", Members: []string{"helpers"},
			Needs: []string{"all"}}, state.CodeArtifactCycle, "depend on itself: "},
	} {
		_, err := artifact.Declare(t.Context(), a.Session.History(), test.declaring, xstate.Origin{})
		if state.CodeOf(err) != test.code {
			t.Errorf("%s: Declare = %v, want code %s", name, err, test.code)
			continue
		}
		var own *xstate.Error
		if !errors.As(err, &own) || !strings.Contains(own.Message+"; "+own.Hint, test.says) || own.Hint == "" {
			t.Errorf("%s: it says %q, %q, want %q", name, own.Message, own.Hint, test.says)
		}
	}
	if _, err := artifact.Drop(t.Context(), a.Session.History(), "code", xstate.Origin{}); state.CodeOf(
		err,
	) != state.CodeInvalid {
		t.Errorf("DropArtifact of what another contains = %v", err)
	}
	if _, err := artifact.Get(t.Context(), a.Session.History(), a.Head(t), "al"); state.CodeOf(
		err,
	) != artifact.CodeNoArtifact {
		t.Errorf("Artifact(al) = %v", err)
	}
}

// TestDocCode: the code in a document runs as a program of its own; docs are what that is.
func TestDocCode(t *testing.T) {
	a := xstatetest.NewArtifacts(t)
	text := "# Guide\n\n`scale` is what\n\n```python\nx = 2\n```\n\ndoubles.\n"
	write := func(text string) {
		xstatetest.WriteFiles(t, a.Dir, map[string][]byte{"guide.md": []byte(text)})
	}
	write(text)
	a.Declare(t, "guide", state.ArtifactDocs, "guide.md")
	want := func(status string) {
		t.Helper()
		if got := a.Statuses(t, a.Head(t)); got != "guide "+status+"\n" {
			t.Errorf("guide is %q, want %q", got, status)
		}
	}
	want("unverified: the code in guide.md was never run")
	run := func(text string) {
		t.Helper()
		s, err := a.Store.Session(t.Context(), "guide.md", xstate.SessionOptions{Workspace: a.Dir})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		p, bad := patch.Parse("guide.md", []byte(text))
		if bad != nil {
			t.Fatal(bad)
		}
		if _, err := s.Load(t.Context(), p.Blocks, xstate.Origin{}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Run(t.Context(), runner.RunOptions{}, xstate.Origin{}); err != nil {
			t.Fatal(err)
		}
	}
	run(text)
	want("fresh: what it speaks of is as it was when it was declared")
	edited := strings.Replace(text, "x = 2", "x = 1 / 0", 1)
	write(edited)
	want("stale: the code in guide.md was edited and has not run since")
	run(edited)
	if got := a.Statuses(t, a.Head(t)); !strings.HasPrefix(got, "guide failing: block ") ||
		!strings.Contains(got, "of guide.md failed in step 5 of its session: ZeroDivisionError: division by zero") {
		t.Errorf("after its code failed: %s", got)
	}
	write("No code, and no `scale` any more.\n")
	want("fresh: what it speaks of is as it was when it was declared")
}
