package rule

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// Gate is the journal's gate of one session. Its methods may be called at the same time.
type Gate struct {
	session string
	store   *state.Store

	mu       sync.Mutex
	run      Run
	spending spending
	digest   state.Digest // names everything that decides in run
}

var _ journal.Gate = (*Gate)(nil)

// Run is what decides in one run of a program.
type Run struct {
	Rules *Set // nil: none
	// Generated: the code was written by a program, such as an agent. Without a rule, its irreversible calls ask.
	Generated bool
	Manifest  *Manifest       // nil: none
	Budgets   []policy.Budget // see Limits
	Agent     string          // who runs
}

// NewGate returns a gate that allows everything, until Use or Begin says more. The records of store say what the
// session has spent; nil: nothing.
func NewGate(session string, store *state.Store) *Gate {
	g := &Gate{session: session, store: store}
	g.use(Run{})
	return g
}

func (g *Gate) use(r Run) {
	if r.Rules == nil {
		r.Rules = &Set{}
	}
	g.run = r
	g.digest = state.DigestOf(fmt.Appendf(nil, "rules %s\ngenerated %t\nmanifest %s\n", r.Rules.Digest(), r.Generated,
		r.Manifest.digest()))
}

// Use sets what decides, for a plan.
func (g *Gate) Use(r Run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.use(r)
}

// Begin begins a run: it has spent nothing yet.
func (g *Gate) Begin(ctx context.Context, r Run) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.use(r)
	g.spending.session = g.session
	store := g.store
	if !g.sums() {
		store = nil
	}
	return g.spending.begin(ctx, store, r.Budgets, r.Agent)
}

// sums reports whether something depends on what was spent before the run. The records of a store take time to read.
func (g *Gate) sums() bool {
	return slices.ContainsFunc(g.run.Budgets, func(b policy.Budget) bool { return b.Scope != policy.ScopeRun }) ||
		slices.ContainsFunc(g.run.Rules.rules, func(r compiled) bool { return r.spent })
}

// Rules names all that decides by itself: what it denied stays denied under the same.
func (g *Gate) Rules() state.Digest {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.digest
}

// Decide decides whether a call may be made, and counts it if it may.
func (g *Gate) Decide(ctx context.Context, c *journal.Call) (journal.Verdict, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v, err := g.byRules(ctx, c)
	if err != nil || v.Action == journal.Deny {
		return v, err
	}
	if denied, is := g.run.Manifest.denies(c); is {
		return denied, nil
	}
	if v.Action == journal.Ask && !c.Approved {
		return v, nil
	}
	return g.spending.take(c), nil
}

// byRules is the verdict of the rules, or else the default.
func (g *Gate) byRules(ctx context.Context, c *journal.Call) (journal.Verdict, error) {
	if len(g.run.Rules.rules) > 0 {
		row, err := callOf(c)
		if err != nil {
			return journal.Verdict{}, err
		}
		v, found, err := g.run.Rules.decide(ctx, OnCall, map[string]any{"call": row, "spent": g.spending.row()})
		if found || err != nil {
			return v.Verdict, err
		}
	}
	return byDefault(c, g.run.Generated), nil
}

// Record follows the records of calls, as journal.Options.OnCall.
func (g *Gate) Record(c state.Call, served bool) {
	if served || !c.State.Ended() && c.State != state.CallLost {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.spending.used(&c)
}

// BeforeNode counts an execution of a node that is about to begin, after the run took this much time. The error says
// that a budget of the run is spent.
func (g *Gate) BeforeNode(wall, cpu time.Duration) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.spending.node(wall, cpu)
}

// Warnings are the soft limits that the run has reached.
func (g *Gate) Warnings() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.spending.warnings)
}

// Limits puts budgets together: those of files, of which the lowest counts; asked, which count instead of those of the
// run; and those of a manifest, which only lower.
func Limits(files, asked []policy.Budget, m *Manifest) []policy.Budget {
	key := func(b policy.Budget) string { return b.Scope + " " + b.Name() }
	found := map[string]policy.Budget{}
	lower := func(b policy.Budget) {
		if old, known := found[key(b)]; !known || b.Amount < old.Amount {
			found[key(b)] = b
		}
	}
	for _, b := range files {
		lower(b)
	}
	for _, b := range asked {
		found[key(b)] = b
	}
	if m != nil {
		for _, b := range m.Limits {
			lower(b)
		}
	}
	var all []policy.Budget
	for _, k := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[k])
	}
	return all
}

// BoundsNodes reports whether there are budgets that BeforeNode looks at.
func BoundsNodes(budgets []policy.Budget) bool {
	return slices.ContainsFunc(budgets, func(b policy.Budget) bool {
		return b.What == policy.BudgetWall || b.What == policy.BudgetCPU || b.What == policy.BudgetExecutions
	})
}

// Manifest is that of the run; nil: it has none.
func (g *Gate) Manifest() *Manifest {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.run.Manifest
}
