package bench

import (
	"cmp"
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"
)

// peersMarkdown is a table of the peers with scratch and xstate: on how many edits each was right, and the time of an
// edit. A peer that refuses programs was timed on fewer edits than the others, so a column has xstate's time after
// the same edits. Generated workloads appear only in the sum over all.
func (r *Report) peersMarkdown() string {
	var b strings.Builder
	b.WriteString(
		"| workload | | edits refused | equal | too much is left | blocks run | time per edit | xstate, same " +
			"edits | first run |\n|---|---|---|---|---|---|---|---|---|\n",
	)
	for i, x := range r.Summary.Rows {
		compared := x.Strategy == Scratch || x.Strategy == Xstate || slices.Contains(Peers, x.Strategy)
		if !compared || rank(x.Workload) > 0 && x.Workload != r.Summary.Rows[0].Workload {
			continue
		}
		cells := r.Table()[i]
		fmt.Fprintf(
			&b,
			"| %s | %s | %d | %d of %d | %d | %s | %s | %s | %s |\n",
			x.Workload,
			x.Strategy,
			x.Refused,
			x.Equal,
			x.Edits,
			x.LeftoversOnly,
			cells[3],
			cells[4],
			seconds(x.Xstate),
			cells[7],
		)
	}
	fmt.Fprintf(&b, "\n%s; %d of %d programs.\n", strings.Join(r.Peers, ", "), r.Done, r.Programs)
	return b.String()
}

// refused lists the programs that a peer refused, with reasons.
func (r *Report) refused(b *strings.Builder) {
	type what struct {
		program, why string
		peer         Strategy
	}
	found := map[what]int{}
	for i := range r.Results {
		for _, x := range r.Results[i].Runs {
			if x.Refused != "" {
				found[what{r.Results[i].Program, x.Refused, x.Strategy}]++
			}
		}
	}
	if len(r.Peers) == 0 {
		return
	}
	b.WriteString(
		"<h2>What peers refused</h2>\n<table><tr><th>peer</th><th>program</th><th>runs</th><th>why</th></tr>\n",
	)
	order := slices.SortedFunc(maps.Keys(found), func(x, y what) int {
		return cmp.Or(cmp.Compare(x.peer, y.peer), cmp.Compare(x.program, y.program), cmp.Compare(x.why, y.why))
	})
	for _, w := range order {
		fmt.Fprintf(
			b,
			"<tr><td>%s</td><td>%s</td><td>%d</td><td>%s</td></tr>\n",
			w.peer,
			html.EscapeString(w.program),
			found[w],
			html.EscapeString(w.why),
		)
	}
	b.WriteString("</table>\n")
}
