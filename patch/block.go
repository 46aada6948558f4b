package patch

// These are the dialects of a block. They equal those of depgraph/python, which this package may not import.
const (
	Python  = "python"  // plain Python
	IPython = "ipython" // Python with line magics, cell magics and shell escapes
)

// Block is one block of a program, as it comes from a file or an agent.
type Block struct {
	ID      string // the id that the file or the session gives, or ""
	Title   string // a title or name given in the file, else the one function or class it defines, else ""
	Dialect string // Python or IPython
	Source  string // the code verbatim, without its final line end
	Line    int    // 1-based line in the file at which Source starts; 0 if it comes from no file
}

// same reports whether two blocks have equal content. Their ids and places do not matter.
func (b Block) same(o Block) bool {
	return b.Source == o.Source && b.Title == o.Title && b.Dialect == o.Dialect
}
