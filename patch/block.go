package patch

// Dialects of a block. They equal depgraph's, which this package may not import.
const (
	Python  = "python"  // plain Python
	IPython = "ipython" // Python with line magics, cell magics and shell escapes
)

// Block is one block of a program, as a file or an agent states it.
type Block struct {
	ID      string // the id given in the file or by the session; "" when the file gives none
	Title   string // a title or name given in the file, else the one function or class it defines, else ""
	Dialect string // Python or IPython
	Source  string // the code verbatim, without the line end of its last line
	Line    int    // 1-based line in the file at which Source starts; 0 when it comes from no file
}

// same reports whether two blocks say the same; where they stand and what they are called by does not count.
func (b Block) same(o Block) bool {
	return b.Source == o.Source && b.Title == o.Title && b.Dialect == o.Dialect
}
