package rule

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

func budgets(t *testing.T, texts ...string) (all []policy.Budget) {
	t.Helper()
	for _, text := range texts {
		name, amount, _ := strings.Cut(text, "=")
		b, err := policy.ParseBudget(name, amount)
		if err != nil {
			t.Fatal(err)
		}
		b.At = policy.Place{File: "x.toml", Line: 1, Column: 1}
		all = append(all, b)
	}
	return all
}

func begin(t *testing.T, g *Gate, r Run) {
	t.Helper()
	if err := g.Begin(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func search() *journal.Call {
	return &journal.Call{Request: journal.Request{Kind: journal.KindTool, Tool: "search", Args: json.RawMessage("{}")},
		Def: journal.Tool{Name: "search", Class: journal.Read, Source: "web"}}
}

// A hard limit of calls is exact, also where calls are made at the same time.
func TestCallsAreCountedExactly(t *testing.T) {
	g := NewGate("s", nil)
	begin(t, g, Run{Budgets: budgets(t, "calls=10", "calls.search=7")})
	var mu sync.Mutex
	made := map[string]int{}
	var group sync.WaitGroup
	for i := range 40 {
		c := search()
		if i%2 == 1 {
			c = order("{}")
		}
		group.Go(func() {
			v, err := g.Decide(t.Context(), c)
			if err != nil {
				t.Error(err)
			}
			if v.Action == journal.Deny && v.Code != journal.CodeBudget {
				t.Errorf("denied with the code %q", v.Code)
			}
			mu.Lock()
			defer mu.Unlock()
			if v.Action == journal.Allow {
				made[c.Tool]++
			}
		})
	}
	group.Wait()
	if made["search"]+made["order"] != 10 || made["search"] > 7 {
		t.Errorf("made %v, want 10 calls, and at most 7 of search", made)
	}
	begin(t, g, Run{Budgets: budgets(t, "calls=1")}) // another run begins from nothing
	if v, _ := g.Decide(t.Context(), search()); v.Action != journal.Allow {
		t.Errorf("the first call of a new run: %+v", v)
	}
}

// Money and tokens are known after a call: the one that exceeds the limit is the last. A price is known before.
func TestMoneyAndTokens(t *testing.T) {
	g := NewGate("s", nil)
	begin(t, g, Run{Budgets: budgets(t, "usd=1.50", "tokens=1000", "soft.usd=1")})
	answer := func(usd, tokens int64, served bool) {
		g.Record(state.Call{State: state.CallAnswered, Usage: state.Usage{MicroUSD: usd, InputTokens: tokens}}, served)
	}
	allowed := func() bool {
		v, err := g.Decide(t.Context(), search())
		return err == nil && v.Action == journal.Allow
	}
	answer(900_000, 999, false)
	answer(900_000, 999, true) // served: it costs nothing
	if !allowed() || len(g.Warnings()) != 0 {
		t.Errorf("below the limits: allowed %t, warnings %q", allowed(), g.Warnings())
	}
	answer(100_000, 0, false)
	answer(100_000, 0, false)
	if w := g.Warnings(); len(w) != 1 ||
		!strings.Contains(w[0], "soft budget usd=1 of the run is spent: 1 (x.toml:1:1)") {
		t.Errorf("warnings = %q, want one", w)
	}
	dear := search()
	dear.Def.Price = 400_001
	if v, _ := g.Decide(t.Context(), dear); v.Action != journal.Deny {
		t.Error("a call whose price exceeds the rest is allowed")
	}
	if answer(0, 1, false); allowed() {
		t.Error("a call after 1000 tokens is allowed")
	}
}

// What session and agent spent before comes from the records. Lost attempts count; decisions of people do not.
func TestSumsOfRecords(t *testing.T) {
	store, err := state.Open(t.Context(), t.TempDir(), state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for i, c := range []state.Call{
		{Caller: state.Caller{Session: "s", Agent: "a"}, Usage: state.Usage{MicroUSD: 5}},
		{Caller: state.Caller{Session: "s", Agent: "b"}, Attempts: []state.Attempt{{Usage: state.Usage{MicroUSD: 7}}}},
		{Caller: state.Caller{Session: "other", Agent: "a"}},
		{Caller: state.Caller{Session: "s"}, State: state.CallDenied},
		{Caller: state.Caller{Session: "s"}, Kind: "step"},
	} {
		c.Key, c.Tool = state.DigestOf([]byte{byte(i)}), "search"
		if c.Kind == "" {
			c.Kind = "tool"
		}
		if c.State == "" {
			c.State = state.CallAnswered
		}
		if err := store.PutCall(t.Context(), &c); err != nil {
			t.Fatal(err)
		}
	}
	g := NewGate("s", store)
	limits := budgets(t, "calls=100", "calls=100")
	limits[0].Scope, limits[1].Scope = policy.ScopeSession, policy.ScopeAgent+"a"
	begin(t, g, Run{Budgets: limits, Agent: "a"})
	session, agent := g.spending.of(policy.ScopeSession), g.spending.of(policy.ScopeAgent+"a")
	if session.calls != 3 || session.microUSD != 12 || agent.calls != 2 {
		t.Errorf("session: %d calls, %d; agent: %d calls; want 3, 12 and 2", session.calls, session.microUSD,
			agent.calls)
	}
}

// An approval answers a rule that asks, and nothing else.
func TestApproved(t *testing.T) {
	set, err := Compile(rules("own: ask: true"))
	if err != nil {
		t.Fatal(err)
	}
	g := NewGate("s", nil)
	begin(t, g, Run{Rules: set, Budgets: budgets(t, "calls=1")})
	c := search()
	if v, _ := g.Decide(t.Context(), c); v.Action != journal.Ask {
		t.Errorf("before: %+v", v)
	}
	c.Approved = true
	if v, _ := g.Decide(t.Context(), c); v.Action != journal.Allow {
		t.Errorf("after: %+v", v)
	}
	if v, _ := g.Decide(t.Context(), c); v.Action != journal.Deny {
		t.Errorf("beyond the budget: %+v", v)
	}
}

func TestBeforeNode(t *testing.T) {
	for _, x := range []struct {
		budget    string
		wall, cpu time.Duration
		nodes     int // before it stops
	}{
		{"executions=2", 0, 0, 2}, {"wall=1m", 59 * time.Second, 0, 9}, {"wall=1m", time.Minute, 0, 0},
		{"cpu=1s", time.Hour, time.Second, 0}, {"soft.executions=2", 0, 0, 9},
	} {
		g := NewGate("s", nil)
		begin(t, g, Run{Budgets: budgets(t, x.budget)})
		n := 0
		var err error
		for ; n < 9 && err == nil; n++ {
			err = g.BeforeNode(x.wall, x.cpu)
		}
		if err != nil {
			n--
		}
		if n != x.nodes || err != nil && state.CodeOf(err) != journal.CodeBudget {
			t.Errorf("%s: %d nodes, %v; want %d", x.budget, n, err, x.nodes)
		}
	}
}

// The lowest limit of files counts, then what the user asks for, then what a manifest lowers.
func TestLimits(t *testing.T) {
	m := &Manifest{}
	m.Limits = budgets(t, "calls=3", "usd=9")
	got := Limits(budgets(t, "calls=10", "calls=5", "usd=1"), budgets(t, "usd=2", "tokens=7"), m)
	var texts []string
	for _, b := range got {
		texts = append(texts, b.What+"="+b.Text(b.Amount))
	}
	slices.Sort(texts)
	if want := "calls=3 tokens=7 usd=2"; strings.Join(texts, " ") != want {
		t.Errorf("Limits = %q, want %q", texts, want)
	}
}

// Foresee decides what does not depend on what is not known yet.
func TestForesee(t *testing.T) {
	set, err := Compile(rules("own: deny: call.tool == 'order' && call.args.amount > 3", "own: deny: call.tool == 'rm'",
		"own: ask: call.class == 'irreversible'", "own: deny: spent.run.calls > 3", "own: deny: call.agent == 'x'"))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		tool  string
		class journal.Class
		want  journal.Action
	}{{"order", journal.Read, journal.Allow}, {"rm", journal.Read, journal.Deny},
		{"order", journal.Irreversible, journal.Ask}} {
		c := order("")
		c.Tool, c.Def.Name, c.Def.Class = x.tool, x.tool, x.class
		if v, err := set.Foresee(t.Context(), c, false); err != nil || v.Action != x.want {
			t.Errorf("Foresee(%s, %s) = %+v, %v, want %d", x.tool, x.class, v, err, x.want)
		}
	}
}

func TestManifest(t *testing.T) {
	text := "x = 1\n# /// xstate\n# tools = [\"web.search\"]\n#\n# [files]\n# read = [\"data/**\"]\n# [budget]\n" +
		"# usd = 0.5\n# soft = {calls = 2}\n# ///\ny = 2\n"
	m, err := FindManifest("p.py", text)
	if err != nil {
		t.Fatal(err)
	}
	if m.At.Line != 2 || len(m.Limits) != 2 || m.Limits[1].Amount != 500_000 || !m.Limits[0].Soft {
		t.Errorf("FindManifest = %+v", m)
	}
	if _, is := m.denies(search()); is {
		t.Error("a declared tool is denied")
	}
	if v, is := m.denies(order("{}")); !is || !strings.Contains(v.Reason, "p.py:2:1") {
		t.Errorf("a tool that is not declared: %+v", v)
	}
	got := m.Compare(&Program{Tools: []string{"search", "order"}, Reads: []string{"data/a/b.csv", "x.csv"},
		Hosts: []string{"h"}})
	if len(got) != 2 || !slices.Equal(got[0].Missing, []string{"order"}) || len(got[0].Unneeded) != 0 ||
		!slices.Equal(got[1].Missing, []string{"x.csv"}) {
		t.Errorf("Compare = %+v", got)
	}
	for bad, want := range map[string]string{
		"# /// xstate\n# tols = []\n# ///\n":            "p.py:2:3: the manifest: there is no key tols",
		"# /// xstate\n# tools = [\n# ///\n":            "p.py:2:",
		"# /// xstate\n# tools = []\n":                  "p.py:1:1: the manifest has no end",
		"# /// xstate\n# ///\n# /// xstate\n# ///\n":    "p.py:3:1: there is a second manifest",
		"# /// xstate\n# [budget]\n# cals = 1\n# ///\n": "cals",
	} {
		_, err := FindManifest("p.py", bad)
		var e *state.Error
		if !errors.As(err, &e) || e.Code != policy.CodeInvalid || !strings.Contains(e.Message, want) {
			t.Errorf("FindManifest(%q) = %v, want %q", bad, err, want)
		}
	}
}

func TestMatchPath(t *testing.T) {
	for _, x := range []struct {
		pattern, name string
		want          bool
	}{
		{"data/**", "data/a/b.csv", true}, {"data", "data/a.csv", true}, {"data/*.csv", "data/a.csv", true},
		{"data/*.csv", "data/b/a.csv", false}, {"**/a.csv", "x/y/a.csv", true}, {"a", "ab", false},
		{"out/*.csv", "out", false},
	} {
		if got := MatchPath(x.pattern, x.name); got != x.want {
			t.Errorf("MatchPath(%q, %q) = %t", x.pattern, x.name, got)
		}
	}
}
