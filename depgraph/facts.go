package depgraph

import "strings"

// A Key names something a node reads or writes: a space, a colon, a name.
// Spaces: var, file, dir, env, module, load, held, rng, conf, cwd, display.
type Key string

// Var returns the key of a name in the program's namespace.
func Var(name string) Key { return Key("var:" + name) }

// Space returns the part before the first colon ("var").
func (k Key) Space() string { s, _, _ := strings.Cut(string(k), ":"); return s }

// Name returns the part after the first colon ("x").
func (k Key) Name() string { _, n, _ := strings.Cut(string(k), ":"); return n }

// Dialect is the language a block is written in.
type Dialect string

const (
	Python  Dialect = "python"  // plain Python, 3.10 to 3.14
	IPython Dialect = "ipython" // Python with line magics, cell magics and shell escapes
)

// Kind tells what a node is.
type Kind uint8

const (
	KindStatement Kind = iota // a run of statements that are none of the others
	KindImport                // one import statement
	KindDef                   // one function definition whose evaluation calls nothing
	KindClass                 // one class definition whose evaluation calls nothing
)

// Facts is what the text of one block says.
type Facts struct {
	Code   []byte   // the Python text that is executed: the source itself, or its translation from IPython, line for line
	Nodes  []Node   // in program order; together they cover every statement of the block
	Future []string // features imported from __future__, sorted
	Quiet  bool     // the block ends in a semicolon: its last expression is not a result (IPython)
}

// Node is the unit of execution inside a block. Name lists are sorted and hold no duplicates.
type Node struct {
	Kind       Kind
	Start, End int    // byte range in Facts.Code
	Line       int    // 1-based line of Start in Facts.Code
	EndLine    int    // 1-based line of End
	Tokens     string // the code without layout and comments: equal for two texts exactly when they parse to the same tokens and nesting
	Expr       bool   // the last statement is an expression, so that the node has a value
	Await      bool   // has await, async for or async with at top level

	Defines []string // names that execution may bind
	Certain []string // those of Defines that every path which does not fail has bound at its end: nothing earlier shows through
	Deletes []string // names that execution may unbind
	Uses    []string // names of the namespace (or builtins) that execution may read before calling anything
	Later   []string // names that a function, method, lambda or generator made here may read when it is called
	Rebinds []string // names that such a function may rebind or delete when it is called (global statements)
	Mutates []string // names whose value execution may change in place, as far as the text shows (x.a = , x[i] = , x += , x.append( …)

	MutatesLater []string // the same for what a function, method, lambda or generator made here may do when it is called

	Imports []Import
	Effects []Effect
	Dynamic []Dynamic
}

// Import is one module that a node imports, at execution or later.
type Import struct {
	Module string   // dotted name, "" for "from . import x"
	Level  int      // leading dots of a relative import
	Names  []string // names taken by from; "*" for a star import
	Later  bool     // inside a function: happens when it is called
}

// EffectKind classes what the text shows a node to do outside the namespace.
type EffectKind string

const (
	EffectFile       EffectKind = "file"
	EffectEnviron    EffectKind = "environ"
	EffectCwd        EffectKind = "cwd"
	EffectRandom     EffectKind = "random"
	EffectClock      EffectKind = "clock"
	EffectNetwork    EffectKind = "network"
	EffectSubprocess EffectKind = "subprocess"
	EffectInput      EffectKind = "input"
)

// Effect is an effect visible in the source.
type Effect struct {
	Kind  EffectKind
	What  string // the dotted name as written: "os.environ", "pd.read_csv"
	Arg   string // the first argument where it is a string literal ("data.csv"), else ""
	Line  int    // 1-based in Facts.Code
	Later bool   // inside a function
}

// Dynamic is a construct that can read or bind names the text does not show.
type Dynamic struct {
	What  string // "eval", "exec", "globals", "locals", "vars", "import *", "query @", "setattr", …
	Line  int
	Later bool
}

// SyntaxError reports a block that does not parse.
type SyntaxError struct {
	Line, Column int // 1-based; Column in runes
	Msg          string
}
