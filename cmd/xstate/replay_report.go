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
