package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/inspect"
)

// placeFlag is a flag for a place in a value: its first row.
type placeFlag struct{ at **inspect.Place }

func (f placeFlag) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 31)
	*f.at = &inspect.Place{Row: int(n)}
	return err
}

func (f placeFlag) String() string { return "" }
func (f placeFlag) Type() string   { return "int" }

func (a *app) queryValue(
	ctx context.Context, o *opened, n xstate.StepNumber, name string, at *inspect.Place,
) error {
	v, err := o.session.Value(ctx, n, name, at)
	if err != nil {
		return err
	}
	if a.ui.JSON {
		return a.ui.Document(api.QueryValue{Answer: api.AnswerAt(o.history.Name(), n), ValueView: v})
	}
	if !a.printDescription(v.Description) {
		a.ui.Text(v.Text)
	}
	if v.Stale {
		a.ui.Talk("%s is stale: what it was made of has changed, and %s has not run since", v.Name, v.By)
	}
	if v.Trust == state.TierForeign {
		a.ui.Talk("the value is foreign: it came with an archive and was not computed here")
	}
	return nil
}

// printDescription prints a description that says more than the text of its value. It reports false for another.
func (w *printer) printDescription(d *inspect.Description) bool {
	switch {
	case d == nil:
		return false
	case d.Table != nil:
		w.printTable(d.Table)
	case d.Array != nil:
		w.printArray(d.Array)
	case d.Tree != nil && len(d.Tree.Root.Items) > 0:
		w.printTree(d.Tree)
	default:
		return false
	}
	return true
}

func (w *printer) printTable(t *inspect.Table) {
	columns := make([][]string, 0, len(t.Columns)+1)
	columns = append(columns, summaryNames)
	rows := [][]string{{}}
	for i := range t.Columns {
		c := &t.Columns[i]
		rows[0] = append(rows[0], inLine(c.Name))
		if !c.Index {
			columns = append(columns, summaryRow(inLine(c.Name), &c.Summary))
		}
	}
	w.ui.Print("%s, %s\n", term.Shown("row", t.From, int64(len(t.Cells)), t.Rows),
		term.Shown("column", int64(t.Left), int64(len(columns)-1), int64(t.Width)))
	w.ui.Table(columns)
	w.ui.Print("\n")
	w.ui.Table(appendRows(rows, t.Cells))
}

func (w *printer) printArray(a *inspect.Array) {
	w.ui.Print("shape %s, %s\n", strings.ReplaceAll(strings.Trim(fmt.Sprint(a.Shape), "[]"), " ", " x "),
		term.Shown("row", a.From, int64(len(a.Cells)), a.Rows()))
	w.ui.Table([][]string{summaryNames[1:], summaryRow("", &a.Summary)[1:]})
	w.ui.Print("\n")
	w.ui.Table(appendRows(nil, a.Cells))
}

// summaryNames are the heads of what summaryRow returns.
var summaryNames = []string{"column", "type", "missing", "distinct", "min", "max", "mean", "common"}

func summaryRow(name string, s *inspect.Summary) []string {
	distinct, common := "", make([]string, 0, len(s.Common))
	if s.Distinct != nil {
		distinct = strconv.FormatInt(*s.Distinct, 10)
	}
	for _, c := range s.Common {
		common = append(common, fmt.Sprintf("%s (%d)", term.Cut(inLine(c.Text), mostCommon), c.Count))
	}
	if s.Sampled > 0 {
		common = append(common, fmt.Sprintf("of %d values", s.Sampled))
	}
	return []string{name, s.Type, strconv.FormatInt(s.Missing, 10), distinct, s.Min, s.Max, s.Mean,
		strings.Join(common, ", ")}
}

// mostCommon is how much of a frequent value is shown.
const mostCommon = 24

func appendRows(rows [][]string, cells []inspect.Row) [][]string {
	for _, row := range cells {
		texts := make([]string, len(row.Cells))
		for i, text := range row.Cells {
			texts[i] = inLine(text)
		}
		rows = append(rows, texts)
	}
	return rows
}

// inLine is a text in one line.
func inLine(text string) string {
	return strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(text)
}

func (w *printer) printTree(t *inspect.Tree) {
	var rows [][]string
	var add func(x *inspect.Item, depth int)
	add = func(x *inspect.Item, depth int) {
		size := ""
		if x.Size != nil {
			size = strconv.FormatInt(*x.Size, 10)
		}
		indent := strings.Repeat("  ", depth)
		rows = append(rows, []string{indent + inLine(x.Key), x.Type, size, inLine(x.Text)})
		for i := range x.Items {
			add(&x.Items[i], depth+1)
		}
		if x.More > 0 {
			rows = append(rows, []string{indent + "  " + fmt.Sprintf("%d more", x.More)})
		}
	}
	for i := range t.Root.Items {
		add(&t.Root.Items[i], 0)
	}
	if t.Root.More > 0 {
		rows = append(rows, []string{fmt.Sprintf("%d more", t.Root.More)})
	}
	shown := int64(len(t.Root.Items))
	w.ui.Print("%s, %s\n", t.Root.Type, term.Shown("item", t.From, shown, t.From+shown+t.Root.More))
	w.ui.Table(rows)
}
