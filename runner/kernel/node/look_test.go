package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/state/inspect"
)

// looked returns the description of a name that a program binds.
func looked(t *testing.T, text, name string, at inspect.Place) *inspect.Description {
	t.Helper()
	p := newProgram(t, interpreters(t)[0])
	p.run(text)
	found, err := p.kernel.Inspect(t.Context(), name, &at)
	if err != nil || found.Description == nil {
		t.Fatalf("%s: %+v, %v", text, found, err)
	}
	return found.Description
}

// TestLookAtTable: an array of objects with the same keys is a table.
func TestLookAtTable(t *testing.T) {
	d := looked(t, "const v = Array.from({ length: 70 }, (_, i) => ({ i, s: i % 2 ? 'odd' : null }))", "v",
		inspect.Place{Row: 69})
	one := int64(1)
	seventy := int64(70)
	want := &inspect.Table{Rows: 70, Width: 2, From: 69, Cells: []inspect.Row{{Cells: []string{"69", "odd"}}},
		Columns: []inspect.Column{
			{Name: "i", Summary: inspect.Summary{Type: "number", Distinct: &seventy, Min: "0", Max: "69", Mean: "34.5",
				Histogram: &inspect.Histogram{Low: "0", High: "69",
					Counts: []int64{4, 3, 4, 3, 4, 3, 4, 3, 4, 3, 3, 4, 3, 4, 3, 4, 3, 4, 3, 4}}}},
			{Name: "s", Summary: inspect.Summary{Type: "string", Missing: 35, Distinct: &one,
				Common: []inspect.Count{{Text: "odd", Count: 35}}}},
		}}
	if diff := cmp.Diff(want, d.Table); diff != "" {
		t.Error(diff)
	}
}

// TestLookAtArray: a typed array has figures of its numbers.
func TestLookAtArray(t *testing.T) {
	d := looked(t, "const v = new Float64Array([1, NaN, 3, Infinity])", "v", inspect.Place{Row: 3})
	a := d.Array
	if a == nil || a.Missing != 1 || a.Min != "1" || a.Max != "Infinity" || a.Histogram.High != "3" ||
		!cmp.Equal(a.Shape, []int64{4}) || !cmp.Equal(a.Cells, []inspect.Row{{Cells: []string{"Infinity"}}}) {
		t.Errorf("the array is %+v", a)
	}
}

// TestLookAtItems: of properties with a getter the name is shown, and a proxy is not asked.
func TestLookAtItems(t *testing.T) {
	const text = `const v = new Map([['k', { a: [1, { b: new Set(['x']) }] }], [1, 'y'.repeat(400)]])
v.get('k').self = v.get('k')
Object.defineProperty(v.get('k'), 'got', { enumerable: true, get() { throw new Error('called') } })
`
	root := looked(t, text, "v", inspect.Place{}).Tree.Root
	if root.Type != "Map" || *root.Size != 2 || root.Items[0].Key != "'k'" || root.Items[1].Key != "1" {
		t.Fatalf("the root is %+v", root)
	}
	fields := root.Items[0].Items
	if got := fields[0].Items[1].Items[0].Items[0].Text; got != "'x'" {
		t.Errorf("the element of the set is %s", got)
	}
	if fields[1].Text != "[Circular]" || fields[2].Text != "[Getter]" {
		t.Errorf("the fields are %+v", fields)
	}
	part := looked(t, text, "v", inspect.Place{Path: []int{0, 0, 1}}).Tree.Root
	if part.Type != "Object" || part.Items[0].Key != "b" {
		t.Errorf("the part is %+v", part)
	}
}
