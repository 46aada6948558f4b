package main

import (
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/runner/replay"
)

// replayReport is the outcome of a replay as one file that needs nothing else.
func replayReport(x *replay.Report, format string) string {
	r := &report{html: format == "html"}
	r.head("Replay of session " + x.Session)
	r.para(strings.ToUpper(x.Result[:1]) + x.Result[1:] + ". " + replayedText(x) + ".")
	if x.First != nil {
		r.section("First divergence")
		r.divergence(x.First)
	}
	r.section("Runs")
	rows := replayRows(x)
	rows[0] = append(rows[0], "when", "recorded with")
	for i, run := range x.Runs {
		rows[i+1] = append(rows[i+1], run.Time.UTC().Format(time.RFC3339), run.Interpreter)
	}
	r.table(rows)
	if len(x.Missing) > 0 {
		r.section("Missing")
		for _, m := range x.Missing {
			r.item(missingText(m))
		}
		r.end()
	}
	if served := servedTexts(x); len(served) > 0 {
		r.section("Served from the recording")
		for _, s := range served {
			r.item(s)
		}
		r.end()
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
	r.either("</body></html>\n", "")
	return r.String()
}

// report is a text in HTML or in Markdown.
type report struct {
	strings.Builder
	html bool
	list bool
}

func (r *report) either(asHTML, asMarkdown string) {
	if r.html {
		r.WriteString(asHTML)
	} else {
		r.WriteString(asMarkdown)
	}
}

const reportStyle = "body{font:15px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em}" +
	"table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.2em .6em;text-align:left}" +
	"pre{background:#f4f4f4;padding:.6em;overflow:auto}"

func (r *report) head(title string) {
	t := html.EscapeString(title)
	r.either(
		"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>"+t+
			"</title><style>"+reportStyle+"</style></head><body>\n<h1>"+t+"</h1>\n",
		"# "+plainMarkdown(title)+"\n\n",
	)
}

func (r *report) section(title string) {
	r.either("<h2>"+html.EscapeString(title)+"</h2>\n", "## "+title+"\n\n")
}

func (r *report) para(text string) {
	r.either("<p>"+html.EscapeString(text)+"</p>\n", plainMarkdown(text)+"\n\n")
}

func (r *report) item(text string) {
	if !r.list {
		r.either("<ul>\n", "")
	}
	r.list = true
	r.either("<li>"+html.EscapeString(text)+"</li>\n", "- "+plainMarkdown(text)+"\n")
}

// end ends a list.
func (r *report) end() {
	r.list = false
	r.either("</ul>\n", "\n")
}

func (r *report) table(rows [][]string) {
	r.either("<table>\n", "")
	for i, row := range rows {
		cells := make([]string, len(row))
		for j, c := range row {
			if cells[j] = plainMarkdown(c); r.html {
				cells[j] = html.EscapeString(c)
			}
		}
		tag := map[bool]string{true: "th", false: "td"}[i == 0]
		r.either(
			"<tr><"+tag+">"+strings.Join(cells, "</"+tag+"><"+tag+">")+"</"+tag+"></tr>\n",
			"| "+strings.Join(cells, " | ")+" |\n",
		)
		if i == 0 {
			r.either("", strings.Repeat("| --- ", len(row))+"|\n")
		}
	}
	r.either("</table>\n", "\n")
}

func (r *report) divergence(d *replay.Divergence) {
	r.para(
		fmt.Sprintf(
			"Step %d, %s, line %d of block %s: %s. Cause: %s: %s.",
			d.Step,
			d.Node,
			max(d.Line, 1),
			d.Block,
			d.What,
			d.Cause,
			d.Detail,
		),
	)
	for _, side := range [][2]string{{"Recorded", d.Recorded}, {"Replayed", d.Replayed}} {
		if side[1] != "" {
			r.para(side[0] + ":")
			r.either("<pre>"+html.EscapeString(side[1])+"</pre>\n", fenced(side[1]))
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
	text := plural(len(x.Runs), "run") + " replayed"
	if x.Cached {
		text = plural(len(x.Runs), "run") + " verified, nothing executed"
	}
	text += ": " + x.Result
	if x.First != nil {
		text += fmt.Sprintf(", first at step %d, %s (%s)", x.First.Step, x.First.Node, x.First.Cause)
	}
	if !x.Cached {
		text += fmt.Sprintf("; %s executed, %s, with %s", plural(executed, "node"), seconds(x.Seconds), x.Interpreter)
	}
	return text
}

// servedTexts tell which parts were not executed, once for all runs.
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
