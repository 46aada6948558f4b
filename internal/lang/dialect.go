package lang

// Dialect names the language a block is written in, or a variant of it. "" means Default.
type Dialect string

// Default is the dialect of blocks that name none.
const Default = Python

// These are the dialects of this package's languages.
const (
	Python     Dialect = "python"     // plain Python
	IPython    Dialect = "ipython"    // Python with line magics, cell magics and shell escapes
	JavaScript Dialect = "javascript" // a script of JavaScript
	ESM        Dialect = "esm"        // a module of JavaScript: strict, with import and export
	TypeScript Dialect = "typescript"
	TSX        Dialect = "tsx"  // TypeScript with JSX
	Bash       Dialect = "bash" // blocks of other shells are read as Bash
)

// SpaceJS is the space of JavaScript and TypeScript, whose names are judged apart before a program runs.
const SpaceJS = "js"
