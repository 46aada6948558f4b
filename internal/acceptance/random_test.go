package acceptance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/sampling"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
)

const (
	randomEdits    = 6  // of one session
	randomSessions = 16 // of a test that names neither a seed nor a time; three times as many with XSTATE_TEST_ALL=1
)

// TestRandom edits random programs and judges every run as TestPrograms does, against a run from scratch, and by the
// laws below. A session that breaks one is shrunk and printed in the format of testdata/hazards. Variables of the
// environment:
//
//	XSTATE_RANDOM_SEED  the first seed; one session only unless a time is given
//	XSTATE_RANDOM_TIME  go on with seed after seed for so long ("1h"), from a random one unless a seed is given, with
//	                    as many sessions at a time as there are processors; the first broken law ends it
func TestRandom(t *testing.T) { testSeeds(t, drawing{}) }

// TestRandomFiles is TestRandom with programs that keep files open from block to block, by several handles, maps and
// connections, and rename, replace, truncate and remove them meanwhile.
func TestRandomFiles(t *testing.T) { testSeeds(t, drawing{theme: "open"}) }

// drawing says what random programs are made of.
type drawing struct {
	theme string      // the group of templates of Python that most statements come from; "": all groups
	words *vocabulary // of another language; nil: Python

	shared  bool // two machines share results, see otherMachine
	workers int  // of the second of them
}

func testSeeds(t *testing.T, from drawing) {
	first, count := uint64(1), uint64(randomSessions)
	if sampling.All() {
		count *= 3
	}
	if from.theme != "" || from.words != nil || from.shared {
		count /= 2
	}
	if from.workers > 0 {
		count /= 8
	}
	text, only := os.LookupEnv("XSTATE_RANDOM_SEED")
	if only {
		var err error
		if first, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("XSTATE_RANDOM_SEED: %v", err)
		}
		count = 1
	} else if testing.Short() {
		count = 4
	}
	if text := os.Getenv("XSTATE_RANDOM_TIME"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("XSTATE_RANDOM_TIME: %v", err)
		}
		if !only {
			first = rand.Uint64() >> 32
		}
		randomFor(t, first, d, from)
		return
	}
	for seed := first; seed < first+count; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			testRandom(t, seed, from)
		})
	}
}

func randomFor(t *testing.T, first uint64, d time.Duration, from drawing) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	next, until := first, time.Now().Add(d)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for time.Now().Before(until) && !t.Failed() {
				mu.Lock()
				seed := next
				next++
				mu.Unlock()
				testRandom(t, seed, from)
			}
		})
	}
	wg.Wait()
	t.Logf("%d sessions of %d runs each, seeds %d to %d", next-first, randomEdits+1, first, next-1)
}

// testRandom judges the session of one seed. The seed also chooses the interpreter, among those to test with, and
// the way of observing.
func testRandom(t *testing.T, seed uint64, from drawing) {
	t.Helper()
	list := xstatetest.Pythons()
	o := xstate.SessionOptions{Python: list[seed%uint64(len(list))], Seed: 7, Observe: os.Getenv("XSTATE_TEST_OBSERVE")}
	if o.Observe == "" && seed/uint64(len(list))%3 == 2 {
		o.Observe = "static"
	}
	c := &referee{t: t, options: o, jobs: xstatetest.Jobs(), known: map[string]*verdict{},
		shared: from.shared, workers: from.workers}
	if c.jobs == 0 && seed/uint64(len(list))%4 == 3 {
		c.jobs = 2
	}
	if from.words != nil {
		o.Python, o.Observe, c.options = "", "", xstate.SessionOptions{Seed: 7}
	}
	session := from.session(seed, o.Python)
	broken := c.play(session)
	if broken == nil {
		return
	}
	small, broken := c.shrink(session, broken)
	t.Errorf(
		"seed %d, python %q, observe %q, jobs %d: step %d: %s: %s\n%s",
		seed,
		o.Python,
		o.Observe,
		c.jobs,
		broken.at,
		broken.law,
		broken.what,
		txtar.Format(archive(small, broken)),
	)
}

func (d drawing) session(seed uint64, python string) []version {
	if d.words != nil {
		return vocabularySession(seed, randomEdits, d.words)
	}
	return randomSession(seed, randomEdits, hasPackages(python), d.theme)
}

var packages sync.Map // interpreter → whether it has numpy and pandas

func hasPackages(python string) bool {
	if known, ok := packages.Load(python); ok {
		return known.(bool)
	}
	found := exec.Command(cmp.Or(python, "python3"), "-c", "import numpy, pandas").Run() == nil
	packages.Store(python, found)
	return found
}

// broken says which law a session broke.
type broken struct {
	at   int    // index of the version
	law  string // "equal to a run from scratch", …
	what string
	ran  [][]string // blocks that ran for each version
}

// referee plays sessions. What programs come to from scratch is kept: shrinking asks for the same ones often.
type referee struct {
	t       *testing.T
	options xstate.SessionOptions
	jobs    int // of the runs that are judged
	known   map[string]*verdict
	shared  bool
	workers int // of the second machine
}

// verdict is an outcome and what the laws need to know of it.
type verdict struct {
	*xstate.Outcome
	opaque      map[string]bool            // names whose values are not named by content
	unpredicted []string                   // see unpredicted
	unlike      string                     // see unlikePlain
	inputs      map[depgraph.NodeID]string // see inputs
}

// Laws.
const (
	lawSettles   = "a run ends without an internal error"
	lawEqual     = "a run equals one from scratch"
	lawPlain     = "a run from scratch prints what the interpreter does"
	lawAgain     = "a second run executes nothing"
	lawBack      = "what ran for the same files does not run again"
	lawInputs    = "what ran with the same code, and the same values of all that it may read, does not run again"
	lawPredicted = "names that are read were predicted"
	lawShared    = "a run that takes results over equals one from scratch"
	lawVerify    = "verify finds no difference"
	lawCheck     = "the store is sound"
)

// play runs the versions one after the other and returns the first law broken, or nil.
func (c *referee) play(versions []version) (found *broken) {
	found = &broken{}
	defer func() {
		if p := recover(); p != nil {
			found.law, found.what = lawSettles, fmt.Sprintf("panic: %v\n%s", p, debug.Stack())
		} else if found.law == "" {
			found = nil
		}
	}()
	o := c.options
	dir, remove := c.folder()
	defer remove()
	o.Workspace = dir
	g := &game{
		referee: c,
		player:  player{o: o, jobs: c.jobs},
		base:    map[string][]byte{},
		states:  map[string]bool{},
		seen:    map[string]bool{},
	}
	defer g.close()
	var other *otherMachine
	if c.shared {
		other = newOtherMachine(g)
		defer other.remove()
	}
	for i, v := range versions {
		found.at = i
		ran, law, what := other.moveBoth(g, v, i)
		if ran != nil {
			found.ran = append(found.ran, ran)
		}
		if law != "" {
			found.law, found.what = law, what
			return found
		}
	}
	if c.workers > 0 {
		g = &other.game
	}
	if g.store != nil {
		if differences, err := g.verify(); len(differences) > 0 || err != nil {
			found.law, found.what = lawVerify, fmt.Sprint(differences, err)
			return found
		}
		problems, err := g.store.State().Check(context.Background())
		if len(problems) > 0 || err != nil {
			found.law, found.what = lawCheck, fmt.Sprint(problems, err)
		}
	}
	return found
}

// game is a session under way.
type game struct {
	*referee
	player
	base   map[string][]byte // the workspace as it would be had the program never run
	states map[string]bool   // bases that ran to the end
	seen   map[string]bool   // inputs of nodes that ran, see inputs
}

// move plays one version; a law is returned if it breaks one.
func (g *game) move(v version) (ran []string, law, what string) {
	switch v.restart {
	case newKernel:
		g.closeSession()
	case newProcess:
		g.close()
	}
	g.write(v)
	if v.stop > 0 {
		if err := g.interrupted(v); err != nil {
			return nil, lawSettles, "interrupted: " + err.Error()
		}
	}
	have, err := g.run(context.Background(), v, nil)
	if err != nil {
		return nil, lawSettles, err.Error()
	}
	ran = xstatetest.RanBlocks(have.Outcome)
	want, err := g.scratch(v.words, g.base, have.Blocks)
	if err != nil {
		return ran, lawSettles, "from scratch: " + err.Error()
	}
	if what := differences(have, want); what != "" {
		return ran, lawEqual, what
	}
	if want.unlike != "" {
		return ran, lawPlain, want.unlike
	}
	if len(want.unpredicted) > 0 || len(have.unpredicted) > 0 {
		return ran, lawPredicted, fmt.Sprint("from scratch: ", want.unpredicted, ", incrementally: ", have.unpredicted)
	}
	state := key(g.base) // and what blocks are called: results may cite that
	for _, b := range have.Blocks {
		state += " " + string(b.ID)
	}
	if g.states[state] {
		if what := needless(have.Outcome); what != "" {
			return ran, lawBack, what
		}
	}
	if what := g.repeated(have, want); what != "" {
		return ran, lawInputs, what
	}
	again, err := g.run(context.Background(), v, nil)
	if err != nil {
		return ran, lawSettles, "second run: " + err.Error()
	}
	if what := needless(again.Outcome); what != "" {
		return ran, lawAgain, what
	}
	if what := differences(again, want); what != "" {
		return ran, lawEqual, "second run: " + what
	}
	g.states[state] = true
	for _, s := range want.inputs {
		g.seen[s] = true
	}
	return ran, "", ""
}

// write puts the version into the workspace: its files as far as they changed, and what is changed by hand.
func (g *game) write(v version) {
	changed := v.files()
	maps.DeleteFunc(changed, func(name string, data []byte) bool {
		before, known := g.base[name]
		return known && string(before) == string(data)
	})
	for name, text := range v.hand {
		if text != "" {
			changed[name] = []byte(text)
		} else if _, err := os.Lstat(filepath.Join(g.o.Workspace, name)); err == nil {
			changed[name] = nil
		}
	}
	xstatetest.WriteFiles(g.t, g.o.Workspace, changed)
	for name, data := range changed {
		if data == nil {
			delete(g.base, name)
		} else {
			g.base[name] = data
		}
	}
}

// key names a workspace.
func key(base map[string][]byte) string { return fmt.Sprintf("%q", base) }

// repeated returns the nodes that ran although they had run in the same place with the same inputs before.
func (g *game) repeated(have, want *verdict) string {
	var list []string
	frames := slices.ContainsFunc(
		have.Blocks,
		func(b runner.BlockOutcome) bool { return strings.Contains(b.Source, "itertuples") },
	)
	for _, b := range have.Blocks {
		for i, n := range b.Nodes {
			id := depgraph.NewNodeID(string(b.ID), i)
			if frames && (n.Reason.Code == state.ReasonLost || n.Reason.Code == state.ReasonSharing) {
				continue
			}
			if executed(n) && n.Reason.Code != state.ReasonLayout && want.inputs[id] != "" && g.seen[want.inputs[id]] {
				list = append(list, fmt.Sprintf("node %s ran: %+v", id, n.Reason))
			}
		}
	}
	return strings.Join(list, "\n")
}

func (c *referee) folder() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "xstate-random-")
	if err != nil {
		panic(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}

// scratch is what a workspace comes to in a folder, a store and an interpreter of its own. Blocks have the ids given:
// those of a session rest on its past, and errors name them.
func (c *referee) scratch(
	words *vocabulary, files map[string][]byte, blocks []runner.BlockOutcome,
) (*verdict, error) {
	var ids []string
	for _, b := range blocks {
		ids = append(ids, string(b.ID))
	}
	name := key(files) + fmt.Sprint(ids)
	if known := c.known[name]; known != nil {
		return known, nil
	}
	dir, remove := c.folder()
	defer remove()
	xstatetest.WriteFiles(c.t, dir, files)
	o := c.options
	p := player{o: o}
	p.o.Workspace = dir
	defer p.close()
	out, err := p.runText(context.Background(), words, files[words.program()], ids, nil)
	switch {
	case err != nil:
	case words != nil:
		out.unlike = unlikeVocabulary(c.t, words, files, out.Outcome)
	default:
		out.inputs, err = p.inputs(files)
		out.unlike = unlikePlain(c.t, o.Python, files, out.Outcome)
	}
	if err == nil {
		c.known[name] = out
	}
	return out, err
}

// player holds one session, opened when it is needed.
type player struct {
	o       xstate.SessionOptions
	jobs    int
	remote  int  // nodes that workers execute at once
	whole   bool // a worker executes the run
	store   *xstate.Store
	session *xstate.Session
	step    xstate.StepNumber // of the last run
}

func (p *player) closeSession() {
	if p.session != nil {
		p.session.Close()
	}
	p.session = nil
}

func (p *player) close() {
	p.closeSession()
	if p.store != nil {
		p.store.Close()
	}
	p.store = nil
}

func (p *player) open(ctx context.Context) (err error) {
	if p.store == nil {
		if p.store, err = xstate.Open(ctx, filepath.Join(p.o.Workspace, xstate.StoreName),
			xstate.Options{}); err != nil {
			return err
		}
	}
	if p.session == nil {
		p.session, err = p.store.Session(ctx, "prog", p.o)
	}
	return err
}

func (p *player) run(ctx context.Context, v version, onEvent func(runner.Event)) (*verdict, error) {
	return p.runText(ctx, v.words, []byte(v.program()), nil, onEvent)
}

var errStopped = errors.New("the run was stopped")

func (p *player) runText(
	ctx context.Context, words *vocabulary, text []byte, ids []string, onEvent func(runner.Event),
) (*verdict, error) {
	if err := p.open(context.Background()); err != nil {
		return nil, err
	}
	program, err := patch.Parse(words.program(), text)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		program.Blocks[i].ID = id
	}
	if _, err := p.session.Load(context.Background(), program.Blocks, xstate.Origin{}); err != nil {
		return nil, err
	}
	if _, err := p.session.Plan(context.Background(), nil); err != nil { // see judgePlan
		return nil, err
	}
	out, step, err := p.session.Run(
		ctx,
		runner.RunOptions{Timeout: 2 * time.Minute, Jobs: p.jobs, RemoteJobs: p.remote, Elsewhere: p.whole,
			OnEvent: onEvent, RestoreFiles: true},
		xstate.Origin{},
	)
	if err != nil {
		return nil, err
	}
	if _, err := p.session.Plan(context.Background(), nil); err != nil {
		return nil, err
	}
	if out.Stopped != nil {
		return nil, errStopped
	}
	p.step = step.Number
	found := &verdict{Outcome: xstatetest.Blank(out, p.o.Workspace)}
	for name := range out.Files { // with the text of an object that tells its address
		if data, err := os.ReadFile(filepath.Join(p.o.Workspace, name)); err == nil && address.Match(data) {
			delete(out.Files, name)
		}
	}
	if found.opaque, err = p.opaque(out); err != nil {
		return nil, err
	}
	if words == nil {
		found.unpredicted, err = unpredicted(context.Background(), p.store, p.session, p.o, p.step)
	}
	return found, err
}

// interrupted runs the version and stops at an event, or a moment after it.
func (p *player) interrupted(v version) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	events := 0
	_, err := p.run(ctx, v, func(runner.Event) {
		if events++; events != (v.stop+1)/2 {
			return
		}
		if v.stop%2 == 1 {
			cancel()
			return
		}
		time.AfterFunc(time.Duration(v.stop)*time.Millisecond, cancel)
	})
	if err == errStopped {
		return nil
	}
	return err
}

func (p *player) verify() ([]replay.Difference, error) {
	o := runner.RunOptions{Timeout: 2 * time.Minute, RestoreFiles: true}
	out, _, err := p.session.Run(context.Background(), o, xstate.Origin{})
	if err != nil {
		return nil, err
	}
	found, err := replay.Verify(
		context.Background(),
		p.session.Subject(),
		out,
		runner.RunOptions{Timeout: 2 * time.Minute},
	)
	opaque, wrong := p.opaque(out)
	if err == nil {
		err = wrong
	}
	return slices.DeleteFunc(found, func(d replay.Difference) bool { return excused(d, opaque) }), err
}

// opaque returns the names whose values have digests by lineage: those may differ where the values do not.
func (p *player) opaque(out *xstate.Outcome) (map[string]bool, error) {
	names := map[string]bool{}
	for _, b := range out.Blocks {
		for _, n := range b.Nodes {
			if n.Trace == "" || n.Status == state.StatusFailed {
				continue
			}
			t, ok, err := p.store.State().Trace(n.Trace)
			if err != nil || !ok {
				return nil, fmt.Errorf("trace %s of block %s: found %v, %w", n.Trace, b.ID, ok, err)
			}
			for _, w := range t.Writes {
				if w.Key.Space() == "var" {
					names[w.Key.Name()] = t.Info[w.Key].Opaque != ""
				}
			}
		}
	}
	return names, nil
}

// differences describes how a run differs from one from scratch; "" if it does not.
func differences(have, want *verdict) string {
	var list []string
	for _, d := range replay.Compare(have.Outcome, want.Outcome) {
		if !excused(d, have.opaque) && !excused(d, want.opaque) {
			list = append(list, d.String())
		}
	}
	if len(have.Blocks) != len(want.Blocks) {
		list = append(list, fmt.Sprintf("%d blocks, from scratch %d", len(have.Blocks), len(want.Blocks)))
	}
	return strings.Join(list, "\n")
}

func excused(d replay.Difference, opaque map[string]bool) bool {
	name, isValue := strings.CutPrefix(d.What, "value ")
	journal := d.What == "file x.db-journal" // SQLite puts a random number into it
	return len(d.Marks) > 0 || isValue && opaque[name] || journal
}

// needless returns the blocks that ran although nothing changed; "" if none did.
func needless(o *xstate.Outcome) string {
	var list []string
	for _, b := range o.Blocks {
		for i, n := range b.Nodes {
			if executed(n) {
				list = append(list, fmt.Sprintf("block %s, node %d ran: %+v", b.ID, i, n.Reason))
			}
		}
	}
	return strings.Join(list, "\n")
}

// executed reports whether a node ran. One that failed in a way that may not happen again (an import that does not
// resolve, see runner's transient) leaves no trace, is tried each time, and does not count.
func executed(n runner.NodeOutcome) bool {
	if t := n.Result(); t != nil && t.Once { // a failure that proves nothing is tried again
		return false
	}
	return n.Status == state.StatusRan || n.Status == state.StatusFailed && n.Seconds > 0 && n.Trace != ""
}
