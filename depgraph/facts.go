package depgraph

import (
	"fmt"
	"strings"
)

// A Key names something that nodes read or write: a space, a colon, a name. docs/json.md
// lists the spaces.
type Key string

// Var returns the key of a name in the program's namespace.
func Var(name string) Key { return Key("var:" + name) }

// Space returns the part before the first colon ("var").
func (k Key) Space() string { s, _, _ := strings.Cut(string(k), ":"); return s }

// Name returns the part after the first colon ("x").
func (k Key) Name() string { _, n, _ := strings.Cut(string(k), ":"); return n }

// Spaces of languages, in which names of programs lie that are not Python's: "var:js:rows" is rows in JavaScript.
const (
	SpaceJS   = "js" // JavaScript and TypeScript
	SpaceBash = "sh"
)

// In returns the key in the space of a language; "" is that of Python.
func (k Key) In(space string) Key {
	kind, name, named := strings.Cut(string(k), ":")
	switch {
	case space == "":
		return k
	case !named:
		return Key(kind + ":" + space)
	}
	return Key(kind + ":" + space + ":" + name)
}

// Cut returns the language's space that a key lies in, and the key without it.
func (k Key) Cut() (space string, plain Key) {
	kind, name, _ := strings.Cut(string(k), ":")
	space, rest, named := strings.Cut(name, ":")
	switch {
	case space != SpaceJS && space != SpaceBash:
		return "", k
	case !named:
		return space, Key(kind)
	}
	return space, Key(kind + ":" + rest)
}

// Listing returns the directory that a dir: key lists, and which of the names in it count: all, or for "dir:lib/*-info"
// those of installed packages in lib. importlib.metadata looks at no others.
func (k Key) Listing() (dir string, counts func(name string) bool) {
	dir, packages := strings.CutSuffix("/"+k.Name(), "/*-info")
	if !packages {
		return k.Name(), func(string) bool { return true }
	}
	if dir = strings.TrimPrefix(dir, "/"); dir == "" {
		dir = "."
	}
	return dir, func(name string) bool {
		name = strings.ToLower(name)
		return strings.HasSuffix(name, ".dist-info") || strings.HasSuffix(name, ".egg-info")
	}
}

// These keys stand for all names of a space, where the text does not show the name.
const (
	AnyVar  Key = "var:*"
	AnyFile Key = "file:*"
	AnyEnv  Key = "env:*"
)

// Dialect names the language a block is written in. Each language's analyser lists the dialects it reads.
type Dialect string

// Kind is the kind of a node.
type Kind uint8

const (
	KindStatement Kind = iota // one or more statements of no other kind
	KindImport                // one import statement
	KindDef                   // one function definition whose evaluation calls nothing
	KindClass                 // one class definition whose evaluation calls nothing
)

// Facts is what the text of one block says, and what Build needs to know about it.
type Facts struct {
	Code     []byte   // the text that is executed: the source itself, or its translation from a dialect, line for line
	Nodes    []Node   // in program order; together they cover every statement of the block
	Features []string // language features that the text turns on for itself and for later blocks, sorted
	Quiet    bool     // the value of the last expression is not a result of the block
	Calls    []string // functions that a statement of the block does nothing but call, see Part; in order
}

// Tokens returns the code of all nodes without layout and comments.
func (f *Facts) Tokens() string {
	var b strings.Builder
	for i := range f.Nodes {
		b.WriteString(f.Nodes[i].Tokens)
	}
	return b.String()
}

// Node is the unit of execution inside a block. Name lists are sorted and hold no duplicates.
type Node struct {
	Kind       Kind
	Start, End int    // byte range in Facts.Code
	Line       int    // 1-based line of Start in Facts.Code
	EndLine    int    // 1-based line of End
	Tokens     string // the code without layout and comments; equal for two texts if and only if they parse alike
	Expr       bool   // the last statement is an expression, so the node has a value
	Await      bool   // has await, async for or async with at top level

	Defines []string // names that execution may bind
	// those of Defines that every path that does not fail has bound at its end; they hide earlier writers
	Certain []string
	Deletes []string // names that execution may unbind
	Uses    []string // names of the namespace (or builtins) that execution may read before calling anything
	Later   []string // names that a function, method, lambda or generator made here may read when called
	Rebinds []string // names that such a function may rebind or delete when it is called (global statements)
	// names whose value execution may change in place, as the text shows: x.a = , x[i] = , x += , x.append(…)
	Mutates []string

	MutatesLater []string // the same, for calls of a function, method, lambda or generator made here

	Imports []Import
	Effects []Effect
	Dynamic []Dynamic

	Part *Part // nil: the text of the node stands at the top level of its block
}

// Import is one module that a node imports, either when it runs or later.
type Import struct {
	Module string   // dotted name, "" for "from . import x"
	Level  int      // leading dots of a relative import
	Names  []string // names that a from import takes; "*" for a star import
	Later  bool     // inside a function: the import happens in a call
}

// EffectKind classifies the effects outside the namespace that the text shows.
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
	Key   Key    // what the effect accesses; "" if no order of nodes makes the effect repeatable (clock, network)
	Mode  Mode   // how it accesses Key
	Line  int    // 1-based in Facts.Code
	Later bool   // inside a function
}

// Mode is how an effect accesses its key.
type Mode uint8

const (
	Updates Mode = iota // reads and writes; also used where the text does not show which
	Reads
	Writes // writes without fail, whatever the key held before
)

// Dynamic is a construct that can read or bind names that the text does not show.
type Dynamic struct {
	What  string // the construct, as the language's analyser names it: "eval", "globals", "import *"
	Line  int
	Later bool
	Reads bool // it may read any name
	Binds bool // it may bind any name
}

// SyntaxError reports a block that does not parse.
type SyntaxError struct {
	Line, Column int // 1-based; Column in runes
	Msg          string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Msg)
}
