package lang

import "cmp"

// Language is a row of the table.
type Language struct {
	// Name is that of the first variant: "python".
	Name string
	// Space begins the names of the language's programs in keys ("js" in "var:js:rows"); "": they have no prefix.
	Space string
	// Comment begins a comment that lasts to the end of its line. Before "%%" it begins a cell.
	Comment string
	// Widest is the dialect of a text of which only the language is known: its grammar reads most texts of the others.
	Widest Dialect
	// Variants are the dialects, the usual one first.
	Variants []Variant
}

// Variant is what is known of a dialect.
type Variant struct {
	Dialect  Dialect
	Language *Language // set by Register

	// Title is for people, where languages are offered; "": this one is not among them.
	Title string
	// Names are those that fences, notebooks, comments and users have for it, in lower case; the shortest usual one
	// first. Versioned is one that a version may follow: "python" in "python3.12".
	Names     []string
	Versioned string
	// Extensions are those of its files; the first is that of a new one. With none, a new file has that of Default.
	Extensions []string
	// Programs are those of a line "#!" that run it, as patterns of path.Match.
	Programs []string
	// Alone says that the language's interpreter runs a file of it by itself.
	Alone bool

	// Cell is the dialect of the cells of a notebook with blocks of this one; "": this one, which has a Kernel.
	Cell   Dialect
	Kernel Kernel
	// Kernels are names of kernels whose notebooks are of the dialect, whatever else their metadata say.
	Kernels []string
	// Magics are the cell magics of IPython whose cells hold it; the first is written.
	Magics []string
}

// Kernel is the kernel of a new notebook, as its metadata name it.
type Kernel struct{ Title, Language, Name string }

func (v *Variant) cell() Dialect { return cmp.Or(v.Cell, v.Dialect) }
