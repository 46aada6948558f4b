package bench

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Report is the document of a bench.
type Report struct {
	Version     int      `json:"version"`
	Time        string   `json:"time"`
	Interpreter string   `json:"interpreter"`
	Peers       []string `json:"peers"` // name and version of each peer that was measured
	Seed        uint64   `json:"seed"`
	Programs    int      `json:"programs"` // number of programs asked for
	Done        int      `json:"done"`     // number of programs measured
	Summary     *Summary `json:"summary"`
	Results     []Result `json:"results"`
}

// NewReport makes the report of results.
func NewReport(results []Result, o Options, seed uint64, programs int, now time.Time) *Report {
	return &Report{
		Version:     1,
		Time:        now.UTC().Format(time.RFC3339),
		Interpreter: o.Python.String(),
		Peers:       append([]string{}, o.Peers...),
		Seed:        seed,
		Programs:    programs,
		Done:        len(results),
		Summary:     Summarize(results),
		Results:     results,
	}
}

// Write writes report.json, runs.csv, table.md, savings.svg and report.html into a folder, and returns the path of
// report.html. That page is self-contained.
func (r *Report) Write(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	document, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return "", fmt.Errorf("encode report: %w", err)
	}
	page := filepath.Join(dir, "report.html")
	files := map[string][]byte{
		"report.json": append(document, '\n'), "runs.csv": r.csv(), "table.md": []byte(r.Markdown()),
		"savings.svg": []byte(r.byPosition().svg()), "report.html": []byte(r.html()),
	}
	if len(r.Peers) > 0 {
		files["peers.md"] = []byte(r.peersMarkdown())
	}
	for name, data := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	return page, err
}

// csv has a line for each run.
func (r *Report) csv() []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	row := func(cells ...string) { _ = w.Write(cells) } // writes to memory, so it cannot fail
	row(
		"program",
		"workload",
		"version",
		"edit",
		"at",
		"blocks",
		"strategy",
		"ran",
		"nodes",
		"again",
		"seconds",
		"saved_seconds",
		"equal",
		"refused",
		"differs",
		"volatile",
		"unstable",
		"failed",
		"bytes",
		"close_seconds",
	)
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', 6, 64) }
	for _, p := range r.Results {
		for _, x := range p.Runs {
			row(
				p.Program,
				p.Workload,
				strconv.Itoa(x.Version),
				string(x.Edit),
				number(x.At),
				strconv.Itoa(x.Blocks),
				string(x.Strategy),
				strconv.Itoa(x.Ran),
				strconv.Itoa(x.Nodes),
				strconv.Itoa(x.Recomputed),
				number(
					x.Seconds,
				),
				number(x.Saved),
				strconv.FormatBool(x.Equal),
				x.Refused,
				strings.Join(x.Differs, "; "),
				strconv.Itoa(x.Volatile),
				strconv.Itoa(x.Unstable),
				strconv.FormatBool(x.Failed),
				strconv.FormatInt(x.Bytes, 10),
				number(x.Close),
			)
		}
	}
	w.Flush()
	return b.Bytes()
}

// Header names the columns of Table.
var Header = []string{
	"workload",
	"strategy",
	"equal",
	"blocks run",
	"time per edit",
	"saved vs scratch",
	"saved vs down",
	"first run",
	"pays after edits",
	"kept",
}

// Table has a row for each row of the summary: medians, with quartiles in parentheses.
func (r *Report) Table() [][]string {
	rows := [][]string{}
	for _, x := range r.Summary.Rows {
		equal := fmt.Sprintf("%d of %d", x.Equal, x.Edits)
		if x.Refused > 0 {
			equal += fmt.Sprintf(", %d refused", x.Refused)
		}
		even := "-"
		if x.BreakEven != nil {
			even = fmt.Sprintf("%.0f (%.0f to %.0f)", x.BreakEven.Median, x.BreakEven.Q1, x.BreakEven.Q3)
		}
		if x.Never > 0 {
			even = strings.TrimPrefix(fmt.Sprintf("%s, never: %d", even, x.Never), "-, ")
		}
		if x.Strategy == Scratch {
			even = "-"
		}
		kept := "-"
		if x.Bytes != nil && x.Bytes.Median > 0 {
			kept = fmt.Sprintf("%.1f MB", x.Bytes.Median/1e6)
			if x.Bytes.Median < 1e5 {
				kept = fmt.Sprintf("%.0f kB", x.Bytes.Median/1e3)
			}
		}
		first := "-"
		if x.First != nil {
			first = fmt.Sprintf("%.1fx (%.1f to %.1f)", x.First.Median, x.First.Q1, x.First.Q3)
		}
		rows = append(
			rows,
			[]string{
				x.Workload,
				string(x.Strategy),
				equal,
				percent(x.Blocks),
				seconds(x.Seconds),
				percent(x.Saved),
				percent(x.SavedDown),
				first,
				even,
				kept,
			},
		)
	}
	return rows
}

func seconds(q *Quartiles) string {
	switch {
	case q == nil:
		return "-"
	case q.Median < 1:
		return fmt.Sprintf("%.0f ms (%.0f to %.0f)", q.Median*1000, q.Q1*1000, q.Q3*1000)
	}
	return fmt.Sprintf("%.1f s (%.1f to %.1f)", q.Median, q.Q1, q.Q3)
}

func percent(q *Quartiles) string {
	if q == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f%% (%.0f to %.0f)", q.Median*100, q.Q1*100, q.Q3*100)
}

// Markdown is a short table with a row for each workload: what xstate saves, and how often each strategy is right.
func (r *Report) Markdown() string {
	var b strings.Builder
	b.WriteString("| workload | programs | edits |")
	for _, s := range Strategies[1:] {
		b.WriteString(" " + string(s) + " equal |")
	}
	b.WriteString(
		" blocks run | saved vs scratch | saved vs down | first run | pays after edits |\n|" + strings.Repeat(
			"---|",
			len(Strategies)+7,
		) + "\n",
	)
	rows, table := r.Summary.Rows, r.Table()
	for i, x := range rows {
		if x.Strategy != Xstate {
			continue
		}
		fmt.Fprintf(&b, "| %s | %d | %d |", x.Workload, x.Programs, x.Edits)
		for _, s := range Strategies[1:] {
			cell := " - |"
			for _, y := range rows {
				if y.Workload == x.Workload && y.Strategy == s {
					cell = fmt.Sprintf(" %d |", y.Equal)
				}
			}
			b.WriteString(cell)
		}
		b.WriteString(" " + strings.Join(slices.Concat(table[i][3:4], table[i][5:9]), " | ") + " |\n")
	}
	return b.String()
}

const style = `body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:1300px;padding:0 1em;color:#222}
table{border-collapse:collapse;font-size:13px}td,th{padding:3px 10px;border-bottom:1px solid #ddd;text-align:left}
.rows td,.wrong td:not(:last-child){white-space:nowrap}
tr.first td{border-top:2px solid #888}.bad{color:#b00020}h2{margin-top:2em}svg{max-width:100%}`

// html is the page. It loads nothing from elsewhere.
func (r *Report) html() string {
	var b strings.Builder
	b.WriteString(
		"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>xstate bench</title><style>" +
			style + "</style></head><body>\n<h1>xstate bench</h1>\n",
	)
	fmt.Fprintf(
		&b,
		"<p>%s. %s, seed %d. %d of %d programs.</p>\n",
		r.Time,
		html.EscapeString(r.Interpreter),
		r.Seed,
		r.Done,
		r.Programs,
	)
	b.WriteString(
		"<p>scratch runs everything in a fresh interpreter. down runs from the edit down in the live interpreter. " +
			"names runs the edited blocks and those that depend on them by name, in the live interpreter. " +
			"snapshot runs from the edit down, after restoring the variables before it from a pickle. " +
			"Each edit builds on the one before. Equal counts edits after which the output of blocks, the values " +
			"and the files equal those of scratch. Shares are of scratch; numbers are medians, with quartiles in " +
			"parentheses. saved vs down is the additional time of down, as a share of the time of scratch. " +
			"In plots, bars are quartiles, and a ring is a median beyond the axis.</p>\n",
	)
	if len(r.Peers) > 0 {
		fmt.Fprintf(
			&b,
			"<p>Peers: %s. Each is used as its documentation says. Of their output, printed text and the text of the "+
				"last expression are compared. Edits that a peer refuses count nowhere else.</p>\n",
			html.EscapeString(strings.Join(r.Peers, ", ")),
		)
	}
	b.WriteString("<table class=\"rows\"><tr><th>" + strings.Join(Header, "</th><th>") + "</th></tr>\n")
	last := ""
	for i, row := range r.Table() {
		class := ""
		if row[0] != last {
			class, last = ` class="first"`, row[0]
		}
		b.WriteString("<tr" + class + ">")
		for j, cell := range row {
			mark := ""
			if x := r.Summary.Rows[i]; j == 2 && x.Equal < x.Edits {
				mark = ` class="bad"`
			}
			b.WriteString("<td" + mark + ">" + html.EscapeString(cell) + "</td>")
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</table>\n")
	for _, p := range []plot{r.correctness(), r.times(), r.byPosition(), r.bySize()} {
		b.WriteString("<h2>" + html.EscapeString(p.title) + "</h2>\n" + p.svg())
	}
	r.writeLists(&b)
	b.WriteString("</body></html>\n")
	return b.String()
}

// writeLists lists where strategies were wrong, xstate first, and what could not be measured.
func (r *Report) writeLists(b *strings.Builder) {
	fmt.Fprintf(
		b,
		"<h2>xstate</h2>\n<p>Edits after which it was wrong: %d. Edits after which it executed more blocks than a "+
			"strategy that was right on the whole program: %d.</p>\n",
		len(r.Summary.Wrong),
		len(r.Summary.Fewer),
	)
	for _, w := range r.Summary.Wrong {
		fmt.Fprintf(
			b,
			"<p class=\"bad\">%s, edit %d: %s</p>\n",
			html.EscapeString(w.Program),
			w.Version,
			html.EscapeString(strings.Join(w.Differs, ", ")),
		)
	}
	for _, f := range r.Summary.Fewer {
		fmt.Fprintf(
			b,
			"<p>%s, edit %d: %s %d, xstate %d</p>\n",
			html.EscapeString(f.Program),
			f.Version,
			f.Strategy,
			f.Ran,
			f.Xstate,
		)
	}
	b.WriteString(
		"<h2>Where the others are wrong</h2>\n<table " +
			"class=\"wrong\"><tr><th>program</th><th>edit</th><th>strategy</th><th>differs in</th></tr>\n",
	)
	for _, p := range r.Results {
		for _, x := range p.Runs {
			if !x.Equal && x.Strategy != Xstate && x.Refused == "" {
				fmt.Fprintf(
					b,
					"<tr><td>%s</td><td>%d: %s</td><td>%s</td><td>%s</td></tr>\n",
					html.EscapeString(p.Program),
					x.Version,
					x.Edit,
					x.Strategy,
					html.EscapeString(strings.Join(x.Differs, ", ")),
				)
			}
		}
	}
	b.WriteString("</table>\n")
	r.refused(b)
	b.WriteString("<h2>Not measured to the end</h2>\n")
	for _, p := range r.Results {
		if p.Error != "" {
			fmt.Fprintf(b, "<p>%s: %s</p>\n", html.EscapeString(p.Program), html.EscapeString(p.Error))
		}
	}
	if n := r.Programs - r.Done; n > 0 {
		fmt.Fprintf(b, "<p>%d programs were not measured: the time limit was reached.</p>\n", n)
	}
}
