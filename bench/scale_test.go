package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/xstate-engine/xstate/state"
)

// The history of BenchmarkHistory. XSTATE_BENCH_STEPS makes it shorter.
const (
	scaleBlocks = 10_000
	scaleSteps  = 1_000_000
	scaleBatch  = 1_000 // steps committed at once while it grows
)

// BenchmarkHistory measures a history of a million steps, patches of one of ten thousand blocks and, each tenth, a
// run: what a step takes on the disk; how long an append takes when it is short and when it is long; how long it takes
// to open and to fork; and queries at a random step, whole process, against "xstate version": the program (its first
// blocks, as people are shown it) and one block. What a fork takes on the disk is measured in package state.
func BenchmarkHistory(b *testing.B) {
	total := scaleSteps
	if n, err := strconv.Atoi(os.Getenv("XSTATE_BENCH_STEPS")); err == nil {
		total = n
	}
	bed := newBed(b)
	dir := filepath.Join(bed.folder, ".xstate")
	h := &history{B: b, dir: dir, random: rand.New(rand.NewPCG(1, 1))}
	h.open()
	defer h.close()
	if _, err := h.store.CreateSession(b.Context(), "s", state.SessionMeta{Seed: 1}); err != nil {
		b.Fatal(err)
	}
	h.fill()
	var small, large []float64
	before := h.size()
	for int(h.head) < total {
		if len(small) == 0 && int(h.head) > total/100 {
			small = h.appends(200)
		}
		h.grow()
	}
	large = h.appends(200)
	perStep := float64(h.size()-before) / float64(total)

	var opens []float64
	for range 20 {
		h.close()
		start := time.Now()
		h.open()
		opens = append(opens, milliseconds(start))
	}

	times := map[string][]time.Duration{}
	for b.Loop() {
		step, block := fmt.Sprint(h.at()), fmt.Sprintf("block-%d", h.random.IntN(scaleBlocks))
		for _, args := range [][]string{
			{"version", "version"},
			{"program", "query", "--session", "s", "--at-step", step},
			{"block", "query", "--session", "s", "--at-step", step, "--block", block},
		} {
			_, took := bed.run(bed.xstate, args[1:]...)
			times[args[0]] = append(times[args[0]], took)
		}
	}
	var forks []float64
	for i := range 20 {
		start := time.Now()
		if _, err := h.store.Fork(b.Context(), "fork"+strconv.Itoa(i), "s", h.at(), state.Origin{}); err != nil {
			b.Fatal(err)
		}
		forks = append(forks, milliseconds(start))
	}
	bed.report([]string{"version", "program", "block"}, times)
	b.ReportMetric(median(small), "append-early-ms")
	b.ReportMetric(median(large), "append-late-ms")
	b.ReportMetric(perStep, "B/step")
	b.ReportMetric(median(opens), "open-ms")
	b.ReportMetric(median(forks), "fork-ms")
}

type history struct {
	*testing.B
	dir    string
	random *rand.Rand
	store  *state.Store
	head   state.StepNumber
}

func (h *history) open() {
	var err error
	if h.store, err = state.Open(context.Background(), h.dir, state.Options{}); err != nil {
		h.Fatal(err)
	}
}

func (h *history) close() {
	if err := h.store.Close(); err != nil {
		h.Fatal(err)
	}
}

func (h *history) commit(drafts []state.Draft) {
	steps, err := h.store.Commit(h.Context(), "s", h.head, drafts)
	if err != nil {
		h.Fatal(err)
	}
	h.head = steps[len(steps)-1].Number
}

// fill makes the program.
func (h *history) fill() {
	var drafts []state.Draft
	after := state.BlockID("")
	for i := range scaleBlocks {
		d := h.patch(i)
		d.Kind = state.KindAppend
		d.Changes[0].Op, d.Changes[0].After = state.OpInsert, after
		after = d.Changes[0].Block.ID
		drafts = append(drafts, d)
	}
	h.commit(drafts)
}

// patch gives block i a text that it had not before.
func (h *history) patch(i int) state.Draft {
	text := fmt.Appendf(nil, "value%d = compute(%d)  # %x", i, i, h.random.Uint64())
	b := &state.Block{ID: state.BlockID(fmt.Sprintf("block-%d", i)), Dialect: "python", Version: state.DigestOf(text)}
	return state.Draft{Kind: state.KindPatch, Origin: state.Origin{Agent: "bench"}, Sources: [][]byte{text},
		Changes: []state.Change{{Op: state.OpUpdate, Block: b}}}
}

func (h *history) grow() {
	drafts := make([]state.Draft, scaleBatch)
	for i := range drafts {
		if i%10 == 9 {
			drafts[i] = ran(drafts[i-1])
		} else {
			drafts[i] = h.patch(h.random.IntN(scaleBlocks))
		}
	}
	h.commit(drafts)
}

// ran is the run after a patch.
func ran(patch state.Draft) state.Draft {
	b := *patch.Changes[0].Block
	b.Status, b.Nodes = state.StatusRan, []state.NodeResult{{Code: b.Version, Status: state.StatusRan, Seconds: 0.1}}
	return state.Draft{
		Kind:    state.KindRun,
		Run:     &state.RunSummary{Seconds: 0.1},
		Changes: []state.Change{{Op: state.OpUpdate, Block: &b}},
	}
}

// appends returns the milliseconds that steps take which are committed one by one.
func (h *history) appends(n int) (times []float64) {
	for range n {
		d := []state.Draft{h.patch(h.random.IntN(scaleBlocks))}
		start := time.Now()
		h.commit(d)
		times = append(times, milliseconds(start))
	}
	return times
}

func (h *history) at() state.StepNumber {
	return scaleBlocks + 1 + state.StepNumber(h.random.IntN(int(h.head)-scaleBlocks))
}

// size is that of the file, which grows by a megabyte at a time.
func (h *history) size() int64 {
	info, err := os.Stat(filepath.Join(h.dir, "history.db"))
	if err != nil {
		h.Fatal(err)
	}
	return info.Size()
}

func milliseconds(since time.Time) float64 {
	return float64(time.Since(since)) / float64(time.Millisecond)
}
