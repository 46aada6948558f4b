package page

import (
	"encoding/base64"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state/inspect"
)

// looking makes what the view of a value shows of its description. Its links lead to other places of the value.
type looking struct {
	view *view
	name string
	at   inspect.Place
}

// deepest is how many steps a path may have in an address.
const deepest = 64

// placeIn reads a place in a value from an address: row, column, and path as positions with dots between them. What is
// no number counts as 0.
func (v *view) placeIn() inspect.Place {
	number := func(text string) int {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return 0
		}
		return int(n)
	}
	at := inspect.Place{Row: number(v.query.Get("row")), Column: number(v.query.Get("column"))}
	if path := v.query.Get("path"); path != "" {
		for _, step := range strings.SplitN(path, ".", deepest+1) {
			at.Path = append(at.Path, number(step))
		}
		at.Path = at.Path[:min(len(at.Path), deepest)]
	}
	return at
}

// to is the address of another place.
func (l *looking) to(at inspect.Place) string {
	more := []string{"name", l.name}
	if at.Row > 0 {
		more = append(more, "row", strconv.Itoa(at.Row))
	}
	if at.Column > 0 {
		more = append(more, "column", strconv.Itoa(at.Column))
	}
	if len(at.Path) > 0 {
		more = append(more, "path", pathText(at.Path))
	}
	return l.view.At("value", more...)
}

func pathText(path []int) string {
	steps := make([]string, len(path))
	for i, step := range path {
		steps[i] = strconv.Itoa(step)
	}
	return strings.Join(steps, ".")
}

// into is the address of a part of what is shown.
func (l *looking) into(steps ...int) string {
	return l.to(inspect.Place{Path: slices.Concat(l.at.Path, steps)})
}

// within says which part of the value is shown, and leads back.
type within struct{ Path, Whole, Above string }

// within is nil if the whole value is shown.
func (l *looking) within() *within {
	n := len(l.at.Path)
	if n == 0 {
		return nil
	}
	return &within{
		Path: pathText(l.at.Path), Whole: l.to(inspect.Place{}), Above: l.to(inspect.Place{Path: l.at.Path[:n-1]}),
	}
}

// span says which rows, columns or items are shown, and leads to those before and after them.
type span struct{ Text, Before, After string }

// spans returns a span of shown elements from one on. move makes the place that begins with another one; step is how
// many a page has.
func (l *looking) spans(what string, from, shown, all int64, step int, move func(*inspect.Place, int)) span {
	s := span{Text: term.Shown(what, from, shown, all)}
	place := func(first int64) string {
		at := l.at
		move(&at, int(first))
		return l.to(at)
	}
	if from > 0 {
		s.Before = place(max(0, from-int64(step)))
	}
	if from+shown < all && shown > 0 {
		s.After = place(from + shown)
	}
	return s
}

func toRow(at *inspect.Place, n int)    { at.Row = n }
func toColumn(at *inspect.Place, n int) { at.Column = n }

// grid is a table or an array as the template shows it.
type grid struct {
	Name   string
	Heads  []head // for columns
	Rows   [][]cell
	Spans  []span // for rows, and for columns
	Whole  *head  // the summary of an array
	Slice  string // which part of an array of more than two dimensions is shown
	Slices []link // to other parts
}

type link struct{ Text, To string }

// head is the head of a column.
type head struct {
	Name, Type string
	Index      bool
	Number     bool // its cells are aligned as numbers
	Missing    bool // it has missing values
	Facts      []fact
	Bars       *bars
}

// fact is a line of a summary.
type fact struct{ Name, Text string }

// cell is a cell with its whole text, if it shows less.
type cell struct {
	Text, Whole   string
	Number, Index bool
	None          bool // it looks like a missing value, in a column that has some
}

// Class is the class of a cell but for the head of a row.
func (c cell) Class() string {
	switch {
	case c.Number && c.None:
		return "num none"
	case c.None:
		return "none"
	case c.Number:
		return "num"
	}
	return ""
}

// missing are the texts of missing values.
var missing = []string{"nan", "NaN", "None", "NaT", "<NA>", "null", "undefined", "--"}

func (l *looking) table(t *inspect.Table) *grid {
	g := &grid{Name: l.name}
	for i := range t.Columns {
		c := &t.Columns[i]
		h := headOf(c.Name, &c.Summary)
		if h.Index = c.Index; c.Index && c.Name == "" {
			h.Name = "index"
		}
		g.Heads = append(g.Heads, h)
	}
	for _, row := range t.Cells {
		cells := make([]cell, 0, len(row.Cells))
		for i, text := range row.Cells {
			h := &g.Heads[min(i, len(g.Heads)-1)]
			one := cellOf(text, h.Number)
			one.Index, one.None = h.Index, h.Missing && slices.Contains(missing, text)
			cells = append(cells, one)
		}
		g.Rows = append(g.Rows, cells)
	}
	shown := int64(0)
	for i := range t.Columns {
		if !t.Columns[i].Index {
			shown++
		}
	}
	most := inspect.Standard
	g.Spans = []span{
		l.spans("row", t.From, int64(len(t.Cells)), t.Rows, most.Rows, toRow),
		l.spans("column", int64(t.Left), shown, int64(t.Width), most.Columns, toColumn),
	}
	return g
}

func (l *looking) array(a *inspect.Array) *grid {
	whole := headOf("", &a.Summary)
	g := &grid{Name: l.name, Whole: &whole, Heads: []head{{Index: true, Name: "position"}}}
	width := 0
	for i, row := range a.Cells {
		cells := []cell{{Text: strconv.FormatInt(a.From+int64(i), 10), Number: true, Index: true}}
		for _, text := range row.Cells {
			one := cellOf(text, whole.Number)
			one.None = a.Missing > 0 && slices.Contains(missing, text)
			cells = append(cells, one)
		}
		g.Rows, width = append(g.Rows, cells), len(row.Cells)
	}
	most := inspect.Standard
	g.Spans = []span{l.spans("row", a.From, int64(len(a.Cells)), a.Rows(), most.Rows, toRow)}
	if len(a.Shape) < 2 {
		g.Heads = append(g.Heads, head{Name: "element", Number: whole.Number})
	} else {
		for i := range width {
			g.Heads = append(g.Heads, head{Name: strconv.Itoa(a.Left + i), Number: whole.Number})
		}
		columns := a.Shape[len(a.Shape)-1]
		g.Spans = append(g.Spans, l.spans("column", int64(a.Left), int64(width), columns, most.Columns, toColumn))
	}
	if len(a.Shape) > 2 {
		g.Slice = shapeText(a.Slice, ", ")
		for i := range int(min(a.Shape[0], mostSlices)) {
			g.Slices = append(g.Slices, link{strconv.Itoa(i), l.into(i)})
		}
	}
	return g
}

// mostSlices is to how many parts of an array there are links.
const mostSlices = 30

func shapeText(shape []int64, between string) string {
	texts := make([]string, len(shape))
	for i, n := range shape {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(texts, between)
}

func cellOf(text string, number bool) cell {
	c := cell{Text: text, Number: number}
	if short := shortNumber(text); number && short != text {
		c.Text, c.Whole = short, text
	}
	return c
}

// isNumber reports whether a type, in the notation of a language, is one of numbers.
func isNumber(of string) bool {
	of = strings.ToLower(of)
	return slices.ContainsFunc([]string{"int", "float", "double", "decimal", "number", "complex"},
		func(part string) bool { return strings.Contains(of, part) }) &&
		!strings.ContainsAny(of, "[(<,") // a list of them, or an interval
}

func headOf(name string, s *inspect.Summary) head {
	h := head{Name: name, Type: s.Type, Number: isNumber(s.Type), Missing: s.Missing > 0}
	add := func(name, text string) {
		if text != "" {
			h.Facts = append(h.Facts, fact{name, text})
		}
	}
	if s.Missing > 0 {
		add("missing", strconv.FormatInt(s.Missing, 10))
	}
	add("min", shortNumber(s.Min))
	add("max", shortNumber(s.Max))
	add("mean", shortNumber(s.Mean))
	if s.Distinct != nil {
		add("distinct", strconv.FormatInt(*s.Distinct, 10))
	}
	if s.Histogram != nil {
		h.Bars = barsOf(s.Histogram)
	} else {
		for _, c := range s.Common {
			h.Facts = append(h.Facts, fact{c.Text, strconv.FormatInt(c.Count, 10)})
		}
	}
	if s.Sampled > 0 {
		add("sample of", strconv.FormatInt(s.Sampled, 10))
	}
	return h
}

// picture is an image as the address of its data; "": a browser must not show it.
func picture(i *inspect.Image) template.URL {
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif"}, i.Media) {
		return ""
	}
	if _, err := base64.StdEncoding.DecodeString(i.Data); err != nil {
		return ""
	}
	return template.URL("data:" + i.Media + ";base64," + i.Data)
}
