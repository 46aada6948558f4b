package xstate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
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
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

// randomEdits is how many edits a random session has.
const randomEdits = 6

// TestRandom edits random programs and judges every run as TestPrograms does, against a run from scratch, and by a
// second law: what ran for the same files before does not run again. A session that breaks a law is shrunk and printed
// in the format of testdata/hazards. Variables of the environment:
//
//	XSTATE_RANDOM_SEED     the first seed; one session only unless seconds are given
//	XSTATE_RANDOM_SECONDS  go on with seed after seed for so long, on as many sessions at a time as there are processors
func TestRandom(t *testing.T) {
	first, only := uint64(1), false
	if text := os.Getenv("XSTATE_RANDOM_SEED"); text != "" {
		var err error
		if first, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("XSTATE_RANDOM_SEED: %v", err)
		}
		only = true
	}
	if text := os.Getenv("XSTATE_RANDOM_SECONDS"); text != "" {
		seconds, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("XSTATE_RANDOM_SECONDS: %v", err)
		}
		if !only {
			first = rand.Uint64() >> 16
		}
		randomFor(t, first, time.Duration(seconds)*time.Second)
		return
	}
	count := uint64(25)
	if only {
		count = 1
	} else if testing.Short() {
		count = 5
	}
	for seed := first; seed < first+count; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			testRandom(t, seed)
		})
	}
}

func randomFor(t *testing.T, first uint64, d time.Duration) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	next, until := first, time.Now().Add(d)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for time.Now().Before(until) {
				mu.Lock()
				seed := next
				next++
				mu.Unlock()
				testRandom(t, seed)
			}
		})
	}
	wg.Wait()
	t.Logf("%d sessions, seeds %d to %d", next-first, first, next-1)
}

// FuzzPrograms is TestRandom with seeds chosen by the fuzzer.
func FuzzPrograms(f *testing.F) {
	for seed := range uint64(3) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { testRandom(t, seed) })
}

// testRandom judges the session of one seed. The seed also chooses the interpreter, among those to test with, and
// the way of observing.
func testRandom(t *testing.T, seed uint64) {
	t.Helper()
	list := pythons()
	o := xstate.SessionOptions{Python: list[seed%uint64(len(list))], Seed: 7, Observe: os.Getenv("XSTATE_TEST_OBSERVE")}
	if o.Observe == "" && seed/uint64(len(list))%3 == 2 {
		o.Observe = "static"
	}
	c := &referee{t: t, options: o, known: map[string]*verdict{}}
	session := randomSession(seed, randomEdits)
	broken := c.play(session)
	if broken == nil {
		return
	}
	small, broken := c.shrink(session, broken)
	t.Errorf("seed %d, python %q, observe %q: step %d: %s: %s\n%s", seed, o.Python, o.Observe, broken.at, broken.law, broken.what,
		txtar.Format(archive(small, broken)))
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
	known   map[string]*verdict
}

// verdict is an outcome and the names whose values are not named by content in it.
type verdict struct {
	*xstate.Outcome
	opaque map[string]bool
}

// Laws.
const (
	lawSettles = "a run ends without an internal error"
	lawEqual   = "a run equals one from scratch"
	lawAgain   = "a second run executes nothing"
	lawBack    = "what ran for the same files does not run again"
	lawCheck   = "the store is sound"
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
	p := player{o: o}
	defer p.close()
	for i, v := range versions {
		found.at = i
		if v.restart {
			p.close()
		}
		files := v.files()
		if i > 0 {
			for name, data := range versions[i-1].files() {
				if string(files[name]) == string(data) {
					delete(files, name)
				}
			}
		}
		writeFiles(c.t, dir, files)
		have, err := p.run(v)
		if err != nil {
			found.law, found.what = lawSettles, err.Error()
			return found
		}
		found.ran = append(found.ran, ranBlocks(have.Outcome))
		want, err := c.scratch(v)
		if err != nil {
			found.law, found.what = lawSettles, "from scratch: "+err.Error()
			return found
		}
		if found.what = differences(have, want); found.what != "" {
			found.law = lawEqual
			return found
		}
		if slices.ContainsFunc(versions[:i], v.same) {
			if found.what = needless(have.Outcome); found.what != "" {
				found.law = lawBack
				return found
			}
		}
		again, err := p.run(v)
		if err != nil {
			found.law, found.what = lawSettles, "second run: "+err.Error()
			return found
		}
		if found.what = needless(again.Outcome); found.what != "" {
			found.law = lawAgain
			return found
		}
		if found.what = differences(again, want); found.what != "" {
			found.law, found.what = lawEqual, "second run: "+found.what
			return found
		}
	}
	if p.store != nil {
		problems, err := p.store.State().Check(context.Background())
		if len(problems) > 0 || err != nil {
			found.law, found.what = lawCheck, fmt.Sprint(problems, err)
		}
	}
	return found
}

func (c *referee) folder() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "xstate-random-")
	if err != nil {
		panic(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}

// scratch is what a version comes to in a folder, a store and an interpreter of its own.
func (c *referee) scratch(v version) (*verdict, error) {
	key := fmt.Sprintf("%q", v.files())
	if known := c.known[key]; known != nil {
		return known, nil
	}
	dir, remove := c.folder()
	defer remove()
	writeFiles(c.t, dir, v.files())
	p := player{o: c.options}
	p.o.Workspace = dir
	defer p.close()
	out, err := p.run(v)
	if err == nil {
		c.known[key] = out
	}
	return out, err
}

// player holds one session, opened when it is needed.
type player struct {
	o       xstate.SessionOptions
	store   *xstate.Store
	session *xstate.Session
}

func (p *player) close() {
	if p.session != nil {
		p.session.Close()
	}
	if p.store != nil {
		p.store.Close()
	}
	p.session, p.store = nil, nil
}

func (p *player) run(v version) (*verdict, error) {
	ctx := context.Background()
	if p.session == nil {
		var err error
		if p.store, err = xstate.Open(ctx, filepath.Join(p.o.Workspace, xstate.StoreName), xstate.Options{}); err != nil {
			return nil, err
		}
		if p.session, err = p.store.Session(ctx, "prog", p.o); err != nil {
			return nil, err
		}
	}
	program, err := patch.Parse("prog.py", []byte(v.program()))
	if err != nil {
		return nil, err
	}
	if _, err := p.session.Load(ctx, program.Blocks, xstate.Origin{}); err != nil {
		return nil, err
	}
	out, _, err := p.session.Run(ctx, runner.RunOptions{Timeout: 20 * time.Second}, xstate.Origin{})
	if err != nil {
		return nil, err
	}
	if out.Stopped != nil {
		return nil, out.Stopped
	}
	opaque, err := p.opaque(out)
	return &verdict{blank(out, p.o.Workspace), opaque}, err
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
					names[w.Key.Name()] = t.Info[depgraph.Key(w.Key)].Opaque != ""
				}
			}
		}
	}
	return names, nil
}

// differences tells where a run differs from one from scratch, "" when it does not.
func differences(have, want *verdict) string {
	var list []string
	for _, d := range xstate.Compare(have.Outcome, want.Outcome) {
		name, isValue := strings.CutPrefix(d.What, "value ")
		if len(d.Marks) > 0 || isValue && (have.opaque[name] || want.opaque[name]) {
			continue
		}
		list = append(list, d.String())
	}
	if len(have.Blocks) != len(want.Blocks) {
		list = append(list, fmt.Sprintf("%d blocks, from scratch %d", len(have.Blocks), len(want.Blocks)))
	}
	return strings.Join(list, "\n")
}

// needless tells which blocks ran though nothing changed, "" when none did. A node that failed in a way that may not
// happen again (an import that does not resolve, see runner's transient) leaves no trace, and is tried each time.
func needless(o *xstate.Outcome) string {
	var list []string
	for _, b := range o.Blocks {
		for i, n := range b.Nodes {
			if n.Status == state.StatusRan || n.Status == state.StatusFailed && n.Seconds > 0 && n.Trace != "" {
				list = append(list, fmt.Sprintf("block %s, node %d ran: %+v", b.ID, i, n.Reason))
			}
		}
	}
	return strings.Join(list, "\n")
}

// shrink looks for a smaller session that breaks the same law: fewer versions, blocks, statements, restarts.
func (c *referee) shrink(session []version, b *broken) ([]version, *broken) {
	until := time.Now().Add(2 * time.Minute)
	try := func(smaller []version) bool {
		if len(smaller) == 0 || time.Now().After(until) {
			return false
		}
		now := c.play(smaller)
		if now == nil || now.law != b.law {
			return false
		}
		session, b = smaller[:now.at+1], now
		return true
	}
	session = session[:b.at+1]
	for again := true; again; {
		again = false
		for i := len(session) - 2; i >= 0; i-- {
			again = i < len(session)-1 && try(slices.Delete(slices.Clone(session), i, i+1)) || again
		}
		for _, title := range titlesOf(session) {
			again = try(without(session, func(b randomBlock, _ statement) bool { return b.title == title })) || again
		}
		for _, number := range numbersOf(session) {
			again = try(without(session, func(_ randomBlock, s statement) bool { return s.number == number })) || again
		}
		for i := range len(session) {
			if i < len(session) && session[i].restart {
				calm := slices.Clone(session)
				calm[i].restart = false
				again = try(calm) || again
			}
		}
	}
	return session, b
}

func titlesOf(session []version) []string {
	var titles []string
	for _, v := range session {
		for _, b := range v.blocks {
			if !slices.Contains(titles, b.title) {
				titles = append(titles, b.title)
			}
		}
	}
	return titles
}

func numbersOf(session []version) []int {
	var numbers []int
	for _, v := range session {
		for _, b := range v.blocks {
			for _, s := range b.statements {
				if !slices.Contains(numbers, s.number) {
					numbers = append(numbers, s.number)
				}
			}
		}
	}
	return numbers
}

// without is the session without some statements, and without the blocks that this empties.
func without(session []version, drop func(randomBlock, statement) bool) []version {
	var smaller []version
	for _, v := range session {
		v = v.clone()
		for i := range v.blocks {
			b := &v.blocks[i]
			b.statements = slices.DeleteFunc(b.statements, func(s statement) bool { return drop(*b, s) })
		}
		v.blocks = slices.DeleteFunc(v.blocks, func(b randomBlock) bool { return len(b.statements) == 0 })
		smaller = append(smaller, v)
	}
	return smaller
}

// archive is a session in the format of testdata/hazards. The blocks that should have run are not known: those that
// did are given, and for a law of minimality none.
func archive(session []version, b *broken) *txtar.Archive {
	a := &txtar.Archive{}
	comment := "Found by TestRandom; broken: " + b.law + ".\n\n"
	n := 0
	add := func(files map[string][]byte, before map[string][]byte, ran []string) {
		prefix := ""
		if n > 0 {
			prefix = fmt.Sprintf("step-%d/", n)
		}
		for _, name := range []string{"in.txt", "helper.py", "prog.py"} {
			if n == 0 || string(before[name]) != string(files[name]) {
				a.Files = append(a.Files, txtar.File{Name: prefix + name, Data: files[name]})
			}
		}
		if n > 0 {
			a.Files = append(a.Files, txtar.File{Name: prefix + "ran", Data: []byte(strings.Join(append(ran, ""), "\n"))})
		}
		n++
	}
	var before map[string][]byte
	for i, v := range session {
		if v.restart {
			comment += fmt.Sprintf("step %d: restarted before.\n", i)
		}
		comment += fmt.Sprintf("step %d: %s.\n", i, v.edit)
		var ran []string
		if i < len(b.ran) && (b.law != lawBack || i < b.at) {
			ran = b.ran[i]
		}
		add(v.files(), before, ran)
		before = v.files()
	}
	if b.law == lawAgain || strings.HasPrefix(b.what, "second run: ") {
		add(before, before, nil)
	}
	a.Comment = []byte(comment + "\n")
	return a
}
