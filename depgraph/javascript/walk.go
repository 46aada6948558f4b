package javascript

import (
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/xstate-engine/xstate/depgraph"
	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

// walker goes over the syntax tree of one block once. It fills the scope table and the facts of each statement.
type walker struct {
	scopes
	text  string
	nodes []js.Node
	ids   map[string]int32
	texts []string // by name

	facts      *depgraph.Facts
	statements []statement
	now        *statement // the current one

	typed  bool // the dialect has types
	strict bool
	this   meaning
	depth  int
	lines  []uint32 // start of each line
	err    *depgraph.SyntaxError
	errAt  uint32

	traced bool
	trace  []reference // for tests
}

// meaning says what this means.
type meaning uint8

const (
	ownThis    meaning = iota // an object of the program's, or undefined
	topThis                   // the top of a sloppy script
	sloppyThis                // a sloppy function: called without an object, it is the global object
	methodThis                // a sloppy function that the text makes a member of something
)

// reference is a mention of a name, for tests.
type reference struct {
	at                            uint32
	global, later, reads, assigns bool
}

// maxDepth limits the nesting of expressions and statements.
const maxDepth = 20000

func newWalker(text string, nodes []js.Node) *walker {
	return &walker{
		text: text, nodes: nodes, ids: make(map[string]int32, len(text)/64+16), facts: &depgraph.Facts{},
		scopes: scopes{syms: make([]symbol, 0, len(text)/40+16)},
	}
}

func (w *walker) kind(i uint32) js.Kind { return w.nodes[i].Kind }
func (w *walker) end(i uint32) uint32   { return w.nodes[i].Next }

// next returns the sibling after node i, or the end of its parent.
func (w *walker) next(i uint32) uint32 { return w.nodes[i].Next }

// src returns the text of node i.
func (w *walker) src(i uint32) string { return w.text[w.nodes[i].Start:w.nodes[i].End] }

// field returns the first child of node i in a field, or 0.
func (w *walker) field(i uint32, f js.Field) uint32 {
	for c := i + 1; c < w.end(i); c = w.next(c) {
		if w.nodes[c].Field == f {
			return c
		}
	}
	return 0
}

// find returns the first child of node i of a kind, or 0.
func (w *walker) find(i uint32, k js.Kind) uint32 {
	for c := i + 1; c < w.end(i); c = w.next(c) {
		if w.kind(c) == k {
			return c
		}
	}
	return 0
}

// has reports whether a token is a child of node i.
func (w *walker) has(i uint32, token string) bool {
	for c := i + 1; c < w.end(i); c = w.next(c) {
		if w.kind(c) == js.Token && w.src(c) == token {
			return true
		}
	}
	return false
}

// inner returns the first child of node i that is not a token, or 0.
func (w *walker) inner(i uint32) uint32 {
	for c := i + 1; c < w.end(i); c = w.next(c) {
		if w.kind(c) != js.Token {
			return c
		}
	}
	return 0
}

// fail records an error. The walker keeps the error that comes first in the text.
func (w *walker) fail(i uint32, format string, args ...any) {
	if at := w.nodes[i].Start; w.err == nil || at < w.errAt {
		w.errAt = at
		w.err = syntaxError(w.text, int(at), format, args...)
	}
}

// line returns the 1-based line of a byte.
func (w *walker) line(at uint32) int {
	if w.lines == nil {
		w.lines = []uint32{0}
		for i := range len(w.text) {
			if w.text[i] == '\n' {
				w.lines = append(w.lines, uint32(i)+1)
			}
		}
	}
	return sort.Search(len(w.lines), func(i int) bool { return w.lines[i] > at })
}

// deeper fails on nesting that would exhaust the stack.
func (w *walker) deeper(i uint32) bool {
	w.depth++
	if w.depth > maxDepth {
		w.fail(i, "too deeply nested")
		return false
	}
	return true
}

// name returns the number of the name at node i.
func (w *walker) name(i uint32) int32 { return w.intern(w.src(i)) }

func (w *walker) intern(text string) int32 {
	if strings.Contains(text, `\`) {
		text = unescaped(text)
	}
	id, known := w.ids[text]
	if !known {
		id = int32(len(w.texts))
		w.ids[text] = id
		w.texts = append(w.texts, text)
		w.tops, w.tree = append(w.tops, noIndex), append(w.tree, noIndex)
	}
	return id
}

// unescaped returns a name with its escapes replaced: \u0061 and \u{61} are the letter a.
func unescaped(text string) string {
	var b strings.Builder
	for text != "" {
		if hex, escape := strings.CutPrefix(text, `\u`); escape {
			n := min(4, len(hex))
			digits, rest := hex[:n], hex[n:]
			if inner, braced := strings.CutPrefix(hex, "{"); braced {
				digits, rest, _ = strings.Cut(inner, "}")
			}
			if r, err := strconv.ParseUint(digits, 16, 32); err == nil {
				b.WriteRune(rune(r))
				text = rest
				continue
			}
		}
		_, n := utf8.DecodeRuneInString(text)
		b.WriteString(text[:n])
		text = text[n:]
	}
	return b.String()
}

// symbolAt returns the symbol that the name at node i means here.
func (w *walker) symbolAt(i uint32) int32 { return w.resolve(w.name(i)) }

// note traces a reference, for tests.
func (w *walker) note(i uint32, s int32, reads, assigns bool) {
	if w.traced {
		w.trace = append(w.trace, reference{w.nodes[i].Start, w.syms[s].scope == 0, w.later(), reads, assigns})
	}
}

// useName reads the name at node i and returns its symbol.
func (w *walker) useName(i uint32) int32 {
	s := w.symbolAt(i)
	w.note(i, s, true, false)
	w.use(s)
	return s
}

// bindName binds the name at node i.
func (w *walker) bindName(i uint32) {
	s := w.symbolAt(i)
	w.note(i, s, false, true)
	w.bind(s)
}

// useText reads a name that the text does not spell as one.
func (w *walker) useText(name string) { w.use(w.resolve(w.intern(name))) }

// useStrict is the feature of a script that asks for strict mode, for itself and what follows.
const useStrict = "use strict"

// role says how a statement at top level becomes part of a node.
type role uint8

const (
	plainRole    role = iota
	importRole        // hoisted, alone
	functionRole      // hoisted, alone
	requireRole       // alone
	classRole         // alone
)

// statement is the facts of one statement at top level, before statements become nodes.
type statement struct {
	depgraph.Node
	tree  uint32
	role  role
	vars  []string // names that var binds somewhere in it, outside of functions
	calls bool     // it calls something at once
}
