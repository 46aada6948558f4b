package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner/kernel"
	py "github.com/xstate-engine/xstate/runner/kernel/python"
)

// Options are the choices of Measure. The zero value is the usual bench.
type Options struct {
	Python     py.Interpreter
	Strategies []Strategy    // must include Scratch; nil means Strategies
	Peers      []string      // versions of the peers among them, see CheckPeers
	Jobs       int           // programs measured at once; 0 means one
	Budget     time.Duration // the bench stops after this time; 0 means no limit
	Timeout    time.Duration // for one block; 0 means no limit
	Earlier    []Result      // results of an earlier bench: their programs are not measured again
	OnVersion  func(program string, version, of int)
	OnResult   func(Result) error // called for one result at a time
}

// Result is the measurement of one program.
type Result struct {
	Key      string  `json:"key"` // identifies program, edits, strategies and interpreter
	Program  string  `json:"program"`
	Workload string  `json:"workload"`
	Blocks   int     `json:"blocks"`
	Rebinds  bool    `json:"rebinds"` // two blocks bind one name: marimo refuses such a program
	Seconds  float64 `json:"seconds"` // the time that the measurement took
	Error    string  `json:"error,omitempty"`
	Runs     []Run   `json:"runs"`
}

// Run is one strategy after one edit.
type Run struct {
	Version    int      `json:"version"` // 0: the first run, before any edit
	Edit       Kind     `json:"edit"`
	At         float64  `json:"at"`     // position of the edit: 0 the first block, 1 the last
	Blocks     int      `json:"blocks"` // the program's blocks
	Strategy   Strategy `json:"strategy"`
	Ran        int      `json:"ran"`   // blocks executed
	Nodes      int      `json:"nodes"` // executed
	Recomputed int      `json:"again"` // nodes executed again for values that were not stored
	Seconds    float64  `json:"seconds"`
	Saved      float64  `json:"saved_seconds"`     // compared with scratch
	Equal      bool     `json:"equal"`             // whether the outcome equals that of scratch
	Differs    []string `json:"differs"`           // the differences; at most maxDiffers
	Refused    string   `json:"refused,omitempty"` // why a peer refused the program; then nothing was compared
	Volatile   int      `json:"volatile"`          // differences left out because of a mark
	Unstable   int      `json:"unstable"`          // differences left out because two runs from scratch differ there
	Failed     bool     `json:"failed"`            // a block failed in the run from scratch
	Bytes      int64    `json:"bytes"`             // stored on disk
	Close      float64  `json:"close_seconds"`     // time to close after the last run, which stores the rest
}

const maxDiffers = 5

// Measure runs every program with every strategy. It returns the earlier results that are of these programs and the
// new ones, in the order of the programs. Interrupted or out of time, it returns the complete results; in the latter
// case err is nil.
func Measure(ctx context.Context, programs []Program, o Options) ([]Result, error) {
	if o.Strategies == nil {
		o.Strategies = Strategies
	}
	have := map[string]Result{}
	for _, r := range o.Earlier {
		have[r.Key] = r
	}
	run := ctx
	if o.Budget > 0 {
		var cancel context.CancelFunc
		run, cancel = context.WithTimeout(ctx, o.Budget)
		defer cancel()
	}
	results := make([]*Result, len(programs))
	var todo []int
	for i := range programs {
		if r, ok := have[resultKey(&programs[i], &o)]; ok {
			results[i] = &r
		} else {
			todo = append(todo, i)
		}
	}
	queue := make(chan int)
	var mu sync.Mutex
	var failed error
	var wg sync.WaitGroup
	for range max(o.Jobs, 1) {
		wg.Go(func() {
			for i := range queue {
				r := measure(run, &programs[i], &o)
				if run.Err() != nil {
					continue // it is incomplete
				}
				mu.Lock()
				results[i] = r
				if o.OnResult != nil && failed == nil {
					failed = o.OnResult(*r)
				}
				mu.Unlock()
			}
		})
	}
	for _, i := range todo {
		if run.Err() != nil {
			break
		}
		queue <- i
	}
	close(queue)
	wg.Wait()
	var found []Result
	for _, r := range results {
		if r != nil {
			found = append(found, *r)
		}
	}
	return found, errors.Join(failed, ctx.Err())
}

// measure runs one program. An error that prevents its completion becomes the error of the result.
func measure(ctx context.Context, p *Program, o *Options) *Result {
	began := time.Now()
	r := &Result{
		Key:      resultKey(p, o),
		Program:  p.Name,
		Workload: p.Workload,
		Blocks:   len(p.Versions[0].Blocks),
		Runs:     []Run{},
	}
	root, err := os.MkdirTemp("", "xstate-bench-")
	if err == nil {
		defer os.RemoveAll(root)
		var s *testbed
		if s, err = newTestbed(p, root, o.Python, o.Timeout); err == nil {
			r.Rebinds = s.rebinds(p.Versions[0].Blocks)
			err = s.measure(ctx, r, o)
		}
	}
	if err != nil {
		r.Error = err.Error()
	}
	r.Seconds = time.Since(began).Seconds()
	return r
}

func (s *testbed) measure(ctx context.Context, r *Result, o *Options) (err error) {
	ways := make([]runningStrategy, len(o.Strategies))
	for i, name := range o.Strategies {
		ways[i] = s.start(name)
	}
	defer func() {
		for i, w := range ways {
			start := time.Now()
			err = errors.Join(err, w.close())
			if n := len(r.Runs) - len(ways) + i; n >= 0 {
				r.Runs[n].Close = time.Since(start).Seconds()
			}
		}
	}()
	if _, err := (scratch{s}).run(ctx, 0); err != nil { // fills the disk cache, so that no strategy pays for it
		return fmt.Errorf("from scratch: %w", err)
	}
	for v := range s.program.Versions {
		if o.OnVersion != nil {
			o.OnVersion(s.program.Name, v, len(s.program.Versions))
		}
		found := make([]*outcome, len(ways))
		for i := range ways {
			at := (i + v + len(s.program.Name)) % len(ways) // so that a different strategy is first each time
			if found[at], err = ways[at].run(ctx, v); err != nil {
				return fmt.Errorf("version %d, %s: %w", v, o.Strategies[at], err)
			}
		}
		runs, err := s.runs(ctx, v, found, o)
		if err != nil {
			return err
		}
		r.Runs = append(r.Runs, runs...)
	}
	return nil
}

// start makes a strategy ready to run versions.
func (s *testbed) start(name Strategy) runningStrategy {
	p := &plain{testbed: s, copy: s.newCopy(name)}
	switch name {
	case Scratch:
		return scratch{s}
	case Xstate:
		return &engine{testbed: s, copy: s.newCopy(name)}
	case Marimo, Ipyflow, Joblib, Nbclient:
		return &peer{testbed: s, copy: s.newCopy(name)}
	case Names:
		p.choose = s.byNames
	case Snapshot:
		p.choose, p.snapshots = fromDown, true
	default:
		p.choose = fromDown
	}
	return p
}

// runs compares the outcomes of the strategies after an edit with that of scratch. The second run of scratch, which
// shows what is unstable, happens only if a strategy differs.
func (s *testbed) runs(ctx context.Context, v int, found []*outcome, o *Options) ([]Run, error) {
	version := &s.program.Versions[v]
	want := found[slices.Index(o.Strategies, Scratch)]
	var m *marks
	if i := slices.Index(o.Strategies, Xstate); i >= 0 {
		m = found[i].marks
	}
	var unstable []string // differences between two runs of scratch, once known
	asked := false
	var runs []Run
	for i, out := range found {
		var differs []string
		volatile := 0
		if out.refused == "" {
			differs, volatile = compareOutcomes(out, want, m)
		}
		if len(differs) > 0 && !asked {
			again, err := scratch{s}.run(ctx, v)
			if err != nil {
				return nil, err
			}
			unstable, _ = compareOutcomes(again, want, nil)
			asked = true
		}
		all := len(differs)
		slices.SortStableFunc(differs, func(a, b string) int { // leftovers last: maxDiffers may cut them off
			return cmp.Compare(strings.Count(a, leftoverSuffix), strings.Count(b, leftoverSuffix))
		})
		differs = slices.DeleteFunc(differs, func(d string) bool { return slices.Contains(unstable, d) })
		r := Run{
			Version:    v,
			Edit:       version.Edit,
			Blocks:     len(version.Blocks),
			Strategy:   o.Strategies[i],
			Nodes:      out.nodes,
			Recomputed: out.recomputed,
			Seconds:    out.seconds,
			Saved:      want.seconds - out.seconds,
			Equal:      len(differs) == 0 && out.refused == "",
			Refused:    out.refused,
			Differs:    []string{},
			Volatile:   volatile,
			Unstable:   all - len(differs),
			Failed:     want.stopped < len(want.blocks),
			Bytes:      out.bytes,
		}
		r.Differs = append(r.Differs, differs[:min(len(differs), maxDiffers)]...)
		if n := len(version.Blocks); n > 1 {
			r.At = float64(min(version.At, n-1)) / float64(n-1)
		}
		for _, ran := range out.ran {
			if ran {
				r.Ran++
			}
		}
		r.Ran = min(r.Ran+out.recomputed, len(version.Blocks))
		runs = append(runs, r)
	}
	return runs, nil
}

// rebinds reports whether two blocks bind one name.
func (s *testbed) rebinds(blocks []patch.Block) bool {
	seen := map[string]bool{}
	for _, b := range blocks {
		names := s.namesOf(b)
		if overlap(names.binds, seen) {
			return true
		}
		for name := range names.binds {
			seen[name] = true
		}
	}
	return false
}

// ParseStrategies returns the named strategies in the usual order. Scratch is always among them. Without names it
// returns the usual ones; with peers it adds all peers.
func ParseStrategies(names []string, peers bool) ([]Strategy, error) {
	known := slices.Concat(Strategies, Peers)
	for _, name := range names {
		if !slices.Contains(known, Strategy(name)) {
			return nil, &xstate.Error{
				Code:    CodeNoStrategy,
				Message: fmt.Sprintf("there is no strategy %q", name),
				Hint:    fmt.Sprintf("they are: %v", known),
			}
		}
	}
	var found []Strategy
	for _, s := range known {
		if s == Scratch || len(names) == 0 && slices.Contains(Strategies, s) || slices.Contains(names, string(s)) ||
			peers && slices.Contains(Peers, s) {
			found = append(found, s)
		}
	}
	return found, nil
}

// FindInterpreter returns the interpreter to measure with: the one asked for, or the one that runs programs in the
// current folder.
func FindInterpreter(ctx context.Context, asked string) (py.Interpreter, error) {
	if asked == xstate.AnyPython {
		asked = ""
	}
	path, err := py.Find(asked, ".", os.Getenv)
	if err != nil {
		return py.Interpreter{}, err
	}
	return py.Identify(ctx, kernel.Search{Cache: os.TempDir(), Environ: os.Environ()}, path)
}
