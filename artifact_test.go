package xstate_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/artifact"
	"github.com/xstate-engine/xstate/state/query"
)

const artifactProgram = `# %% load
rows = [int(x) for x in open("data.csv")]
# %% helpers
import utils
def scale(x, by=2):
    return by * x
class Table:
    def total(self): return 0
# %% scaled
scaled = [scale(r) for r in rows]
open("out.csv", "w").write(str(scaled))
# %% middle
doubled = scaled + scaled
# %% report
print(doubled, open("out.csv").read())
# %% check
assert scale(1) == 2
`

func newArtifacts(t *testing.T) *asked {
	t.Helper()
	a := newAsked(t)
	writeFiles(t, a.dir, map[string][]byte{"utils.py": []byte("def helper(a):\n    return a\n"),
		"guide.md": []byte("# Guide\n\n`scale` takes `rows`, a `Table` and\n`Table.total()`; `utils.helper(a)`, `print` and `--all` too.\n")})
	a.run(t, artifactProgram)
	return a
}

func (a *asked) declare(t *testing.T, name string, kind state.ArtifactKind, members ...string) xstate.StepNumber {
	t.Helper()
	step, err := artifact.Declare(t.Context(), a.session.History(), artifact.Spec{Name: name, Kind: kind, Members: members}, xstate.Origin{Agent: "declarer"})
	if err != nil {
		t.Fatal(err)
	}
	return step.Number
}

// edit loads a program and does not run it.
func (a *asked) edit(t *testing.T, source string) {
	t.Helper()
	if _, err := a.session.Load(t.Context(), parse(t, source), xstate.Origin{Agent: "editor"}); err != nil {
		t.Fatal(err)
	}
}

func (a *asked) head(t *testing.T) xstate.StepNumber {
	t.Helper()
	n, _, err := a.store.State().Head(t.Context(), a.session.Name())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// statuses are those of all artifacts, a line each.
func (a *asked) statuses(t *testing.T, n xstate.StepNumber) string {
	t.Helper()
	all, err := artifact.List(t.Context(), a.session.History(), n)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, v := range all {
		fmt.Fprintf(&b, "%s %s: %s\n", v.Name, v.Status, v.Reason)
	}
	return b.String()
}

func (a *asked) wantStatuses(t *testing.T, n xstate.StepNumber, want string) {
	t.Helper()
	if d := cmp.Diff(strings.TrimPrefix(want, "\n"), a.statuses(t, n)); d != "" {
		t.Errorf("artifacts after step %d: (-want +got)\n%s", n, d)
	}
}

// TestArtifactStatus follows artifacts of each kind through edits, runs and changes of files; each step still tells what was.
func TestArtifactStatus(t *testing.T) {
	a := newArtifacts(t) // step 7 is the run
	a.declare(t, "code", state.ArtifactCode, "helpers")
	a.declare(t, "input", state.ArtifactData, "data.csv")
	a.declare(t, "output", state.ArtifactData, "out.csv")
	a.declare(t, "tests", state.ArtifactTests, "check")
	a.declare(t, "show", state.ArtifactExample, "report")
	a.declare(t, "guide", state.ArtifactDocs, "guide.md")
	declared := a.declare(t, "untested", state.ArtifactCode, "middle", "show")
	const fresh = `
code fresh: checks that passed exercised every block and file that it holds, as it is
guide fresh: what it speaks of is as it was when it was declared
input fresh: its files are as they were declared or written
output fresh: its files are as they were declared or written
show fresh: the results of its blocks hold
tests fresh: its checks passed on the present code
untested unverified: no check exercised the present version of block middle
`
	a.wantStatuses(t, declared, fresh)

	second := strings.Replace(artifactProgram, "by=2", "by=3", 1)
	a.edit(t, second) // step 15
	a.wantStatuses(t, a.head(t), `
code stale: block helpers was edited in step 15 and has not run since
guide stale: line 3 of guide.md speaks of `+"`scale`, which since step 15 is def scale(x, by=3), not def scale(x, by=2)"+`
input fresh: its files are as they were declared or written
output fresh: its files are as they were declared or written
show stale: block report rests on helpers, which was edited in step 15 and has not run since
tests stale: block check rests on helpers, which was edited in step 15 and has not run since
untested stale: block middle rests on helpers, which was edited in step 15 and has not run since
`)
	a.run(t, second) // step 16
	a.wantStatuses(t, a.head(t), `
code unverified: no check exercised the present version of block helpers
guide stale: line 3 of guide.md speaks of `+"`scale`, which since step 15 is def scale(x, by=3), not def scale(x, by=2)"+`
input fresh: its files are as they were declared or written
output fresh: its files are as they were declared or written
show fresh: the results of its blocks hold
tests failing: block check failed in step 16: AssertionError
untested unverified: no check exercised the present version of block middle
`)
	third := strings.NewReplacer("class Table:\n    def total(self): return 0\n", "", "by=3", "by=2").Replace(second)
	a.run(t, third) // steps 17, 18
	a.wantStatuses(t, a.head(t), strings.Replace(fresh, "guide fresh: what it speaks of is as it was when it was declared",
		"guide stale: line 3 of guide.md speaks of `Table`, which is gone since step 17", 1))
	a.declare(t, "guide", state.ArtifactDocs, "guide.md") // holds for what is there now; Table is only a word
	a.wantStatuses(t, a.head(t), fresh)

	writeFiles(t, a.dir, map[string][]byte{"data.csv": []byte("5\n"), "out.csv": []byte("by hand"), "utils.py": []byte("def helper(): pass\n")})
	a.wantStatuses(t, a.head(t), `
code stale: block helpers reads utils.py, which has changed since it ran in step 18
guide stale: line 4 of guide.md speaks of `+"`utils.helper(a)`, which is def helper(), not def helper(a)"+`
input stale: data.csv has changed since step 9, which declares it
output stale: out.csv is not what scaled wrote
show stale: block report rests on load, which reads data.csv, which has changed since it ran in step 7
tests fresh: its checks passed on the present code
untested stale: block middle rests on load, which reads data.csv, which has changed since it ran in step 7
`)
	a.edit(t, strings.Replace(third, "# %% middle\ndoubled = scaled + scaled\n", "", 1))
	if got := a.statuses(t, a.head(t)); !strings.Contains(got, "untested failing: holds block middle, which is gone since step 20\n") || !strings.Contains(got, "show stale: block report rests on load") {
		t.Errorf("after a block was deleted: %s", got)
	}
	a.wantStatuses(t, declared, fresh) // what was, was
	a.wantStatuses(t, 7, "")
}

// TestArtifactNeeds: what is inferred follows what was read, over blocks that are in no artifact, and what texts speak of.
func TestArtifactNeeds(t *testing.T) {
	a := newArtifacts(t)
	a.declare(t, "code", state.ArtifactCode, "helpers", "utils.py")
	a.declare(t, "input", state.ArtifactData, "data.csv")
	a.declare(t, "show", state.ArtifactExample, "report")
	a.declare(t, "guide", state.ArtifactDocs, "guide.md")
	n := a.declare(t, "all", state.ArtifactCode, "code", "show", "scaled")
	all, err := artifact.List(t.Context(), a.session.History(), n)
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
		"all":   {"input observed [{ file:data.csv}]"}, // what it contains is no need
		"guide": {"code reference [{guide.md:3 var:scale} {guide.md:3 var:Table} {guide.md:4 var:Table.total} {guide.md:4 file:utils.py}]"},
		"show":  {"all observed [{scaled file:out.csv} {scaled var:scaled}]"}, // by way of middle
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("needs: (-want +got)\n%s", d)
	}
}

// TestDeclaredNeed: what was said to depend on another artifact is stale when that has changed since, and fresh when it was declared
// again or, where it holds blocks, has run.
func TestDeclaredNeed(t *testing.T) {
	a := newArtifacts(t)
	a.declare(t, "code", state.ArtifactCode, "helpers")
	for name, member := range map[string]string{"paper": "data.csv", "runs": "check"} {
		if _, err := artifact.Declare(t.Context(), a.session.History(), artifact.Spec{Name: name, Kind: state.ArtifactExample, Members: []string{member}, Needs: []string{"code"}}, xstate.Origin{}); err != nil {
			t.Fatal(err)
		}
	}
	second := strings.Replace(artifactProgram, "return by * x", "return x * by", 1)
	a.run(t, second)
	got := a.statuses(t, a.head(t))
	if !strings.Contains(got, "paper stale: needs code, which changed in step 11, after step ") || !strings.Contains(got, "runs fresh") {
		t.Errorf("after an edit and a run: %s", got)
	}
	if _, err := artifact.Declare(t.Context(), a.session.History(), artifact.Spec{Name: "paper", Kind: state.ArtifactExample, Members: []string{"data.csv"}, Needs: []string{"code"}}, xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	if got := a.statuses(t, a.head(t)); !strings.Contains(got, "paper fresh") {
		t.Errorf("after it was declared again: %s", got)
	}
}

// TestArtifactUndo: declarations are undone like edits, and come and go with a rollback.
func TestArtifactUndo(t *testing.T) {
	a := newArtifacts(t)
	first := a.declare(t, "code", state.ArtifactCode, "helpers")
	second := a.declare(t, "code", state.ArtifactExample, "helpers")
	third := a.declare(t, "more", state.ArtifactCode, "code")
	undo := func(n xstate.StepNumber) error {
		u, err := a.session.PlanUndo(t.Context(), xstate.Which{First: n, Last: n})
		if err != nil {
			return err
		}
		_, err = a.session.Undo(t.Context(), u, xstate.Origin{})
		return err
	}
	kinds := func() string {
		all, err := artifact.List(t.Context(), a.session.History(), a.head(t))
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
	if _, err := a.session.Rollback(t.Context(), third, xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	if got := kinds(); got != "code:example more:code " {
		t.Errorf("after a rollback there is %q", got)
	}
}

// TestArtifactsRefused: bad input has a code, and names what was meant.
func TestArtifactsRefused(t *testing.T) {
	a := newArtifacts(t)
	writeFiles(t, a.dir, map[string][]byte{"load": []byte("x")})
	a.declare(t, "code", state.ArtifactCode, "helpers")
	a.declare(t, "all", state.ArtifactCode, "code")
	outside := filepath.Join(t.TempDir(), "x")
	writeFiles(t, filepath.Dir(outside), map[string][]byte{"x": []byte("x")})
	for name, test := range map[string]struct {
		declaring artifact.Spec
		code      state.Code
		says      string
	}{
		"unknown kind":     {artifact.Spec{Name: "x", Kind: "code s", Members: []string{"load"}}, state.CodeInvalid, `no kind of artifact "code s"; did you mean code?`},
		"nothing":          {artifact.Spec{Name: "x", Kind: "code"}, state.CodeInvalid, "would hold nothing"},
		"bad name":         {artifact.Spec{Name: "a:b", Kind: "code", Members: []string{"scaled"}}, state.CodeInvalid, "cannot be the name"},
		"unknown member":   {artifact.Spec{Name: "x", Kind: "code", Members: []string{"scalde"}}, query.CodeNoBlock, "did you mean scaled?"},
		"unknown block":    {artifact.Spec{Name: "x", Kind: "code", Members: []string{"block:utils.py"}}, query.CodeNoBlock, "no block or artifact"},
		"unknown artifact": {artifact.Spec{Name: "x", Kind: "code", Members: []string{"artifact:cod"}}, artifact.CodeNoArtifact, "did you mean code?"},
		"unknown need":     {artifact.Spec{Name: "x", Kind: "code", Members: []string{"scaled"}, Needs: []string{"nothing"}}, artifact.CodeNoArtifact, "its artifacts are: all, code"},
		"two meanings":     {artifact.Spec{Name: "x", Kind: "code", Members: []string{"load"}}, state.CodeInvalid, `"load" is block and file; say which: block:load or file:load`},
		"a folder":         {artifact.Spec{Name: "x", Kind: "code", Members: []string{"file:."}}, state.CodeInvalid, "is no file"},
		"outside":          {artifact.Spec{Name: "x", Kind: "data", Members: []string{outside}}, state.CodeInvalid, "outside the workspace"},
		"needs itself":     {artifact.Spec{Name: "x", Kind: "code", Members: []string{"scaled"}, Needs: []string{"x"}}, state.CodeArtifactCycle, "x -> x"},
		"contains itself":  {artifact.Spec{Name: "x", Kind: "code", Members: []string{"artifact:x"}}, state.CodeArtifactCycle, "x -> x"},
		"in turn":          {artifact.Spec{Name: "code", Kind: "code", Members: []string{"helpers"}, Needs: []string{"all"}}, state.CodeArtifactCycle, "depend on itself: "},
	} {
		_, err := artifact.Declare(t.Context(), a.session.History(), test.declaring, xstate.Origin{})
		if state.CodeOf(err) != test.code {
			t.Errorf("%s: Declare = %v, want code %s", name, err, test.code)
			continue
		}
		var own *xstate.Error
		if !errors.As(err, &own) || !strings.Contains(own.Message+"; "+own.Hint, test.says) || own.Hint == "" {
			t.Errorf("%s: it says %q, %q, want %q", name, own.Message, own.Hint, test.says)
		}
	}
	if _, err := artifact.Drop(t.Context(), a.session.History(), "code", xstate.Origin{}); state.CodeOf(err) != state.CodeInvalid {
		t.Errorf("DropArtifact of what another contains = %v", err)
	}
	if _, err := artifact.Get(t.Context(), a.session.History(), a.head(t), "al"); state.CodeOf(err) != artifact.CodeNoArtifact {
		t.Errorf("Artifact(al) = %v", err)
	}
}

// TestDocCode: the code in a document runs as a program of its own; docs are what that is.
func TestDocCode(t *testing.T) {
	a := newArtifacts(t)
	text := "# Guide\n\n`scale` is what\n\n```python\nx = 2\n```\n\ndoubles.\n"
	write := func(text string) {
		writeFiles(t, a.dir, map[string][]byte{"guide.md": []byte(text)})
	}
	write(text)
	a.declare(t, "guide", state.ArtifactDocs, "guide.md")
	want := func(status string) {
		t.Helper()
		if got := a.statuses(t, a.head(t)); got != "guide "+status+"\n" {
			t.Errorf("guide is %q, want %q", got, status)
		}
	}
	want("unverified: the code in guide.md was never run")
	run := func(text string) {
		t.Helper()
		s, err := a.store.Session(t.Context(), "guide.md", xstate.SessionOptions{Workspace: a.dir})
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
	if got := a.statuses(t, a.head(t)); !strings.HasPrefix(got, "guide failing: block ") || !strings.Contains(got, "of guide.md failed in step 5 of its session: ZeroDivisionError: division by zero") {
		t.Errorf("after its code failed: %s", got)
	}
	write("No code, and no `scale` any more.\n")
	want("fresh: what it speaks of is as it was when it was declared")
}
