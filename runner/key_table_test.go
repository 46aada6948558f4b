package runner

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// TestKeyTable: a table, one that lies on it and a clone answer as a map of all keys does that is looked through.
func TestKeyTable(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		table, model := newKeyTable(0), map[depgraph.Key]entry{}
		for range 5 {
			for range 30 {
				k, e := randomKey(r), randomEntry(r)
				table.set(k, e)
				model[k] = e
				compareTable(t, table, model)
			}
			switch r.IntN(3) {
			case 0:
				below, was := table, maps.Clone(model)
				defer compareTable(t, below, was)
				table = table.over()
			case 1:
				was := table
				table = table.clone()
				was.set("var:a", entry{digest: "of the other"})
			}
			compareTable(t, table, model)
		}
	}
}

func randomKey(r *rand.Rand) depgraph.Key {
	space := []string{"var", "var", "var", "env", "file", "conf"}[r.IntN(6)]
	return depgraph.Key(fmt.Sprintf("%s:%c", space, 'a'+r.IntN(8)))
}

func randomEntry(r *rand.Rand) entry {
	e := entry{digest: []state.Digest{"1", "2", state.Absent, poison, unknown}[r.IntN(5)], writer: r.IntN(9)}
	codes := [][]string{nil, {"f"}, {"f.<locals>.g"}, {"C#1"}, {"*"}}
	if r.IntN(2) == 0 {
		e.info = &state.ValueInfo{Code: codes[r.IntN(5)]}
		if r.IntN(4) == 0 {
			e.info.ModuleReferences = []string{"m.x"}
		}
	}
	return e
}

func compareTable(t *testing.T, table *keyTable, model map[depgraph.Key]entry) {
	t.Helper()
	valued, local := 0, map[depgraph.Key]entry{}
	want := map[string]map[depgraph.Key]entry{"env": {}, "file": {}, "conf": {}, "coded": {}}
	for k, e := range model {
		if k.Space() != "var" {
			want[k.Space()][k] = e
			continue
		}
		if _, bad := e.poisoned(); !bad && e.digest != state.Absent {
			valued++
		}
		if e.info == nil {
			continue
		}
		if len(e.info.Code) > 0 || len(e.info.ModuleReferences) > 0 {
			want["coded"][k] = e
		}
		if slices.ContainsFunc(e.info.Code, func(c string) bool { return strings.Contains(c, ".<locals>.") }) {
			local[k] = e
		}
	}
	compare := func(what string, found, want map[depgraph.Key]entry) {
		t.Helper()
		if diff := cmp.Diff(want, found, cmp.AllowUnexported(entry{})); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", what, diff)
		}
	}
	compare("all", maps.Collect(table.all()), model)
	compare("reachingCode", maps.Collect(table.reachingCode()), want["coded"])
	compare("reachingLocal", maps.Collect(table.reachingLocal()), local)
	for _, space := range []string{"env", "file", "conf"} {
		compare(space, maps.Collect(table.in(space)), want[space])
	}
	if table.valued != valued {
		t.Fatalf("%d names have a value, want %d", table.valued, valued)
	}
	for k, e := range model {
		if now, ok := table.find(k); !ok || now.digest != e.digest {
			t.Fatalf("%s has %v, want %v", k, now, e)
		}
	}
}

// TestBindOrder: names have the order in which they were added, also in an order that lies on another.
func TestBindOrder(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		order, model := newBindOrder(0), []string{}
		for i := range 200 {
			name := fmt.Sprint(r.IntN(20))
			if r.IntN(3) == 0 {
				order.remove(name)
				model = slices.DeleteFunc(model, func(n string) bool { return n == name })
			} else {
				order.add(name)
				model = appendNew(model, name)
			}
			if i%40 == 20 {
				order = order.over()
			}
			if i%40 == 30 {
				order = order.clone()
			}
			last := 0
			for _, n := range model {
				if order.of(n) <= last {
					t.Fatalf("seed %d: %s is at %d, after %d", seed, n, order.of(n), last)
				}
				last = order.of(n)
			}
			for n := range 20 {
				if bound := slices.Contains(model, fmt.Sprint(n)); bound != (order.of(fmt.Sprint(n)) > 0) {
					t.Fatalf("seed %d: %d is bound: %v, want %v", seed, n, !bound, bound)
				}
			}
		}
	}
}

// TestDiffering: where the kernel has what a program of 5,000 names has, a node asks of no name but those that were
// written or bound since.
func TestDiffering(t *testing.T) {
	p := newProgramState(func(depgraph.Key) state.Digest { return state.Absent })
	m := newKernelState()
	write := func(i int, digest state.Digest) {
		p.keys.set(depgraph.Var(fmt.Sprint("x", i)), entry{digest: digest, writer: i})
	}
	for i := range 5000 {
		write(i, "1")
		m.bind(p, "1", []string{fmt.Sprint("x", i)})
	}
	asked := func(p *programState) []string { return slices.Sorted(maps.Keys(m.differing(p, nil))) }
	if got := asked(p); len(got) != 5000 {
		t.Errorf("before the states agree it asks of %d names, want 5000", len(got))
	}
	m.agree(p)
	if got := asked(p); len(got) != 0 {
		t.Errorf("where they agree it asks of %v", got)
	}
	write(7, "2")
	m.bind(p, groupDigest(strings.Repeat("0", 64)), []string{"x9"})
	if got := asked(p); !slices.Equal(got, []string{"x7", "x9"}) {
		t.Errorf("after x7 was written and x9 bound it asks of %v", got)
	}
	m.agree(p)
	if got := asked(p); !slices.Equal(got, []string{"x9"}) {
		t.Errorf("it asks of %v, want x9, which is in a group", got)
	}
	if got := asked(p.clone()); len(got) != 5000 {
		t.Errorf("of another state it asks of %d names, want 5000", len(got))
	}
	if got := m.missing(p); got != nil {
		t.Errorf("all names are bound, but %v are missing", got)
	}
	m.forget("x3")
	write(4, poison)
	m.forget("x4")
	if got := m.missing(p); !slices.Equal(got, []string{"x3"}) {
		t.Errorf("%v are missing, want x3", got)
	}
}
