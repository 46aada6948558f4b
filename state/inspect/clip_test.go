package inspect

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestClip: an interpreter that a program changed can say anything, and no more than the limits is kept.
func TestClip(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	row := Row{Cells: make([]string, 1000)}
	for i := range row.Cells {
		row.Cells[i] = long
	}
	items := make([]Item, 1000)
	for i := range items {
		items[i] = Item{Key: long, Type: long, Text: long, Items: make([]Item, 1000)}
	}
	summary := Summary{Type: long, Min: long, Max: long, Mean: long, Common: make([]Count, 100),
		Histogram: &Histogram{Low: long, High: long, Counts: make([]int64, 1000)}}
	d := &Description{
		Table: &Table{Columns: make([]Column, 1000), Cells: []Row{row}},
		Array: &Array{Shape: make([]int64, 1000), Summary: summary, Cells: []Row{row}},
		Tree:  &Tree{Root: Item{Text: long, Items: items}},
	}
	d.Table.Columns[0] = Column{Name: long, Summary: summary}
	d.Clip(Standard, func(text string) string { return strings.ReplaceAll(text, "é", "e") })
	longest, count := sizes(reflect.ValueOf(d))
	if longest > Standard.Whole+most {
		t.Errorf("a text has %d bytes", longest)
	}
	if strings.Contains(fmt.Sprint(d.Table, d.Array, d.Tree), "é") {
		t.Error("a text is not changed")
	}
	if got := len(d.Table.Cells[0].Cells); got != len(d.Table.Columns) {
		t.Errorf("a row has %d cells for %d columns", got, len(d.Table.Columns))
	}
	if most := 4 * (Standard.Items + Standard.Columns*Standard.Rows); count > most {
		t.Errorf("it holds %d values, want at most %d", count, most)
	}
}

// sizes returns the length of the longest text, and how many elements all lists have.
func sizes(v reflect.Value) (longest, count int) {
	add := func(inner reflect.Value) {
		l, n := sizes(inner)
		longest, count = max(longest, l), count+n
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			add(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			add(v.Field(i))
		}
	case reflect.Slice:
		count = v.Len()
		for i := range v.Len() {
			add(v.Index(i))
		}
	case reflect.String:
		return v.Len(), 0
	}
	return longest, count
}
