package page

import (
	"cmp"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// variable is a name of the program with the value that it has after a step.
type variable struct {
	Name   string
	Value  *state.ValueInfo
	Digest state.Digest
	Block  state.BlockID // that bound it last
	By     string        // the node of it
	Stale  bool
}

// values lists the variables of the program after a step.
func (v *view) values() error {
	d, err := v.snapshot()
	if err != nil {
		return err
	}
	v.Name, v.Title, v.Data = "values", "Values", valuesOf(d)
	return nil
}

// valuesOf returns the variables of the program, in the order of their names.
func valuesOf(d *query.Snapshot) []variable {
	return slices.SortedFunc(maps.Values(variablesOf(d)),
		func(a, b variable) int { return cmp.Compare(a.Name, b.Name) })
}

// variablesOf returns the variables of the program, by name.
func variablesOf(d *query.Snapshot) map[string]variable {
	found := map[string]variable{}
	for _, b := range d.Blocks {
		for _, n := range b.Nodes {
			for _, w := range n.Writes {
				name, is := strings.CutPrefix(string(w.Key), "var:")
				if is && w.Digest == state.Absent {
					delete(found, name)
				} else if is {
					found[name] = variable{Name: name, Value: w.Value, Digest: w.Digest, Block: b.ID, By: n.Name,
						Stale: w.Stale}
				}
			}
		}
	}
	return found
}

// value shows one variable, or a part of it: what an interpreter says of it, and its text.
func (v *view) value() error {
	name, at := v.query.Get("name"), v.placeIn()
	d, err := ask[api.QueryValue](v.r.Context(), v.p, &verb.Query{
		InSession: verb.In(v.Session), Moment: verb.Moment{AtStep: v.AtStep}, Value: name, Place: &at,
	})
	data := &valueData{QueryValue: d}
	if err != nil { // its text is not recorded, perhaps; what is known of it may be
		if data.QueryValue, err = v.described(name, err); err != nil {
			return err
		}
	}
	data.look(&looking{v, name, at})
	if symbol, err := ask[api.QuerySymbol](v.r.Context(), v.p, &verb.Query{
		InSession: verb.In(v.Session), Moment: verb.Moment{AtStep: v.AtStep}, Symbol: name,
	}); err == nil {
		data.Symbol = symbol
	}
	v.Name, v.Title, v.Data = "value", name, data
	return nil
}

// described is what is recorded of a value whose text cannot be had; why says why.
func (v *view) described(name string, why error) (*api.QueryValue, error) {
	d, err := v.snapshot()
	if err != nil {
		return nil, err
	}
	x, known := variablesOf(d)[name]
	if !known || x.Value == nil {
		return nil, why
	}
	return &api.QueryValue{ValueView: &query.ValueView{Name: name, Digest: x.Digest, By: x.By,
		Type: x.Value.Type, Shape: x.Value.Shape, Bytes: x.Value.Bytes, Text: why.Error()}}, nil
}

// valueData is what the view of a value shows.
type valueData struct {
	*api.QueryValue
	Symbol *api.QuerySymbol // nil if it is not known
	Within *within          // nil: the whole value is shown
	Grid   *grid            // for a table or an array; nil: it is neither
	Tree   *nested          // nil: it is no nested data
	Items  []span           // for nested data
	Image  template.URL     // "": it is none
	Whole  string           // the text, or its beginning
	Cut    bool             // Whole is not all
}

// mostText is how much of the text of a value is shown, in bytes.
const mostText = 20_000

// look adds what the description says.
func (d *valueData) look(l *looking) {
	d.Within, d.Whole = l.within(), d.Text
	if is := d.Description; is != nil {
		switch {
		case is.Table != nil && len(is.Table.Columns) > 0:
			d.Grid = l.table(is.Table)
		case is.Array != nil:
			d.Grid = l.array(is.Array)
		case is.Tree != nil && len(is.Tree.Root.Items) > 0:
			root, items := l.tree(is.Tree)
			d.Tree, d.Items = &root, []span{items}
		case is.Tree != nil && is.Tree.Root.Text != "": // a text, without the quotes and escapes of its notation
			d.Whole = is.Tree.Root.Text
		case is.Image != nil:
			d.Image = picture(is.Image)
		}
	}
	if d.Cut = len(d.Whole) > mostText; d.Cut {
		d.Whole = strings.ToValidUTF8(d.Whole[:mostText], "")
	}
}

// Folded reports whether the text is shown folded, since something else shows the value.
func (d *valueData) Folded() bool { return d.Grid != nil || d.Tree != nil || d.Image != "" }

// evidence shows the code, the data and the edits that a value, a block or a file depends on.
func (v *view) evidence() error {
	of := v.query.Get("of")
	d, err := ask[api.Evidence](v.r.Context(), v.p, &verb.Evidence{
		InSession: verb.In(v.Session), Moment: verb.Moment{AtStep: v.AtStep}, Of: of,
	})
	if err != nil {
		return err
	}
	v.Name, v.Title, v.Data = "evidence", "Evidence of "+of, d
	return nil
}
