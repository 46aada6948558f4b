package patch

import (
	"bufio"
	"encoding/json"
	"os"
	"sort"
	"testing"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// submission is one block that an agent wrote, the program it was written for, and the block that it rewrote, or "" if
// it was new.
type submission struct {
	Kind   string
	Task   string
	Blocks []Block
	Failed []string
	Text   string
	Want   string
}

// TestDecisions measures decide on labelled submissions, one JSON object a line, in the files that XSTATE_SUBMISSIONS
// names. The texts belong to other people, so they are not in the repository. testdata/decisions.md has the results.
func TestDecisions(t *testing.T) {
	name := os.Getenv("XSTATE_SUBMISSIONS")
	if name == "" {
		t.Skip("XSTATE_SUBMISSIONS names no file")
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	type outcome struct {
		score       float64
		right, want bool
	}
	var all []outcome
	kinds := map[string][]outcome{}
	for lines.Scan() {
		var s submission
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		failed := map[string]bool{}
		for _, id := range s.Failed {
			failed[id] = true
		}
		d := newDecider().decide(s.Blocks, code{syntax.Of(syntax.Python), s.Text}, failed, nil)
		best := d.Block
		if best == "" {
			best = d.RunnerUp
		}
		o := outcome{d.Score, best == s.Want, s.Want != ""}
		all = append(all, o)
		kinds[s.Kind] = append(kinds[s.Kind], o)
	}
	measure := func(list []outcome, threshold float64) (precision, recall float64) {
		taken, right, want := 0, 0, 0
		for _, o := range list {
			if o.want {
				want++
			}
			if o.score >= threshold {
				taken++
				if o.right && o.want {
					right++
				}
			}
		}
		return float64(right) / float64(max(taken, 1)), float64(right) / float64(max(want, 1))
	}
	for threshold := 0.3; threshold < 0.96; threshold += 0.05 {
		p, r := measure(all, threshold)
		t.Logf("threshold %.2f: precision %.4f, recall %.4f", threshold, p, r)
	}
	var names []string
	for k := range kinds {
		names = append(names, k)
	}
	sort.Strings(names)
	for _, k := range names {
		taken, right, want := 0, 0, 0
		for _, o := range kinds[k] {
			if o.want {
				want++
			}
			if o.score >= Threshold {
				taken++
				if o.right && o.want {
					right++
				}
			}
		}
		t.Logf("%-16s %5d: %5d to find, %5d taken, %5d right", k, len(kinds[k]), want, taken, right)
	}
	if p, r := measure(all, Threshold); p < 0.99 || r < 0.95 {
		t.Errorf("precision %.4f, recall %.4f, want 0.99 and 0.95", p, r)
	}
}
