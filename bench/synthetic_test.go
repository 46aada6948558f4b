package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/kernel/mixed"
	"github.com/xstate-engine/xstate/state"
)

// synthetic is a session of a program that was never executed: its traces were written into the store, as executions
// would have left them, so that a program of a million nodes takes a minute and not days. It is a row of chains: block
// i reads what block i-1 binds, unless it begins a chain; so an edit of the first of a chain affects as many nodes as
// a chain is long.
type synthetic struct {
	testing.TB
	dir     string
	options xstate.SessionOptions
	store   *xstate.Store
	session *xstate.Session
	nodes   int
	chain   int
	edits   int
	codes   []state.Digest // of the nodes
	head    state.StepNumber
}

// atOnce is how many blocks are planned, and committed, at once: in one transaction a million would take hours.
const atOnce = 10_000

// nodeCounts are the numbers of nodes to measure with: those of XSTATE_BENCH_NODES, separated by commas.
func nodeCounts(b testing.TB) []int {
	b.Helper()
	list := os.Getenv("XSTATE_BENCH_NODES")
	if list == "" {
		list = "100,1000,10000"
	}
	var found []int
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 100 {
			b.Fatalf("XSTATE_BENCH_NODES=%q, want numbers from 100 up, separated by commas", list)
		}
		found = append(found, n)
	}
	return found
}

func newSynthetic(b testing.TB, nodes, chain int) *synthetic {
	b.Helper()
	ctx := context.Background()
	s := &synthetic{TB: b, dir: filepath.Join(b.TempDir(), xstate.StoreName), nodes: nodes, chain: chain}
	s.options = xstate.SessionOptions{Workspace: filepath.Dir(s.dir), Python: measuredPython(b), Seed: 1}
	s.open()
	b.Cleanup(func() { s.close() })
	var inserts []state.Change
	for i := range nodes {
		block := &state.Block{
			ID:      s.id(i),
			Title:   string(s.id(i)),
			Dialect: python.Plain,
			Version: state.DigestOf([]byte(s.text(i, 1))),
		}
		c := state.Change{Op: state.OpInsert, Block: block}
		if i > 0 {
			c.After = s.id(i - 1)
		}
		inserts = append(inserts, c)
	}
	s.plan(inserts)
	for at := 0; at < nodes; at += atOnce {
		load, run := state.Draft{Kind: state.KindAppend}, state.Draft{Kind: state.KindRun, Run: &state.RunSummary{}}
		for i := at; i < min(at+atOnce, nodes); i++ {
			trace, err := s.store.State().PutTrace(s.trace(i, s.codes[i]))
			if err != nil {
				b.Fatal(err)
			}
			done := *inserts[i].Block
			done.Status, done.Nodes = state.StatusRan, []state.NodeResult{
				{
					Code:    s.codes[i],
					Trace:   trace,
					Status:  state.StatusRan,
					Seconds: 0.01,
					Reason:  state.Reason{Code: "new"},
				},
			}
			load.Changes, load.Sources = append(load.Changes, inserts[i]), append(load.Sources, []byte(s.text(i, 1)))
			run.Changes = append(run.Changes, state.Change{Op: state.OpUpdate, Block: &done})
		}
		steps, err := s.store.State().Commit(ctx, "s", s.head, []state.Draft{load, run})
		if err != nil {
			b.Fatal(err)
		}
		s.head = steps[1].Number
	}
	s.reopen()
	return s
}

// plan asks for the codes of the nodes, so many at a time that memory suffices.
func (s *synthetic) plan(inserts []state.Change) {
	s.Helper()
	finds := []patch.Block{{ID: "a", Source: "a = 1\n"}} // whose plan needs the interpreter
	if _, err := s.session.Plan(context.Background(), finds); err != nil {
		s.Fatal(err)
	}
	for at := 0; at < len(inserts); at += atOnce {
		engine, err := runner.New(runner.Config{
			Store:     s.store.State(),
			Session:   "s",
			Workspace: s.options.Workspace,
			Languages: mixed.Only(s.session.Python()),
			Seed:      1,
			Environ:   os.Environ(),
		})
		if err != nil {
			s.Fatal(err)
		}
		var blocks []state.ProgramBlock
		for i, c := range inserts[at:min(at+atOnce, len(inserts))] {
			blocks = append(
				blocks,
				state.ProgramBlock{
					ID:      c.Block.ID,
					Title:   c.Block.Title,
					Dialect: c.Block.Dialect,
					Version: c.Block.Version,
					Source:  s.text(at+i, 1),
				},
			)
		}
		plan, err := engine.Plan(context.Background(), blocks)
		if err != nil {
			s.Fatal(err)
		}
		planned, err := plan.Blocks(context.Background())
		if err != nil {
			s.Fatal(err)
		}
		for _, block := range planned {
			s.codes = append(s.codes, block.Nodes[0].Code)
		}
	}
}

func (s *synthetic) id(i int) state.BlockID { return state.BlockID(fmt.Sprintf("b%07d", i)) }

// text is a block of the program, or another one that binds the same.
func (s *synthetic) text(i, k int) string {
	if i%s.chain == 0 {
		return fmt.Sprintf("v%07d = %d", i, k)
	}
	return fmt.Sprintf("v%07d = v%07d + %d", i, i-1, k)
}

// file is the program as a file, which reads as the blocks that there are.
func (s *synthetic) file() []byte {
	var text bytes.Buffer
	for i := range s.nodes {
		fmt.Fprintf(&text, "# %%%% %s\n%s\n\n", s.id(i), s.text(i, 1))
	}
	return text.Bytes()
}

// trace is what an execution of block i would have left.
func (s *synthetic) trace(i int, code state.Digest) state.Trace {
	value := func(i int) state.Digest { return state.DigestOf(fmt.Appendf(nil, "value %d", i))[:40] }
	name := func(i int) depgraph.Key { return depgraph.Var(fmt.Sprintf("v%07d", i)) }
	t := state.Trace{Code: code, Seconds: 0.01, Writes: []state.Access{{Key: name(i), Digest: value(i)}},
		Info: map[depgraph.Key]state.ValueInfo{name(i): {Type: "int", Repr: "1", Bytes: 28}}}
	if i%s.chain > 0 {
		t.Reads = []state.Access{{Key: name(i - 1), Digest: value(i - 1)}}
	}
	return t
}

func (s *synthetic) open() {
	s.Helper()
	var err error
	if s.store, err = xstate.Open(context.Background(), s.dir, xstate.Options{}); err != nil {
		s.Fatal(err)
	}
	if s.session, err = s.store.Session(context.Background(), "s", s.options); err != nil {
		s.Fatal(err)
	}
}

func (s *synthetic) close() {
	s.Helper()
	if err := s.session.Close(); err != nil {
		s.Fatal(err)
	}
	if err := s.store.Close(); err != nil {
		s.Fatal(err)
	}
}

func (s *synthetic) reopen() {
	s.Helper()
	s.close()
	s.open()
}

// edit gives the first block of some chain a text that it never had, or, each second time, the one that it had before:
// both affect as many nodes as a chain is long.
func (s *synthetic) edit() {
	s.Helper()
	s.edits++
	at, text := s.edits, 1
	if at%2 == 1 {
		at, text = at+1, at+1
	}
	i := at * 7919 % (s.nodes / s.chain) * s.chain
	if _, err := s.session.Patch(context.Background(), s.id(i), s.text(i, text), xstate.Origin{}); err != nil {
		s.Fatal(err)
	}
}

// affected plans what the edits affect.
func (s *synthetic) affected() *xstate.Plan {
	s.Helper()
	a, err := s.session.Plan(context.Background(), nil)
	if err != nil {
		s.Fatal(err)
	}
	return a
}
