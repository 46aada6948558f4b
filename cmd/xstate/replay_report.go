package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/runner/replay"
)

// replayMarkdown is the outcome of a replay as a file of Markdown.
func replayMarkdown(x *replay.Report) string {
	r := &report{}
	r.WriteString("# " + plainMarkdown("Replay of session "+x.Session) + "\n\n")
	r.para(verdictText(x))
	if x.First != nil {
		r.section("First divergence")
		r.divergence(x.First)
	}
	r.section("Runs")
	r.table(replayTable(x))
	if len(x.Missing) > 0 {
		var texts []string
		for _, m := range x.Missing {
			texts = append(texts, missingText(m))
		}
		r.section("Missing")
		r.list(texts)
	}
	if served := servedTexts(x); len(served) > 0 {
		r.section("Served from the recording")
		r.list(served)
	}
	others := false
	for _, run := range x.Runs {
		for i := range run.Divergences {
			if &run.Divergences[i] == x.First {
				continue
			}
			if !others {
				r.section("Other divergences")
			}
			others = true
			r.divergence(&run.Divergences[i])
		}
	}
	return r.String()
}

// verdictText sums a replay up.
func verdictText(x *replay.Report) string {
	return strings.ToUpper(x.Result[:1]) + x.Result[1:] + ". " + replayedText(x) + "."
}

// replayTable is the table of the runs in a report.
func replayTable(x *replay.Report) [][]string {
	rows := replayRows(x)
	rows[0] = append(rows[0], "when", "recorded with")
	for i, run := range x.Runs {
		rows[i+1] = append(rows[i+1], run.Time.UTC().Format(time.RFC3339), run.Interpreter)
	}
	return rows
}

// report is a text in Markdown.
type report struct{ strings.Builder }

func (r *report) section(title string) { r.WriteString("## " + title + "\n\n") }

func (r *report) para(text string) { r.WriteString(plainMarkdown(text) + "\n\n") }

func (r *report) list(texts []string) {
	for _, text := range texts {
		r.WriteString("- " + plainMarkdown(text) + "\n")
	}
	r.WriteString("\n")
}

func (r *report) table(rows [][]string) {
	for i, row := range rows {
		cells := make([]string, len(row))
		for j, c := range row {
			cells[j] = plainMarkdown(c)
		}
		r.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		if i == 0 {
			r.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
		}
	}
	r.WriteString("\n")
}

// causeText says where a replay diverged, and why.
func causeText(d *replay.Divergence) string {
	return fmt.Sprintf("Step %d, %s, line %d of block %s: %s. Cause: %s: %s.", d.Step, d.Node, max(d.Line, 1), d.Block,
		d.What, d.Cause, d.Detail)
}

func (r *report) divergence(d *replay.Divergence) {
	r.para(causeText(d))
	for _, side := range [][2]string{{"Recorded", d.Recorded}, {"Replayed", d.Replayed}} {
		if side[1] != "" {
			r.para(side[0] + ":")
			r.WriteString(fenced(side[1]))
		}
	}
}

// fenced is a text in a fence that is longer than any in it.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence + "\n\n"
}

// plainMarkdown takes the meaning from what Markdown would read in a text.
func plainMarkdown(text string) string {
	var b strings.Builder
	for _, c := range text {
		if strings.ContainsRune("\\`*_{}[]<>|#", c) {
			b.WriteByte('\\')
		}
		if c == '\n' {
			c = ' '
		}
		b.WriteRune(c)
	}
	return b.String()
}

func missingText(m replay.Missing) string {
	if name, is := strings.CutPrefix(m.What, "module:"); is {
		m.What = "package " + name
	}
	if name, is := strings.CutPrefix(m.What, "tool:"); is {
		return fmt.Sprintf("not called again: %s: %s", name, m.Why)
	}
	if m.Step != 0 {
		return fmt.Sprintf("step %d, missing %s: %s", m.Step, m.What, m.Why)
	}
	return fmt.Sprintf("missing %s: %s", m.What, m.Why)
}

// replayRows are a table of the runs.
func replayRows(x *replay.Report) [][]string {
	rows := [][]string{{"step", "result", "nodes", "executed", "proved", "served", "first divergence"}}
	for _, run := range x.Runs {
		first := ""
		if len(run.Divergences) > 0 {
			d := run.Divergences[0]
			first = fmt.Sprintf("%s: %s (%s)", d.Node, d.What, d.Cause)
		}
		rows = append(
			rows,
			[]string{
				fmt.Sprint(run.Step),
				run.Result,
				fmt.Sprint(run.Nodes),
				fmt.Sprint(run.Executed),
				fmt.Sprint(run.Proved),
				fmt.Sprint(len(run.Served)),
				first,
			},
		)
	}
	return rows
}

func replayedText(x *replay.Report) string {
	executed, served := 0, 0
	for _, run := range x.Runs {
		executed += run.Executed
		served += len(run.Served)
	}
	text := term.Plural(len(x.Runs), "run") + " replayed"
	if x.Cached {
		text = term.Plural(len(x.Runs), "run") + " verified, nothing executed"
	}
	text += ": " + x.Result
	if x.First != nil {
		text += fmt.Sprintf(", first at step %d, %s (%s)", x.First.Step, x.First.Node, x.First.Cause)
	}
	if !x.Cached {
		text += fmt.Sprintf("; %s executed, %s, with %s", term.Plural(executed, "node"), term.Seconds(x.Seconds),
			x.Interpreter)
	}
	if c := x.Calls; c != nil && c.Made+c.Served > 0 {
		text += fmt.Sprintf("; %s made again, %d served", term.Plural(c.Made, "call"), c.Served)
		if usd := c.Spent.Dollars(); usd != "" {
			text += ", " + usd
		}
	}
	return text
}

// servedTexts say which parts were not executed, once for all runs.
func servedTexts(x *replay.Report) []string {
	why := map[string]string{
		replay.ServedEffect: "%s: not executed, because its effects cannot be undone (%s); served the record",
		replay.ServedNeeds:  "%s: not executed, because it needs a value of a served part that was not kept",
		replay.ServedPinned: "%s: not executed, for it kept a result that did not hold (never); served what was " +
			"recorded",
		replay.ServedTimeout: "%s: not executed, because it was stopped at the time-out; served the record",
		replay.ServedFolder: "%s: not compared, for it rests on the name of the folder, which the copy does not " +
			"have",
		replay.ServedUnrecorded: "%s: not compared, for its record is gone, or its failure may not happen again",
	}
	var texts []string
	seen := map[string]bool{}
	for _, run := range x.Runs {
		for _, s := range run.Served {
			format, told := why[s.Why]
			if told && s.Why == replay.ServedEffect {
				format = fmt.Sprintf(format, s.Node, strings.Join(s.What, ", "))
			} else if told {
				format = fmt.Sprintf(format, s.Node)
			}
			if told && !seen[format] {
				seen[format] = true
				texts = append(texts, format)
			}
		}
	}
	return texts
}
