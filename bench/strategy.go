package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/patch"
	py "github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Strategy is a way to run a program again after an edit.
type Strategy string

const (
	Scratch  Strategy = "scratch"  // everything, in a fresh interpreter
	Down     Strategy = "down"     // from the edit down, in the live interpreter
	Names    Strategy = "names"    // what was edited and what names connect to it, in the live interpreter
	Snapshot Strategy = "snapshot" // from the edit down, after the variables before it were loaded from a pickle
	Xstate   Strategy = "xstate"
)

// Strategies are those of the usual bench. The first judges the others.
var Strategies = []Strategy{Scratch, Down, Names, Snapshot, Xstate}

// outcome is what a strategy came to after an edit.
type outcome struct {
	ran        []bool // the blocks that were executed in this run
	nodes      int    // executed
	recomputed int    // of these, executed for values that were not kept
	blocks     []blockOutput
	stopped    int                     // the first block that failed; the number of blocks when none did
	values     map[string]state.Digest // "" or a lineage: cannot be compared
	files      map[string]string       // path → digest, of those that are not as they were before the program
	seconds    float64
	bytes      int64  // that the strategy keeps, on disk
	peer       bool   // of a peer: less of it can be compared
	refused    string // why a peer did not run the program
	marks      *marks
}

// shown is what a block shows.
type blockOutput struct {
	output string
	text   string // of that, what peers show alike; not of xstate
	err    string // type and message; "": it did not fail
}

// marks tell what may differ from run to run.
type marks struct {
	blocks []bool
	values map[string]bool // "value NAME" and "file NAME"
}

// way is a strategy at work on one program.
type runningStrategy interface {
	run(ctx context.Context, v int) (*outcome, error)
	close() error
}

// scratch runs everything in a fresh interpreter, each time in a fresh copy of the folder.
type scratch struct{ *testbed }

func (s scratch) run(ctx context.Context, v int) (*outcome, error) {
	p := &plain{testbed: s.testbed, copy: s.newCopy(Scratch)}
	defer p.close()
	return p.run(ctx, v)
}

func (s scratch) close() error { return nil }

// plain runs blocks in a live interpreter that observes nothing. choose tells which are to run; without it all are.
type plain struct {
	*testbed
	copy   *folderCopy
	choose func(old []executedBlock, now []patch.Block) []bool
	// saves has the namespace saved before each block, and put back before the first that runs.
	snapshots bool

	kernel  *py.Baseline
	lastRun []executedBlock // the program as it was run last
	sizes   []int64         // of snapshots: the state before a block, by its place
	spool   string
}

// executed is a block with what it showed when it was executed last.
type executedBlock struct {
	patch.Block
	blockOutput
	nodes int
	ran   bool // it was executed with this source, and did not fail
}

func (p *plain) run(ctx context.Context, v int) (*outcome, error) {
	if err := p.activate(p.copy); err != nil {
		return nil, err
	}
	defer p.deactivate(p.copy)
	blocks := p.program.Versions[v].Blocks
	must := slices.Repeat([]bool{true}, len(blocks))
	if p.choose != nil && p.kernel != nil {
		must = p.choose(p.lastRun, blocks)
	}
	out := &outcome{ran: make([]bool, len(blocks)), stopped: len(blocks)}
	next := make([]executedBlock, len(blocks))
	for i, b := range blocks {
		if at := slices.IndexFunc(p.lastRun, func(d executedBlock) bool { return d.ID == b.ID }); at >= 0 {
			next[i] = p.lastRun[at]
		}
		next[i].ran = next[i].ran && next[i].Source == b.Source && !must[i]
		next[i].Block = b
	}
	start := time.Now()
	if err := p.prepare(ctx, must, next); err != nil {
		return nil, err
	}
	for i, b := range blocks {
		if !must[i] {
			continue
		}
		out.ran[i] = true
		next[i].nodes = p.nodes(b)
		out.nodes += next[i].nodes
		found, err := p.kernel.Run(ctx, py.BaselineBlock{ID: state.BlockID(b.ID), Dialect: dialect(b), Source: b.Source}, i, p.timeout)
		if err != nil {
			return nil, err
		}
		next[i].blockOutput = blockOutput{query.Text(found.Outputs), plainText(found.Outputs), failure(found.Err)}
		next[i].ran = found.Err == nil
		if found.Err != nil {
			break
		}
		if err := p.save(ctx, i+1); err != nil {
			return nil, err
		}
	}
	out.seconds = time.Since(start).Seconds()
	p.lastRun = next
	for i, b := range next {
		out.blocks = append(out.blocks, b.blockOutput)
		if !b.ran {
			out.stopped = min(out.stopped, i)
		}
	}
	for _, size := range p.sizes {
		out.bytes += size
	}
	var err error
	if out.values, err = p.kernel.Values(ctx); err != nil {
		return nil, err
	}
	out.files, err = p.changedFiles()
	return out, err
}

// begin brings the interpreter to where the first block runs.
func (p *plain) prepare(ctx context.Context, must []bool, next []executedBlock) error {
	first := slices.Index(must, true)
	if p.kernel == nil {
		var err error
		if p.spool, err = p.folder("plain-"); err != nil {
			return err
		}
		file := ""
		if p.program.File != "" {
			file = p.path(p.program.File)
		}
		p.kernel, err = py.StartBaseline(ctx, py.BaselineConfig{Python: p.python, Workspace: p.work(), File: file, Scratch: p.spool, Seed: seed, Environ: p.environ, IPython: p.ipython})
		if err != nil {
			return err
		}
		return p.save(ctx, 0)
	}
	if p.snapshots {
		if first < 0 {
			first = len(must)
		}
		if first < len(p.sizes) { // else nothing is another
			p.sizes = p.sizes[:first+1]
			return p.kernel.Restore(ctx, first)
		}
		return nil
	}
	return p.kernel.Unbind(ctx, p.namesToUnbind(must, next))
}

// gone are the names that blocks which run again, or are no more, have bound. Reactive notebooks take them away before; who runs
// blocks in a live interpreter by hand does not.
func (p *plain) namesToUnbind(must []bool, next []executedBlock) []string {
	if !p.unbinds() {
		return []string{}
	}
	kept := map[string]bool{}
	for i, b := range next {
		if !must[i] {
			for name := range p.namesOf(b.Block).binds {
				kept[name] = true
			}
		}
	}
	names := []string{}
	for _, b := range p.lastRun {
		at := slices.IndexFunc(next, func(d executedBlock) bool { return d.ID == b.ID })
		if at >= 0 && !must[at] {
			continue
		}
		for name := range p.namesOf(b.Block).binds {
			if !kept[name] {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

func (p *plain) unbinds() bool { return p.copy.strategy == Names }

func (p *plain) save(ctx context.Context, n int) error {
	if !p.snapshots {
		return nil
	}
	size, err := p.kernel.Save(ctx, n)
	if n < len(p.sizes) {
		p.sizes = p.sizes[:n]
	}
	p.sizes = append(p.sizes, size)
	return err
}

func (p *plain) close() error {
	if p.kernel != nil {
		p.kernel.Close()
	}
	return p.remove(p.spool)
}

func failure(e *state.ExecError) string {
	if e == nil {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%s: %s", e.Type, e.Message))
}

// fromDown chooses the blocks from the first that is another, or did not run, down.
func fromDown(old []executedBlock, now []patch.Block) []bool {
	must := make([]bool, len(now))
	same := true
	for i, b := range now {
		same = same && i < len(old) && old[i].ID == b.ID && old[i].Source == b.Source && old[i].ran
		must[i] = !same
	}
	return must
}
