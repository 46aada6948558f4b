package inspect

import "unicode/utf8"

// most is how much longer than its limit a text may be: its end says how much is missing.
const most = 40

// Clip brings a description within limits and changes each text by change, which may be nil. An interpreter keeps to
// the limits unless the program changed it.
func (d *Description) Clip(l Limits, change func(string) string) {
	c := clipper{l, change}
	if t := d.Table; t != nil {
		t.Columns = first(t.Columns, l.Columns+8) // an index has its own columns
		for i := range t.Columns {
			c.texts(l.Text, &t.Columns[i].Name)
			c.summary(&t.Columns[i].Summary)
		}
		t.Cells = c.rows(t.Cells, len(t.Columns))
	}
	if a := d.Array; a != nil {
		a.Shape, a.Slice = first(a.Shape, 64), first(a.Slice, 64)
		c.summary(&a.Summary)
		a.Cells = c.rows(a.Cells, l.Columns)
	}
	if t := d.Tree; t != nil {
		left := l.Items
		c.item(&t.Root, &left, l.Whole)
	}
}

type clipper struct {
	Limits
	change func(string) string
}

// first returns the first n of a list.
func first[T any](list []T, n int) []T { return list[:min(len(list), n)] }

func (c *clipper) texts(limit int, texts ...*string) {
	for _, p := range texts {
		text := *p
		if n := limit + most; len(text) > n { // a character is a byte or more
			if runes := []rune(text[:min(len(text), n*utf8.UTFMax)]); len(runes) > n {
				text = string(runes[:n])
			}
		}
		if c.change != nil {
			text = c.change(text)
		}
		*p = text
	}
}

func (c *clipper) summary(s *Summary) {
	c.texts(c.Text, &s.Type, &s.Min, &s.Max, &s.Mean)
	s.Common = first(s.Common, c.Common)
	for i := range s.Common {
		c.texts(c.Text, &s.Common[i].Text)
	}
	if h := s.Histogram; h != nil {
		h.Counts = first(h.Counts, c.Bins)
		c.texts(c.Text, &h.Low, &h.High)
	}
}

// rows makes all rows have the same number of cells, at most width.
func (c *clipper) rows(rows []Row, width int) []Row {
	rows = first(rows, c.Rows)
	for i := range rows {
		rows[i].Cells = first(rows[i].Cells, width)
		for j := range rows[i].Cells {
			c.texts(c.Text, &rows[i].Cells[j])
		}
	}
	return rows
}

func (c *clipper) item(x *Item, left *int, limit int) {
	c.texts(c.Text, &x.Key, &x.Type)
	c.texts(limit, &x.Text)
	x.Items = first(x.Items, *left)
	*left -= len(x.Items)
	for i := range x.Items {
		c.item(&x.Items[i], left, c.Text)
	}
}
