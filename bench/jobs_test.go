package bench

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestJobs: several programs at once give the results of one after the other, in the order of the programs, though
// the first is the last to end; what was measured is not measured again; and the budget ends them all.
func TestJobs(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	python, strategies := interpreter(t), []Strategy{Scratch, Names, Xstate}
	var programs []Program
	for _, text := range []string{"import time\nx = time.sleep(1) or 1", "x = [1]", "x = {2: 3}", "x = 4"} {
		p := edited(
			blocksOf(text, "print(x)", "xs = []\nxs.append(x)", "open('f', 'w').write(str(xs))"),
			rewritten{1, "print(x, 1)"},
			rewritten{2, ""},
		)
		p.Name = text
		programs = append(programs, *p)
	}
	timeless := cmpopts.IgnoreFields(Run{}, "Seconds", "Saved", "Close", "Bytes")
	whole := cmpopts.IgnoreFields(Result{}, "Seconds")
	one, err := Measure(t.Context(), programs, Options{Python: python, Strategies: strategies})
	if err != nil || len(one) != len(programs) {
		t.Fatalf("Measure = %d results, %v", len(one), err)
	}
	var mu sync.Mutex
	active, most := map[string]bool{}, 0
	var ended []string
	o := Options{Python: python, Strategies: strategies, Jobs: 2,
		OnVersion: func(program string, _, _ int) {
			mu.Lock()
			defer mu.Unlock()
			active[program] = true
			most = max(most, len(active))
		},
		OnResult: func(r Result) error {
			mu.Lock()
			defer mu.Unlock()
			delete(active, r.Program)
			ended = append(ended, r.Program)
			return nil
		}}
	two, err := Measure(t.Context(), programs, o)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(one, two, timeless, whole); d != "" {
		t.Errorf("two at once (-one after the other +two):\n%s", d)
	}
	if most != 2 || ended[0] == programs[0].Name {
		t.Errorf(
			"%d programs were measured at once, and ended as %q; want 2, and not the first before the others",
			most,
			ended,
		)
	}

	o.Earlier, ended = slices.Delete(slices.Clone(two), 1, 2), nil
	again, err := Measure(t.Context(), programs, o)
	if err != nil || !slices.Equal(ended, []string{programs[1].Name}) || !cmp.Equal(one, again, timeless, whole) {
		t.Errorf("Measure with all but one = %v, measured %q; want all, that one", err, ended)
	}

	slow := *edited(blocksOf("import time; time.sleep(60)"), rewritten{0, "x = 1"})
	slow.Name = "slow"
	start := time.Now()
	some, err := Measure(
		t.Context(),
		[]Program{slow, programs[3], slow, programs[2]},
		Options{Python: python, Strategies: []Strategy{Scratch, Down}, Jobs: 2, Budget: 10 * time.Second},
	)
	if err != nil || len(some) != 1 || some[0].Program != programs[3].Name || time.Since(start) > 30*time.Second {
		t.Errorf(
			"Measure with a budget = %d results, %v after %s; want that of the one program whose turn came and "+
				"that is fast",
			len(some),
			err,
			time.Since(start),
		)
	}
}
