package replay_test

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/await"
	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/patch/syntax"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// long is a session of a few blocks with a history of many patches that were never run, but for the first and, maybe,
// the last program.
type long struct {
	t       *testing.T
	dir     string
	session *xstate.Session
}

func newLong(t *testing.T, blocks ...[2]string) *long {
	l := &long{t: t, dir: t.TempDir()}
	l.session = xstatetest.OpenSession(
		t,
		xstatetest.OpenStore(t, filepath.Join(l.dir, xstate.StoreName)),
		xstate.SessionOptions{Workspace: l.dir, Seed: 7},
	)
	for _, b := range blocks {
		if _, err := l.session.Append(t.Context(), patch.Block{ID: b[0], Dialect: syntax.Python, Source: b[1]}, "",
			xstate.Origin{}); err != nil {
			t.Fatal(err)
		}
	}
	l.run()
	return l
}

func (l *long) patch(block, source string) xstate.StepNumber {
	l.t.Helper()
	step, err := l.session.Patch(l.t.Context(), xstate.BlockID(block), source, xstate.Origin{CallID: source})
	if err != nil {
		l.t.Fatal(err)
	}
	return step.Number
}

func (l *long) run() *state.RunSummary {
	l.t.Helper()
	_, step, err := l.session.Run(l.t.Context(), runner.RunOptions{Timeout: await.Long}, xstate.Origin{})
	if err != nil {
		l.t.Fatal(err)
	}
	return step.Run
}

// files are the names, contents, permissions and times of the workspace's files.
func (l *long) files() map[string]string {
	l.t.Helper()
	found := map[string]string{}
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		info, err := e.Info()
		if err != nil {
			l.t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(l.dir, e.Name()))
		if err != nil {
			l.t.Fatal(err)
		}
		found[e.Name()] = fmt.Sprintf("%q %v %v", data, info.Mode(), info.ModTime().UnixNano())
	}
	return found
}

// bisect searches, and makes sure that the session, its workspace and what the next run does are what they were.
func (l *long) bisect(block string, o replay.BisectOptions) *replay.Bisection {
	l.t.Helper()
	head, hash, err := l.session.Store().State().Head(l.t.Context(), "prog")
	if err != nil {
		l.t.Fatal(err)
	}
	before := l.files()
	found, err := replay.Bisect(l.t.Context(), l.session.Subject(), xstate.BlockID(block), o)
	if err != nil {
		l.t.Fatal(err)
	}
	if n, now, err := l.session.Store().State().Head(l.t.Context(), "prog"); n != head || now != hash || err != nil {
		l.t.Errorf("bisect moved the session from step %d to %d", head, n)
	}
	if d := cmp.Diff(before, l.files()); d != "" {
		l.t.Errorf("bisect left other files (-before +after):\n%s", d)
	}
	return found
}

// TestBisectFailure: of 200 patches of a block, of which only the last was run, the one since which it fails is found
// by executing the block in as many programs as it takes to tell 200 apart, and nothing else.
func TestBisectFailure(t *testing.T) {
	culprits := []int{77, 0, 199}
	if testing.Short() {
		culprits = culprits[:1]
	}
	for _, culprit := range culprits {
		l := newLong(
			t,
			[2]string{"load", "rows = list(range(5))"},
			[2]string{"other", "print('other')"},
			[2]string{"check", "total = sum(rows)"},
			[2]string{"report", "print(total)"},
		)
		var want xstate.StepNumber
		for i := range 200 {
			source := fmt.Sprintf("total = sum(rows) + %d", i)
			if i >= culprit {
				source += "\nassert total < 0"
			}
			if n := l.patch("check", source); i == culprit {
				want = n
			}
		}
		l.run()
		found := l.bisect("check", replay.BisectOptions{})
		if found.First == nil || found.First.Number != want || found.Test != "failed" {
			t.Errorf("bisect finds %+v, want step %d", found.First, want)
		}
		if most := bits.Len(199); found.Executed > most || found.Restored > 0 { // ⌈log2(200)⌉
			t.Errorf("bisect executed %d blocks and %d again, want at most %d", found.Executed, found.Restored, most)
		}
		if again := l.bisect("check", replay.BisectOptions{}); again.Executed != 0 || again.First.Number != want {
			t.Errorf("asked again, it executes %d blocks and finds step %d", again.Executed, again.First.Number)
		}
	}
}

// TestBisectValue: among patches of several blocks, the search finds the one that changed the value of a block that
// depends on another. It is the one that running every program in turn finds. Blocks that the value does not depend on
// do not execute.
func TestBisectValue(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	l := newLong(
		t,
		[2]string{"noise", "noise = 0"},
		[2]string{"base", "base = 3 // 2"},
		[2]string{"file", "open('out.txt', 'w').write(str(base))"},
		[2]string{
			"loud",
			"raise SystemError('never executed')",
		},
		[2]string{"sum", "result = int(open('out.txt').read()) + base"},
		[2]string{"after", "print(result)"},
	)
	var want xstate.StepNumber
	for i := range 200 {
		switch r.IntN(3) {
		case 0:
			l.patch("noise", fmt.Sprintf("noise = %d\nopen('noise.txt', 'w').write('x')", i))
		case 1:
			n := l.patch("base", fmt.Sprintf("base = %d // %d", 100+i, (100+i)/(1+i/120))) // 1, then 2
			if want == 0 && i >= 120 {
				want = n
			}
		default:
			l.patch("loud", fmt.Sprintf("raise SystemError('never %d')", i))
		}
	}
	if err := os.WriteFile(filepath.Join(l.dir, "out.txt"), []byte("edited by hand"), 0o640); err != nil {
		t.Fatal(err)
	}
	found := l.bisect("sum", replay.BisectOptions{Value: "result"})
	if found.First == nil || found.First.Number != want || found.Test != "changed" {
		t.Fatalf("bisect finds %+v, want step %d", found.First, want)
	}
	if most := 3 * (bits.Len(199) + 1); found.Executed > most {
		t.Errorf("bisect executed %d blocks, want at most %d: three in each program", found.Executed, most)
	}
	for n := found.Good.Step; n <= want; n++ { // the slow way
		fork, err := l.session.Fork(t.Context(), fmt.Sprintf("fork%d", n), n, xstate.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		if n < want-2 && n%40 != 0 {
			continue
		}
		s, err := l.session.Store().Existing(t.Context(), fork.Name, xstate.SessionOptions{Workspace: l.dir})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := s.Run(t.Context(), runner.RunOptions{RestoreFiles: true}, xstate.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		if changed := out.Values["result"] != found.Good.Makes["var:result"].Digest; changed != (n >= want) {
			t.Errorf("run after step %d: changed is %v", n, changed)
		}
		s.Close()
	}
}

// TestBisectRecorded: where programs in between were run, nothing is executed; where they were not, that is said.
func TestBisectRecorded(t *testing.T) {
	l := newLong(t, [2]string{"x", "x = 0"}, [2]string{"y", "y = x > 5"})
	var steps []xstate.StepNumber
	for i := 1; i <= 10; i++ {
		steps = append(steps, l.patch("x", fmt.Sprintf("x = %d", i)))
		if i != 5 {
			l.run()
		}
	}
	found := l.bisect("y", replay.BisectOptions{Recorded: true})
	if len(found.Between) != 2 || found.Between[0].Number != steps[4] || found.First.Number != steps[5] ||
		found.Executed != 0 {
		t.Errorf(
			"from records: %+v between, first %+v, %d executed, want steps %d and %d",
			found.Between,
			found.First,
			found.Executed,
			steps[4],
			steps[5],
		)
	}
	if found = l.bisect("y", replay.BisectOptions{}); found.First.Number != steps[5] || found.Executed != 2 ||
		found.Between != nil {
		t.Errorf("bisect finds %+v, executes %d blocks, want step %d and 2", found.First, found.Executed, steps[5])
	}
	var downs []xstate.StepNumber
	good := steps[9]
	for i := range 6 { // it changes, and changes back; the first time is meant, however many come after it
		l.patch("x", fmt.Sprintf("x = %d", 20+i))
		l.run()
		downs = append(downs, l.patch("x", fmt.Sprintf("x = -%d", i)))
		l.run()
	}
	if found = l.bisect("y", replay.BisectOptions{Good: good}); found.Executed != 0 || found.First.Number != downs[0] {
		t.Errorf("bisect finds %+v, executes %d blocks, want step %d and none", found.First, found.Executed, downs[0])
	}
	for _, o := range []replay.BisectOptions{{Good: 3, Bad: 3}, {Good: 5, Bad: 4}, {Bad: math.MaxInt}} {
		if _, err := replay.Bisect(t.Context(), l.session.Subject(), "y", o); state.CodeOf(err) != state.CodeNoStep {
			t.Errorf("bisect of %+v: %v, want %s", o, err, state.CodeNoStep)
		}
	}
	if _, err := replay.Bisect(t.Context(), l.session.Subject(), "y",
		replay.BisectOptions{Bad: steps[2]}); state.CodeOf(
		err,
	) != replay.CodeUnchanged {
		t.Errorf("bisect where nothing changed: %v, want %s", err, replay.CodeUnchanged)
	}
	if _, err := replay.Bisect(t.Context(), l.session.Subject(), "z", replay.BisectOptions{}); state.CodeOf(
		err,
	) != query.CodeNoBlock ||
		!strings.Contains(err.Error(), "never had") {
		t.Errorf("bisect of no block: %v, want %s", err, query.CodeNoBlock)
	}
	if n := l.run().Nodes.Ran; n != 0 {
		t.Errorf("the next run executes %d nodes, want none", n)
	}
}

// TestBisectAside: searches in a program that changes its inputs, in place and in files, at any time, leave the folder
// as it was, and the next run equals that of a fresh interpreter.
func TestBisectAside(t *testing.T) {
	seed := sampling.Seed(t)
	r := rand.New(rand.NewPCG(seed, 6))
	l := &long{t: t, dir: t.TempDir()}
	xstatetest.WriteFiles(t, l.dir, map[string][]byte{"data.csv": []byte("1\n2\n")})
	l.session = xstatetest.OpenSession(
		t,
		xstatetest.OpenStore(t, filepath.Join(l.dir, xstate.StoreName)),
		xstate.SessionOptions{Workspace: l.dir, Seed: 7},
	)
	searched, executed := 0, 0
	rounds := 16
	if testing.Short() {
		rounds = 4
	}
	for round := range rounds {
		for range 1 + r.IntN(4) {
			text := ""
			for i, part := range xstatetest.ReplacedParts {
				if code := part[r.IntN(len(part))]; code != "" {
					text += fmt.Sprintf("# %%%% part %d\n%s\n", i, code)
				}
			}
			if _, err := l.session.Load(t.Context(), xstatetest.ParseScript(t, text), xstate.Origin{}); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			before := l.files()
			id := fmt.Sprintf("part-%d", r.IntN(len(xstatetest.ReplacedParts)))
			found, err := replay.Bisect(t.Context(), l.session.Subject(), xstate.BlockID(id), replay.BisectOptions{})
			switch state.CodeOf(err) {
			case replay.CodeUnchanged, query.CodeNoBlock, state.CodeNoStep:
			case "":
				if err != nil {
					t.Fatalf("seed %d, round %d: bisect of %s: %v", seed, round, id, err)
				}
				searched, executed = searched+1, executed+found.Executed
			default:
				t.Fatalf("seed %d, round %d: bisect of %s: %v", seed, round, id, err)
			}
			if d := cmp.Diff(before, l.files()); d != "" {
				t.Fatalf("seed %d, round %d: bisect of %s left other files (-before +after):\n%s", seed, round, id, d)
			}
		}
		out, _, err := l.session.Run(t.Context(), runner.RunOptions{Timeout: await.Long}, xstate.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		program, printed := "", ""
		for _, b := range out.Blocks {
			program += b.Source + "\n"
			for _, o := range b.Outputs {
				printed += o.Text
			}
		}
		if want, got := xstatetest.FromScratchText(t, l.session.Python().Path, program),
			printed+xstatetest.WrittenFiles(l.dir); got != want {
			t.Fatalf("seed %d, round %d:\n%s\n--- came to\n%s--- from scratch\n%s", seed, round, program, got, want)
		}
	}
	if rounds > 4 && (searched < 5 || executed < 5) {
		t.Errorf("seed %d: %d searches that executed %d blocks show too little", seed, searched, executed)
	}
}
