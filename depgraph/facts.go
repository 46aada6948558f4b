package depgraph

import (
	"fmt"
	"strings"

	"github.com/xstate-engine/xstate/internal/lang"
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

// In returns the key in the space of a language: "var:js:rows" is rows in JavaScript. "" is that of Python.
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
	switch _, ok := lang.InSpace(space); {
	case space == "" || !ok:
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

// These keys mean all names of a space, if the text does not show the name.
const (
	AnyVar  Key = "var:*"
	AnyFile Key = "file:*"
	AnyEnv  Key = "env:*"
)

// Dialect names the language a block is written in. "" is Python.
type Dialect = lang.Dialect

// Kind is the kind of a node.
type Kind uint8

const (
	KindStatement Kind = iota // one or more statements of no other kind
	KindImport                // one import statement
	KindDef                   // one function definition whose evaluation calls nothing
	KindClass                 // one class definition whose evaluation calls nothing
	KindEnd                   // the end of the program: what it left for then runs, and it has no text
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

	// names that the value of the last statement is bound to, unless it is none, as IPython's "_"; all are in Defines
	Keeps []string

	Part *Part // nil: the text of the node is at the top level of its block
}

// Import is one module that a node imports, either when it runs or later.
type Import struct {
	Module string   // dotted name, "" for "from . import x"
	Level  int      // leading dots of a relative import
	Names  []string // names that a from import takes; "*" for a star import
	Later  bool     // inside a function: the import happens in a call
}

// Label names the node for people if it is not a statement of its block: "end", or its place in a function.
func (n *Node) Label() string {
	if n.Kind == KindEnd {
		return LabelEnd
	}
	return n.Part.Label()
}

// LabelEnd is the label of the end of the program.
const LabelEnd = "end"

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

// EffectsByName returns the kinds of the effects of names, which are separated by blanks.
func EffectsByName(kinds map[EffectKind]string) map[string]EffectKind {
	found := map[string]EffectKind{}
	for kind, names := range kinds {
		for _, name := range strings.Fields(names) {
			found[name] = kind
		}
	}
	return found
}

// Effect is an effect visible in the source.
type Effect struct {
	Kind  EffectKind
	What  string // the dotted name as written: "os.environ", "pd.read_csv"
	Arg   string // the first argument if it is a string literal ("data.csv"), else ""
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
	Code         []byte // the text that the language itself can be asked about, line for line as the block; nil if none
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Msg)
}

// A Part locates the text of a node that is not at the top level of its block. A function that the program calls once,
// in a separate statement, is unfolded: the statements of its body are nodes, in the place of the call. Its variables
// are names of the program, spelled FUNCTION.NAME.
type Part struct {
	Function string `json:"function"` // whose body the text is of; "" for a statement of the program
	Number   int    `json:"number"`   // the node's number in the body, from 1; 0 for a call
	Block    int    `json:"-"`        // index in the program of the block that holds the text
	End      int    `json:"-"`        // the end of Function's text in its block; 0 if there is none

	Locals  []string `json:"locals"`  // names of the text that are variables of Function, as the text spells them
	Deletes []string `json:"deletes"` // those of Locals that the text may delete
	Globals []string `json:"globals"` // names that Function declares global
	Async   bool     `json:"async"`   // Function is a coroutine
	// Returned are names of which one is bound where Function, or one of its callers, has returned before this node.
	Returned []string `json:"returned"`

	// Call is the function that the text calls and that is unfolded; "" if there is none. With Header, which is the
	// text of its definition without the body, the node binds the parameters. Else it uses what the function returned.
	Call   string `json:"call"`
	Header string `json:"header"`
	// Results are the variables in place of Returned, of Function or of Call, if it returns a tuple display.
	Results []string `json:"results"`

	Calls []CallSite `json:"-"` // outermost first: the statements that called Function and its callers
}

// CallSite is a statement that calls a function.
type CallSite struct {
	Block    int    // index in the program
	Line     int    // 1-based in its text
	Function string // that the statement is of; "" for the program
}

// Label names the node in its function ("main[3]"); "" where the node is none of a body.
func (p *Part) Label() string {
	if p == nil || p.Number == 0 {
		return ""
	}
	return fmt.Sprintf("%s[%d]", p.Function, p.Number)
}

// Returned is the variable of a function that is bound once the body has returned.
func Returned(function string) string { return function + ".return" }

// Unfolding says which nodes a program has beside those of its blocks' facts.
type Unfolding struct {
	Nodes map[int][]Node // block → its nodes, if they differ from those of its facts
	Whole map[int]string // block → why a function that it calls is one node, a sentence
}

// Of returns the facts of block i with the nodes that it has in the program.
func (u Unfolding) Of(i int, f *Facts) *Facts {
	nodes, is := u.Nodes[i]
	if !is {
		return f
	}
	own := *f
	own.Nodes = nodes
	return &own
}
