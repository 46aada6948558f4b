package runner

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	dialect "github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/runner/kernel/mixed"
	"github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/state"
)

// made is a program whose executions are made up: what a node reads and writes is drawn, and recorded as an execution
// there would have been.
type made struct {
	testing.TB
	rand    *rand.Rand
	engine  *Engine
	planner *Planner
	blocks  []state.ProgramBlock
	count   int
	step    state.StepNumber
}

func newMade(t testing.TB, seed uint64) *made {
	t.Helper()
	dir := t.TempDir()
	store, err := state.Open(t.Context(), filepath.Join(dir, "store"), state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	m := &made{TB: t, rand: rand.New(rand.NewPCG(seed, 1))}
	workspace := filepath.Join(dir, "work")
	if err := os.Mkdir(workspace, 0o777); err != nil {
		t.Fatal(err)
	}
	m.engine, err = New(Config{Store: store, Session: "s", Workspace: workspace, Anew: true, Environ: []string{"E=1"},
		Languages: mixed.Only(python.Interpreter{Path: "/none", Implementation: "cpython", Version: "3.13.0", Major: 3,
			Minor: 13})})
	if err != nil {
		t.Fatal(err)
	}
	m.planner = m.engine.NewPlanner(
		func(_ context.Context, id state.BlockID) (state.ProgramBlock, error) {
			return m.blocks[m.find(id)], nil
		},
	)
	return m
}

func (m *made) find(id state.BlockID) int {
	return slices.IndexFunc(m.blocks, func(b state.ProgramBlock) bool { return b.ID == id })
}

func (m *made) one(of ...string) string { return of[m.rand.IntN(len(of))] }

func (m *made) name() string { return m.one("a", "b", "c", "d", "e", "f") }

// source draws the text of a block.
func (m *made) source() string {
	m.count++
	line := func() string {
		return m.one(
			fmt.Sprintf("%s = %s + %d", m.name(), m.name(), m.rand.IntN(3)),
			fmt.Sprintf("%s = %d", m.name(), m.count),
			fmt.Sprintf("%s.x = %s", m.name(), m.name()),
			"del "+m.name(),
			fmt.Sprintf("def %s():\n    return %s", m.name(), m.name()),
			"'text'",
		)
	}
	text := line()
	for range m.rand.IntN(3) {
		text += "\n" + line()
	}
	switch m.rand.IntN(40) {
	case 0:
		return "from __future__ import annotations\n" + text
	case 1:
		return "1 +"
	case 2:
		return "# xstate: never\n" + text
	case 3:
		return "# xstate: always\n" + text
	}
	return text
}

func (m *made) change(op state.Op, id, after state.BlockID) {
	m.Helper()
	if err := m.planner.Change(op, id, after); err != nil {
		m.Fatal(err)
	}
}

// before returns the id of the block before place i.
func (m *made) before(i int) state.BlockID {
	if i == 0 {
		return ""
	}
	return m.blocks[i-1].ID
}

func (m *made) insert() {
	m.step++
	i, text := m.rand.IntN(len(m.blocks)+1), m.source()
	b := state.ProgramBlock{
		ID:      state.BlockID(fmt.Sprintf("b%d", m.count)),
		Dialect: dialect.Plain,
		Source:  text,
		Version: state.DigestOf([]byte(text)),
	}
	m.change(state.OpInsert, b.ID, m.before(i))
	m.blocks = slices.Insert(m.blocks, i, b)
}

// edit draws one change of the program or of the base, and returns what it was.
func (m *made) edit() string {
	if len(m.blocks) < 3 {
		m.insert()
		return "insert"
	}
	i := m.rand.IntN(len(m.blocks))
	b := &m.blocks[i]
	switch m.rand.IntN(12) {
	case 0, 1:
		m.insert()
		return "insert"
	case 2:
		m.change(state.OpDelete, b.ID, "")
		m.blocks = slices.Delete(m.blocks, i, i+1)
		return "delete"
	case 3, 4:
		moved := *b
		m.blocks = slices.Delete(m.blocks, i, i+1)
		to := m.rand.IntN(len(m.blocks) + 1)
		m.change(state.OpMove, moved.ID, m.before(to))
		m.blocks = slices.Insert(m.blocks, to, moved)
		return "move"
	case 5, 6, 7:
		m.step++
		b.Source = m.source()
		if before := b.Before; before != nil {
			edited := *before
			edited.Edited = m.step
			b.Before = &edited
		}
		b.Version = state.DigestOf([]byte(b.Source))
		m.change(state.OpUpdate, b.ID, "")
		return "patch"
	case 8:
		path := filepath.Join(m.engine.cfg.Workspace, m.one("f", "g", "sub/h"))
		if os.Remove(path) == nil {
			return "remove a file"
		}
		os.MkdirAll(filepath.Dir(path), 0o777)
		if err := os.WriteFile(path, []byte(m.name()), 0o666); err != nil {
			m.Fatal(err)
		}
		return "write a file"
	default:
		m.run()
		return "run"
	}
}

// run executes most nodes that have no result.
func (m *made) run() {
	m.step++
	units, nodes := m.engine.analyse(m.blocks)
	m.engine.baseState.Begin()
	p := newProgramState(m.engine.baseState.Get)
	results := map[*unit][]state.NodeResult{}
	stopped := map[*unit]bool{}
	for i, n := range nodes {
		d, err := m.engine.decide(walkPlace{p, units, nodes}, n,
			decideOptions{stopped: stopped[n.unit], pin: n.unit.pin()})
		if err != nil {
			m.Fatal(err)
		}
		t := d.trace
		r := state.NodeResult{Code: n.code, Status: state.StatusReused, Reason: d.Reason}
		switch {
		case d.Action == ActBlock:
			p.advance(i, n, &d, stopped)
			r.Status = state.StatusBlocked
			results[n.unit] = append(results[n.unit], r)
			continue
		case t == nil && m.rand.IntN(5) == 0:
			p.markUnknown(i, n, d.Last)
			continue
		case t == nil:
			t = m.execute(p, units, n)
			r.Status = state.StatusRan
		}
		r.Trace = t.Digest
		results[n.unit] = append(results[n.unit], r)
		if t.Err != nil {
			stopped[n.unit] = true
			p.fail(i, n.unit.ID, n.facts.Defines)
		} else {
			p.apply(i, &t.Trace)
		}
	}
	for _, u := range units {
		if len(results[u]) == len(u.nodes) && len(u.nodes) > 0 {
			b := &m.blocks[m.find(u.ID)]
			b.Before = &state.Block{ID: u.ID, Version: b.Version, Edited: m.step - 1, RanAt: m.step, Nodes: results[u]}
			m.change(state.OpUpdate, u.ID, "")
		}
	}
}

// execute draws what a node reads and writes at p.
func (m *made) execute(p *programState, units []*unit, n *node) *state.StoredTrace {
	t := state.Trace{Code: n.code, Seconds: 1, At: time.Unix(1, 0), Info: map[depgraph.Key]state.ValueInfo{}}
	reads := map[depgraph.Key]bool{}
	for _, name := range append(slices.Clone(n.facts.Uses), m.name()) {
		reads[depgraph.Var(name)] = true
	}
	for range m.rand.IntN(3) {
		reads[depgraph.Key(m.one("file:f", "file:g", "stat:f", "time:g", "dir:.", "dir:sub", "mode:f", "env:E", "env:F",
			"isset:F", "env:*", "env:+", "files:+",
			"reach:K", "reach:m.x", "rng:random", "held:m", "link:f", "conf:locale", "module:numpy", "cwd:"))] = true
	}
	for k := range reads {
		if k == "module:numpy" {
			t.Paths = map[depgraph.Key]string{k: "/none/numpy/version.py"}
			m.engine.baseState.Learn(t.Paths)
		}
		if e := p.get(k); e.digest != unknown && e.digest != poison {
			t.Reads = append(t.Reads, state.Access{Key: k, Digest: e.digest})
		}
	}
	slices.SortFunc(t.Reads, byKey)
	writes := map[depgraph.Key]state.Digest{}
	value := func() state.Digest { return state.DigestOf([]byte(m.name()))[:40] }
	for _, name := range n.facts.Defines {
		writes[depgraph.Var(name)] = value()
	}
	for _, name := range n.facts.Deletes {
		writes[depgraph.Var(name)] = state.Absent
	}
	for range m.rand.IntN(2) {
		writes[depgraph.Key(m.one("file:f", "file:sub/h", "env:E", "env:F", "rng:random", "held:m", "var:a",
			"var:b"))] = state.Digest(
			m.one(string(value()), string(value()), "", "directory"),
		)
	}
	for k, d := range writes {
		t.Writes = append(t.Writes, state.Access{Key: k, Digest: d})
		if k.Space() == "var" && d != state.Absent && m.rand.IntN(3) == 0 {
			t.Info[k] = state.ValueInfo{Code: []string{m.one("K", "L")}, ModuleReferences: []string{"m.x"}}
		}
	}
	slices.SortFunc(t.Writes, byKey)
	t.ReadAliases = p.aliasesWithin(t.Reads)
	if m.rand.IntN(3) == 0 {
		for _, a := range t.Reads {
			if a.Key.Space() == "var" && m.rand.IntN(2) == 0 {
				t.AliasSensitive = append(t.AliasSensitive, a.Key.Name())
			}
		}
		t.AliasesBefore = p.aliasesAround(t.AliasSensitive)
		if len(t.AliasSensitive) > 0 {
			if other := m.name(); other != t.AliasSensitive[0] {
				t.AliasesAfter = append(
					t.AliasesAfter,
					state.Alias{min(other, t.AliasSensitive[0]), max(other, t.AliasSensitive[0]), m.name()},
				)
			}
		}
	}
	if m.rand.IntN(8) == 0 {
		t.Err = &state.ExecError{Type: "ValueError"}
	}
	if m.rand.IntN(6) == 0 {
		t.CitedBlocks = []string{units[m.rand.IntN(len(units))].filename(), n.unit.filename()}
		slices.Sort(t.CitedBlocks)
		t.CitedBlocks = slices.Compact(t.CitedBlocks)
		t.CitedSource = layoutOf(units, n, t.CitedBlocks)
	}
	id, err := m.engine.cfg.Store.PutTrace(t)
	if err != nil {
		m.Fatal(err)
	}
	return &state.StoredTrace{Digest: id, Trace: t}
}

// judge compares the plan of what is affected with that of the whole program.
func (m *made) judge() string {
	m.Helper()
	plan, err := m.planner.Plan(
		m.Context(),
		func(context.Context) ([]state.ProgramBlock, error) { return m.blocks, nil },
	)
	if err != nil {
		m.Fatal(err)
	}
	if plan.walk == nil {
		m.Fatal("the planner could not make the plan")
	}
	walked, err := m.engine.Plan(m.Context(), m.blocks)
	if err != nil {
		m.Fatal(err)
	}
	if len(plan.Nodes) != len(walked.Nodes) || plan.Total != walked.Total || len(plan.Refused) != len(walked.Refused) {
		return fmt.Sprintf("%d nodes of %d, %d blocks refused; a walk has %d of %d, %d", len(plan.Nodes), plan.Total,
			len(plan.Refused), len(walked.Nodes), walked.Total, len(walked.Refused))
	}
	return m.planner.difference(walked.blocks)
}

// TestPlannerEqualsWalk edits and runs programs at random. After each edit, or after some, the plan of what is affected
// must be that of a walk of the whole program.
func TestPlannerEqualsWalk(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			m := newMade(t, uint64(seed))
			var done []string
			for len(done) < 80 {
				done = append(done, m.edit())
				if m.rand.IntN(3) == 0 {
					continue
				}
				if text := m.judge(); text != "" {
					t.Fatalf("after %q: %s", done, text)
				}
			}
		})
	}
}

func FuzzPlannerEqualsWalk(f *testing.F) {
	f.Add(uint64(1), uint8(20))
	f.Fuzz(func(t *testing.T, seed uint64, edits uint8) {
		m := newMade(t, seed)
		for range edits {
			what := m.edit()
			if text := m.judge(); text != "" {
				t.Fatalf("after %s: %s", what, text)
			}
		}
	})
}
