package acceptance

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
	"github.com/xstate-engine/xstate/runner/kernel/bash"
	"github.com/xstate-engine/xstate/runner/kernel/node"
	"github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/runner/replay"
)

var update = flag.Bool("update", false,
	"judge every step of the sessions live, and write testdata/confirmed.txt and what the sessions print")

// oracle judges the outcomes of a session's steps. An outcome is right if it equals that of a run from scratch, in a
// fresh folder, store and interpreter, and prints what the interpreter alone prints. Outcomes that were judged before
// are not judged again (xstatetest.Confirmed), unless XSTATE_TEST_ALL=1 or -update asks for it.
type oracle struct {
	session string // the session's file, below testdata and without its ending
	steps   []xstatetest.ProgramStep
	options xstate.SessionOptions
	given   string // what besides files decides an outcome
	run     func(*testing.T, map[string][]byte) *xstate.Outcome
	// alone tells how what a run printed after step i differs from what the interpreter alone prints; "": it does not.
	alone   func(t *testing.T, i int, files map[string][]byte, out *xstate.Outcome) string
	scratch map[string]*xstate.Outcome // runs from scratch, by files and what is given
	spent   *spent
}

// judgements counts the outcomes of all oracles by how they were judged.
var judgements struct{ confirmed, live, scratch, shared atomic.Int64 }

// confirmed returns the claims that were confirmed before, and those that this process confirms.
var confirmed = sync.OnceValue(func() *xstatetest.Confirmed { return xstatetest.OpenConfirmed(judges()) })

// judges describes all that decides what a run from scratch and an interpreter alone produce, besides the session.
func judges() string {
	text := fmt.Sprintf("python %d, node %d, bash %d\n", python.Semantics, node.Semantics, bash.Semantics)
	commands := [][]string{{"node", "--version"}, {"bash", "--version"}}
	for _, p := range xstatetest.Pythons() {
		commands = append(commands, []string{cmp.Or(p, "python3"), "-VV"})
	}
	for _, c := range commands {
		out, _ := exec.Command(c[0], c[1:]...).Output() // one that is missing judges nothing
		text += fmt.Sprintf("%s %s\n", filepath.Base(c[0]), out)
	}
	requirements, _ := os.ReadFile(xstatetest.Testdata("requirements.txt"))
	return text + string(requirements)
}

func newOracle(session string, steps []xstatetest.ProgramStep, o xstate.SessionOptions) *oracle {
	return &oracle{
		session: session,
		steps:   steps,
		options: o,
		run: func(t *testing.T, files map[string][]byte) *xstate.Outcome {
			return xstatetest.FromScratch(t, t.Context(), files, o, steps[0].Timeout)
		},
		scratch: map[string]*xstate.Outcome{},
		spent:   spentOn(session),
	}
}

// judge fails the test if the outcome after step i is wrong.
func (o *oracle) judge(t *testing.T, i int, have *xstate.Outcome) {
	t.Helper()
	files, marks := o.files(i), o.steps[i].Marks
	if !*update {
		o.judgePrints(t, i, files, have)
	}
	claim := xstatetest.ClaimOf(files, have, marks != nil, o.given)
	if !sampling.All() && !*update && confirmed().Has(o.session, claim) {
		judgements.confirmed.Add(1)
		return
	}
	judgements.live.Add(1)
	right := true
	for _, d := range replay.Compare(have, o.fromScratch(t, files)) {
		if marks == nil || d.Marks == nil { // otherwise it may differ, and the user is told
			t.Errorf("step %d: %s (marks: %v)", i, d, d.Marks)
			right = false
		}
	}
	if o.alone != nil {
		began := time.Now()
		what := o.alone(t, i, files, have)
		o.spent.add(&o.spent.alone, time.Since(began).Seconds())
		if what != "" {
			t.Errorf("step %d: %s", i, what)
			right = false
		}
	}
	if right {
		confirmed().Add(o.session, claim)
	}
}

// fromScratch returns what a run from scratch produces of the files. Steps with equal files share one run.
func (o *oracle) fromScratch(t *testing.T, files map[string][]byte) *xstate.Outcome {
	t.Helper()
	name := key(files) + o.given
	if out := o.scratch[name]; out != nil && !sampling.All() {
		judgements.shared.Add(1)
		return out
	}
	judgements.scratch.Add(1)
	began := time.Now()
	out := o.run(t, files)
	o.spent.add(&o.spent.scratch, time.Since(began).Seconds())
	o.scratch[name] = out
	return out
}

// files returns the workspace after step i.
func (o *oracle) files(i int) map[string][]byte {
	files := map[string][]byte{}
	for _, s := range o.steps[:i+1] {
		s.AddTo(files)
	}
	return files
}

// reportSessions reports at the end of a test how its sessions were judged and where the time went, and with -update
// writes the golden.
func reportSessions(t *testing.T) {
	t.Cleanup(func() {
		if *update {
			confirmed().WriteGolden(t)
		}
		text := fmt.Sprintf(
			"%s: %d outcomes were confirmed before, %d judged live, by %d runs from scratch (%d shared)\n%s",
			t.Name(), judgements.confirmed.Swap(0), judgements.live.Swap(0), judgements.scratch.Swap(0),
			judgements.shared.Swap(0), spentText())
		t.Log(text)
		xstatetest.Report(t, text)
	})
}

// sessionOf is the name of a session by its file.
func sessionOf(file string) string {
	_, name, _ := strings.Cut(strings.TrimSuffix(filepath.ToSlash(file), filepath.Ext(file)), "testdata/")
	return name
}
