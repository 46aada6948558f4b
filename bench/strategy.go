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
	Down     Strategy = "down"     // from the first changed block down, in the live interpreter
	Names    Strategy = "names"    // changed blocks and what depends on them by name, in the live interpreter
	Snapshot Strategy = "snapshot" // from the first changed block down, after restoring the variables from a pickle
	Xstate   Strategy = "xstate"
)

// Strategies are those of the usual bench. The others are compared with the first.
var Strategies = []Strategy{Scratch, Down, Names, Snapshot, Xstate}

// outcome is the result of a strategy after an edit.
type outcome struct {
	ran        []bool // which blocks were executed in this run
	nodes      int    // nodes executed
	recomputed int    // those executed again for values that were not stored
	blocks     []blockOutput
	stopped    int                     // the first block that failed; the number of blocks if none did
	values     map[string]state.Digest // "" or a lineage digest cannot be compared
	files      map[string]string       // path → digest, of files that differ from the program's folder
	seconds    float64
	bytes      int64  // bytes that the strategy stores on disk
	peer       bool   // the strategy is a peer: less can be compared
	refused    string // why a peer refused the program
	marks      *marks
}

// blockOutput is what a block displays.
type blockOutput struct {
	output string
	text   string // the part that peers display alike; not set for xstate
	err    string // type and message of the error; "" if there is none
}

// marks are the parts of an outcome that xstate marks as volatile.
type marks struct {
	blocks []bool
	values map[string]bool // "value NAME" and "file NAME"
}

// runningStrategy is a strategy at work on one program. run is called with version 0, 1, and so on.
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

// plain runs blocks in a live interpreter that observes nothing. choose returns which blocks must run; nil means all.
type plain struct {
	*testbed
	copy   *folderCopy
	choose func(old []executedBlock, now []patch.Block) []bool
	// snapshots: the namespace is saved before each block, and restored before the first block that runs.
	snapshots bool

	kernel  *py.Baseline
	lastRun []executedBlock // the blocks of the previous version, with their output
	sizes   []int64         // sizes of the snapshots, by the position of the block that follows
	spool   string
}

// executedBlock is a block with its output from its last execution.
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
		found, err := p.kernel.Run(
			ctx,
			py.BaselineBlock{ID: state.BlockID(b.ID), Dialect: dialect(b), Source: b.Source},
			i,
			p.timeout,
		)
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

// prepare brings the interpreter into the state that the first block to run needs.
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
		p.kernel, err = py.StartBaseline(
			ctx,
			py.BaselineConfig{
				Python:    p.python,
				Workspace: p.work(),
				File:      file,
				Scratch:   p.spool,
				Seed:      seed,
				Environ:   p.environ,
				IPython:   p.ipython,
			},
		)
		if err != nil {
			return err
		}
		return p.save(ctx, 0)
	}
	if p.snapshots {
		if first < 0 {
			first = len(must)
		}
		if first < len(p.sizes) { // otherwise nothing changed
			p.sizes = p.sizes[:first+1]
			return p.kernel.Restore(ctx, first)
		}
		return nil
	}
	return p.kernel.Unbind(ctx, p.namesToUnbind(must, next))
}

// namesToUnbind returns the names bound by blocks that run again or were deleted. Only Names uses it: reactive
// notebooks unbind them; a person who runs blocks by hand does not.
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

// save stores a snapshot of the namespace before block n. Later snapshots are out of date, and are dropped.
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

// fromDown chooses the first block that changed or did not run, and all after it.
func fromDown(old []executedBlock, now []patch.Block) []bool {
	must := make([]bool, len(now))
	same := true
	for i, b := range now {
		same = same && i < len(old) && old[i].ID == b.ID && old[i].Source == b.Source && old[i].ran
		must[i] = !same
	}
	return must
}
