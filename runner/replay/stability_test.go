package replay_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/patch/syntax"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// again runs the program, and returns the blocks that were executed and the outcome.
func (p *planted) again(o runner.RunOptions) ([]string, *xstate.Outcome) {
	p.t.Helper()
	out, _, err := p.session.Run(p.t.Context(), o, xstate.Origin{})
	if err != nil {
		p.t.Fatal(err)
	}
	return xstatetest.RanBlocks(out), out
}

func (p *planted) verify(block xstate.BlockID, times int) *replay.Stability {
	p.t.Helper()
	before := tree(p.t, p.dir)
	found, err := replay.VerifyBlock(
		p.t.Context(),
		p.session.Subject(),
		block,
		replay.VerifyOptions{Times: times},
		xstate.Origin{Agent: "ann"},
	)
	if err != nil {
		p.t.Fatal(err)
	}
	if d := cmp.Diff(before, tree(p.t, p.dir)); d != "" {
		p.t.Errorf("verify changed the workspace (-before +after):\n%s", d)
	}
	return found
}

// outcomeOf is the outcome of one block.
func outcomeOf(o *xstate.Outcome, id xstate.BlockID) *runner.BlockOutcome {
	return &o.Blocks[slices.IndexFunc(o.Blocks, func(b runner.BlockOutcome) bool { return b.ID == id })]
}

// TestVerifyBlock: VerifyBlock finds a block that varies without any mark, and reports what differs. Its results are
// marked, also those of other inputs; so is every block that depends on it, and an earlier confirmation no longer
// counts. An edit removes the mark. A block that does not vary stays as it is.
func TestVerifyBlock(t *testing.T) {
	p := plant(
		t,
		map[string]string{"out.txt": "mine"},
		"",
		"base",
		"base = 1",
		"vary",
		"b = counter() + base\nopen('out.txt', 'w').write(str(b))\nprint(b)\nimport math\nc = b + 1",
		"use",
		"d = base + 1",
		"rest",
		"e = b",
	)
	counter := filepath.Join(t.TempDir(), "__pycache__", "n")
	xstatetest.WriteFiles(t, filepath.Dir(counter), map[string][]byte{"n": []byte("1")})
	count := "def counter():\n    with open(" + quote(
		counter,
	) + ", 'r+') as f:\n        n = int(f.read()) + 1\n        f.seek(0)\n        f.write(str(n))\n    return n"
	block := patch.Block{ID: "counter", Dialect: syntax.Python, Source: count}
	if _, err := p.session.Append(t.Context(), block, "base", xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	_, out := p.again(runner.RunOptions{})
	for _, b := range out.Blocks {
		if len(b.AllMarks) > 0 {
			t.Fatalf("block %s is marked %v: the counter was observed", b.ID, b.AllMarks)
		}
	}
	if found := p.verify("use", 2); !found.Stable || len(found.Differs) != 0 {
		t.Errorf("use: %+v, want it stable", found)
	}
	found := p.verify("vary", 3)
	got := map[string]bool{}
	for _, v := range found.Differs {
		got[v.Node+" "+v.What] = v.Follows
		if len(v.Values) != 3 {
			t.Errorf("%s: %q, want three values", v.What, v.Values)
		}
	}
	if d := cmp.Diff(map[string]bool{"vary#1 output": false, "vary#1 value b": false, "vary#1 file out.txt": false,
		"vary#3 value c": true}, got); d != "" {
		t.Errorf("what differs, and whether it follows (-want +got):\n%s", d)
	}
	entries, err := p.session.History().Log(t.Context(), 0, 1)
	if err != nil || entries[0].Number != found.Step || entries[0].Repeated == nil || entries[0].Repeated.Times != 3 ||
		entries[0].Block != "vary" ||
		entries[0].Origin.Agent != "ann" {
		t.Errorf("the step is %+v, %v", entries, err)
	}
	ran, out := p.again(runner.RunOptions{})
	if len(ran) > 0 {
		t.Errorf("ran %v after verify, want nothing: inputs are the same", ran)
	}
	for id, marked := range map[xstate.BlockID]bool{"base": false, "use": false, "vary": true, "rest": true} {
		if b := outcomeOf(out, id); slices.Contains(b.AllMarks, state.MarkVaried) != marked {
			t.Errorf("block %s has taint %v, want volatile: %v", id, b.AllMarks, marked)
		}
	}
	head, _, err := p.store.State().Head(t.Context(), "prog")
	if err == nil {
		_, err = replay.Confirm(t.Context(), p.session.Subject(), head, nil, xstate.Origin{})
	}
	snap, err2 := p.session.History().At(t.Context(), head+1)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	for _, b := range snap.Blocks {
		if confirmed := b.Verified != 0; confirmed != (b.ID != "vary") {
			t.Errorf("block %s is confirmed: %v", b.ID, confirmed)
		}
	}
	p.session.Close()
	p.session = xstatetest.OpenSession(t, p.store, p.options) // another process
	p.patch("base", "base = 2")
	_, out = p.again(runner.RunOptions{})
	if b := outcomeOf(out, "vary"); !slices.Contains(b.Marks, state.MarkVaried) {
		t.Errorf("with another input it is marked %v, want volatile", b.Marks)
	}
	differences, err := replay.Verify(t.Context(), p.session.Subject(), out, runner.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences {
		if !slices.Contains(d.Marks, state.MarkVaried) {
			t.Errorf("verify: %s: not explained: %v", d, d.Marks)
		}
	}
	p.patch("vary", "b = 3\nprint(b)\nc = b + 1")
	if _, out = p.again(runner.RunOptions{}); len(outcomeOf(out, "vary").AllMarks) > 0 {
		t.Errorf("after an edit it is marked %v", outcomeOf(out, "vary").AllMarks)
	}
}

// TestVerifyBlockBad: bad questions have answers.
func TestVerifyBlockBad(t *testing.T) {
	p := plant(t, nil, "", "a", "a = nothing", "b", "b = a", "c", "c = (")
	for id, code := range map[xstate.BlockID]state.Code{"none": query.CodeNoBlock, "b": query.CodeNotExecuted,
		"c": query.CodeNotExecuted} {
		if _, err := replay.VerifyBlock(t.Context(), p.session.Subject(), id, replay.VerifyOptions{},
			xstate.Origin{}); state.CodeOf(
			err,
		) != code {
			t.Errorf("%s: %v, want %s", id, err, code)
		}
	}
	if _, err := replay.VerifyBlock(t.Context(), p.session.Subject(), "a", replay.VerifyOptions{Times: 1},
		xstate.Origin{}); state.CodeOf(
		err,
	) != state.CodeInvalid {
		t.Errorf("once: %v, want invalid", err)
	}
	if found := p.verify("a", 2); !found.Stable {
		t.Errorf("the same failure twice: %+v", found.Differs)
	}
}

// TestPins: a block pinned to always runs each time, with early cutoff as usual. One pinned to never keeps its result
// though its inputs changed; it and all blocks that depend on it are marked until the pin is removed.
func TestPins(t *testing.T) {
	p := plant(
		t,
		nil,
		"",
		"a",
		"a = 1",
		"often",
		"# xstate: always\nb = 2",
		"use",
		"c = b",
		"once",
		"# xstate: never\nd = a * 10",
		"text",
		"text = '''\n# xstate: always\n'''",
		"rest",
		"e = d",
	)
	if ran, _ := p.again(runner.RunOptions{}); !slices.Equal(ran, []string{"often"}) {
		t.Errorf("ran %v, want often alone", ran)
	}
	plan, err := p.session.Plan(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	planned, err := plan.Blocks(t.Context())
	if err != nil || planned[1].Action != runner.ActRun || planned[1].Reason.Code != state.ReasonPinned {
		t.Errorf("plan: %+v, %v", planned[1], err)
	}
	p.patch("a", "a = 5")
	ran, out := p.again(runner.RunOptions{})
	if !slices.Equal(ran, []string{"often"}) {
		t.Errorf("ran %v, want often alone", ran)
	}
	once := outcomeOf(out, "once")
	if r := once.Reason; r.Code != state.ReasonPinned || r.Key != "var:a" ||
		!slices.Equal(once.Marks, []string{state.MarkPinned}) {
		t.Errorf("once: %+v %v, want it pinned, for var:a", r, once.Marks)
	}
	if rest := outcomeOf(out, "rest"); !slices.Contains(rest.AllMarks, state.MarkPinned) {
		t.Errorf("rest has taint %v, want pinned", rest.AllMarks)
	}
	differences, err := replay.Verify(t.Context(), p.session.Subject(), out, runner.RunOptions{})
	if err == nil {
		head, _, _ := p.store.State().Head(t.Context(), "prog")
		differences, err = replay.Attribute(t.Context(), p.session.Subject(), head, differences)
	}
	if err != nil || len(differences) == 0 {
		t.Fatalf("differences %v, %v: want those of what is pinned", differences, err)
	}
	for _, d := range differences {
		if !slices.Contains(d.Marks, state.MarkPinned) {
			t.Errorf("%s: not explained: %v", d, d.Marks)
		}
	}
	found := p.replay(replay.Options{})
	last := found.Runs[len(found.Runs)-1]
	if last.Result != replay.Partial ||
		!slices.ContainsFunc(
			last.Served,
			func(s replay.ServedNode) bool { return s.Node == "once" && s.Why == replay.ServedPinned },
		) {
		t.Errorf("replay: %+v", last)
	}
	if ran, _ = p.again(runner.RunOptions{Pins: map[xstate.BlockID]runner.Pin{"once": "", "often": runner.PinNever,
		"use": runner.PinAlways}}); !slices.Equal(
		ran,
		[]string{"use", "once", "rest"},
	) {
		t.Errorf("with other pins ran %v, want use, once, rest", ran)
	}
}

// TestAttribute: a difference in what a volatile block gives, or in what is computed from it, is explained; no other
// is.
func TestAttribute(t *testing.T) {
	a := xstatetest.NewAsked(t, "# %% now\nimport time\nt = time.time()\n# %% then\nu = t + 1\n# %% other\nv = 1\n")
	found, err := replay.Attribute(
		t.Context(),
		a.Session.Subject(),
		a.Runs[0],
		[]replay.Difference{{What: "value t"}, {What: "value u"}, {What: "value v"}, {What: "output", Block: "then"}},
	)
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
