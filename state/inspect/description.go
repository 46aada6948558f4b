package inspect

// Place is the part of a value that a caller looks at. The zero Place is its beginning.
type Place struct {
	Row    int   `json:"row"`    // the first row of a table or array, or item of nested data
	Column int   `json:"column"` // the first column
	Path   []int `json:"path"`   // into nested data: at each level the position of an item, from 0
}

// Beginning reports whether the place is the beginning of the value.
func (p *Place) Beginning() bool { return p.Row == 0 && p.Column == 0 && len(p.Path) == 0 }

// Limits are the most that a description holds.
type Limits struct {
	Rows    int `json:"rows"`
	Columns int `json:"columns"`
	Items   int `json:"items"` // in nested data, at all levels together
	Text    int `json:"text"`  // characters of a cell, or of an item's text
	Whole   int `json:"whole"` // characters of a text that is the value itself
	Bins    int `json:"bins"`  // in a histogram
	Common  int `json:"common"`
}

// Standard are the limits of all descriptions.
var Standard = Limits{Rows: 50, Columns: 60, Items: 500, Text: 200, Whole: 10_000, Bins: 20, Common: 5}

// Description is what an interpreter says of a value. One field is set.
type Description struct {
	Table *Table `json:"table,omitempty"`
	Array *Array `json:"array,omitempty"`
	Tree  *Tree  `json:"tree,omitempty"`
	Image *Image `json:"image,omitempty"`
}

// Table is a page of a table: a DataFrame, a Series, an Arrow table, or records with the same fields.
type Table struct {
	Rows    int64    `json:"rows"`  // in the whole table
	Width   int      `json:"width"` // columns of the whole table, without its index
	From    int64    `json:"from"`  // the first row of the page
	Left    int      `json:"left"`  // the first column of the page
	Columns []Column `json:"columns"`
	Cells   []Row    `json:"cells"`
}

// Column is a column of a table, with its summary.
type Column struct {
	Name  string `json:"name"`
	Index bool   `json:"index,omitempty"` // it is a level of the table's index, and has no summary
	Summary
}

// Row has the texts of a row's cells, as many as the page has columns.
type Row struct {
	Cells []string `json:"cells"`
}

// Summary says which values a column or an array holds.
type Summary struct {
	Type      string     `json:"type"`
	Missing   int64      `json:"missing,omitempty"`  // NaN, None, NaT, null, or masked
	Distinct  *int64     `json:"distinct,omitempty"` // values, without missing ones; nil: not counted
	Min       string     `json:"min,omitempty"`
	Max       string     `json:"max,omitempty"`
	Mean      string     `json:"mean,omitempty"`
	Common    []Count    `json:"common,omitempty"` // the most frequent first
	Histogram *Histogram `json:"histogram,omitempty"`
	// Sampled is of how many values Distinct, Common and Histogram are; 0: of all.
	Sampled int64 `json:"sampled,omitempty"`
}

// Count is how often a value occurs.
type Count struct {
	Text  string `json:"text"`
	Count int64  `json:"count"`
}

// Histogram counts values in bins of equal width between Low and High. Values that are not finite are left out.
type Histogram struct {
	Low    string  `json:"low"`
	High   string  `json:"high"`
	Counts []int64 `json:"counts"`
}

// Array is a page of an array of numbers. Of more than two dimensions it shows the last two.
type Array struct {
	Shape []int64 `json:"shape"`
	Slice []int64 `json:"slice,omitempty"` // the indices of the page in the dimensions before the last two
	From  int64   `json:"from"`
	Left  int     `json:"left"`
	Summary
	Cells []Row `json:"cells"`
}

// Rows is how many rows the array has: its elements, if it has one dimension.
func (a *Array) Rows() int64 {
	switch n := len(a.Shape); n {
	case 0:
		return 1
	case 1:
		return a.Shape[0]
	default:
		return a.Shape[n-2]
	}
}

// Tree is nested data.
type Tree struct {
	From int64 `json:"from"` // the position of the first item
	Root Item  `json:"root"`
}

// Item is a value in nested data.
type Item struct {
	Key   string `json:"key,omitempty"` // in the notation of the language
	Type  string `json:"type"`
	Text  string `json:"text,omitempty"`
	Size  *int64 `json:"size,omitempty"` // elements, or characters of a text
	Items []Item `json:"items,omitempty"`
	More  int64  `json:"more,omitempty"`  // items that are not shown
	Opens bool   `json:"opens,omitempty"` // a path leads to a description of its own
}

// Image is a picture.
type Image struct {
	Media  string `json:"media"` // such as image/png
	Data   string `json:"data"`  // in base64
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
}
