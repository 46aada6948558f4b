package bench

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
)

// Quartiles are a median with the quartiles around it.
type Quartiles struct {
	Q1     float64 `json:"q1"`
	Median float64 `json:"median"`
	Q3     float64 `json:"q3"`
}

// quartilesOf interpolates between neighbours. It returns nil for no values.
func quartilesOf(all []float64) *Quartiles {
	if len(all) == 0 {
		return nil
	}
	all = slices.Sorted(slices.Values(all))
	at := func(p float64) float64 {
		x := p * float64(len(all)-1)
		i := int(x)
		if i+1 == len(all) {
			return all[i]
		}
		return all[i] + (x-float64(i))*(all[i+1]-all[i])
	}
	return &Quartiles{at(0.25), at(0.5), at(0.75)}
}

// Row is one strategy on one workload. Shares are of 1 and over the runs after edits; the first run is separate.
type Row struct {
	Workload string   `json:"workload"`
	Strategy Strategy `json:"strategy"`
	Programs int      `json:"programs"`
	Edits    int      `json:"edits"`   // edits that were compared
	Refused  int      `json:"refused"` // edits that a peer refused; they count nowhere else
	Equal    int      `json:"equal"`   // edits after which the outcome equals scratch
	// Shown: edits after which the output of a block was wrong; other wrong ones differ in a value or file
	Shown int `json:"wrong_shown"`
	// LeftoversOnly: wrong edits that differ only in values and files that the program no longer makes
	LeftoversOnly int `json:"wrong_left"`
	Volatile      int `json:"volatile"`
	Unstable      int `json:"unstable"`

	Blocks  *Quartiles `json:"blocks"` // share of the blocks that ran
	Seconds *Quartiles `json:"seconds"`
	Xstate  *Quartiles `json:"xstate_seconds"` // time of xstate after the same edits
	Saved   *Quartiles `json:"saved"`          // saved share of the time of scratch
	// SavedDown: saved compared with down, as a share of the time of scratch; nil if down was not measured
	SavedDown *Quartiles `json:"saved_down"`
	First     *Quartiles `json:"first"`      // time of the first run and of closing, as a multiple of scratch
	BreakEven *Quartiles `json:"break_even"` // edits until the first run is paid for; nil if it never is
	Never     int        `json:"never"`      // programs on which it never is
	Bytes     *Quartiles `json:"bytes"`      // stored at the end
}

// Summary sums results up.
type Summary struct {
	Rows []Row `json:"rows"`
	// Fewer are the edits after which no block failed, and a strategy that is right on the whole program executed
	// fewer blocks than xstate.
	Fewer []Fewer `json:"fewer"`
	Wrong []Wrong `json:"wrong"` // edits after which xstate was not equal to scratch
}

// Fewer is an edit for which xstate executed more blocks than another strategy needed.
type Fewer struct {
	Program  string   `json:"program"`
	Version  int      `json:"version"`
	Strategy Strategy `json:"strategy"`
	Ran      int      `json:"ran"`
	Xstate   int      `json:"xstate"`
}

// Wrong is an edit after which xstate was wrong.
type Wrong struct {
	Program string   `json:"program"`
	Version int      `json:"version"`
	Differs []string `json:"differs"`
}

// Summarize sums results up by workload and strategy. If there are several workloads, rows for all of them come
// first.
func Summarize(results []Result) *Summary {
	s := &Summary{Rows: []Row{}, Fewer: []Fewer{}, Wrong: []Wrong{}}
	groups := map[string][]Result{}
	for _, r := range results {
		groups[r.Workload] = append(groups[r.Workload], r)
		s.noteXstate(&r)
	}
	names := slices.SortedFunc(
		maps.Keys(groups),
		func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) },
	)
	if len(names) > 1 {
		groups["all"], names = results, append([]string{"all"}, names...)
	}
	for _, name := range names {
		for _, strategy := range slices.Concat(Strategies, Peers) {
			if row := rowOf(name, strategy, groups[name]); row.Programs > 0 {
				s.Rows = append(s.Rows, row)
			}
		}
	}
	return s
}

// strategies returns the strategies that have rows, without Scratch.
func (s *Summary) strategies() []Strategy {
	return slices.DeleteFunc(slices.Concat(Strategies, Peers), func(x Strategy) bool {
		return x == Scratch || !slices.ContainsFunc(s.Rows, func(r Row) bool { return r.Strategy == x })
	})
}

// rank orders workloads: files and sessions first, then generated ones in their order.
func rank(workload string) int {
	if at := slices.Index(Workloads, workload); at >= 0 {
		return at + 1
	}
	return 0
}

// noteXstate notes where xstate was wrong, or executed more blocks than a strategy that was always right.
func (s *Summary) noteXstate(r *Result) {
	wrong := map[Strategy]bool{}
	own := map[int]*Run{}
	for i := range r.Runs {
		x := &r.Runs[i]
		wrong[x.Strategy] = wrong[x.Strategy] || !x.Equal
		if x.Strategy == Xstate {
			own[x.Version] = x
			if !x.Equal {
				s.Wrong = append(s.Wrong, Wrong{r.Program, x.Version, x.Differs})
			}
		}
	}
	for i := range r.Runs {
		x := &r.Runs[i]
		if o := own[x.Version]; o != nil && x.Version > 0 && !x.Failed && !wrong[x.Strategy] && x.Ran < o.Ran {
			s.Fewer = append(s.Fewer, Fewer{r.Program, x.Version, x.Strategy, x.Ran, o.Ran})
		}
	}
}

// rowOf sums up one strategy on the programs of one workload.
func rowOf(workload string, strategy Strategy, results []Result) Row {
	row := Row{Workload: workload, Strategy: strategy}
	var blocks, seconds, xstate, saved, down, first, even, bytes []float64
	for i := range results {
		r := &results[i]
		by := byVersion(r)
		own := by[strategy]
		if len(own) == 0 {
			continue
		}
		row.Programs++
		paid, edits := 0.0, 0
		for v, x := range own {
			reference := by[Scratch][v]
			if x.Refused != "" {
				if v > 0 {
					row.Refused++
				}
				continue
			}
			row.Volatile += x.Volatile
			row.Unstable += x.Unstable
			if v == 0 {
				continue
			}
			edits++
			if x.Equal {
				row.Equal++
			} else if slices.ContainsFunc(x.Differs, func(d string) bool { return strings.HasPrefix(d, "block") }) {
				row.Shown++
			} else if !slices.ContainsFunc(x.Differs, func(d string) bool {
				return !strings.HasSuffix(d, leftoverSuffix)
			}) {
				row.LeftoversOnly++
			}
			blocks = append(blocks, float64(x.Ran)/float64(max(x.Blocks, 1)))
			seconds = append(seconds, x.Seconds)
			saved = append(saved, 1-x.Seconds/reference.Seconds)
			if own := by[Xstate]; v < len(own) {
				xstate = append(xstate, own[v].Seconds)
			}
			paid += reference.Seconds - x.Seconds
			if d := by[Down]; v < len(d) {
				down = append(down, (d[v].Seconds-x.Seconds)/reference.Seconds)
			}
		}
		row.Edits += edits
		if own[0].Refused != "" {
			continue // there was no first run
		}
		cost := own[0].Seconds + own[len(own)-1].Close
		first = append(first, cost/by[Scratch][0].Seconds)
		if edits > 0 && strategy != Scratch {
			switch each := paid / float64(edits); {
			case cost <= by[Scratch][0].Seconds:
				even = append(even, 0)
			case each > 0:
				even = append(even, math.Ceil((cost-by[Scratch][0].Seconds)/each))
			default:
				row.Never++
			}
		}
		bytes = append(bytes, float64(own[len(own)-1].Bytes))
	}
	row.Blocks, row.Saved, row.SavedDown = quartilesOf(blocks), quartilesOf(saved), quartilesOf(down)
	row.Seconds, row.Xstate = quartilesOf(seconds), quartilesOf(xstate)
	row.First, row.BreakEven, row.Bytes = quartilesOf(first), quartilesOf(even), quartilesOf(bytes)
	return row
}

// byVersion returns the runs of each strategy, in order of versions.
func byVersion(r *Result) map[Strategy][]*Run {
	by := map[Strategy][]*Run{}
	for i := range r.Runs {
		by[r.Runs[i].Strategy] = append(by[r.Runs[i].Strategy], &r.Runs[i])
	}
	return by
}
