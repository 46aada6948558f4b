package python

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/python/pytree"
)

// walker goes over the syntax tree of one block once. It fills the scope table and the facts of each node. It also
// collects the dotted names that may be effects; resolveChains looks at them when all names are known.
type walker struct {
	scopes
	text  string
	nodes []pytree.Node
	names *names

	facts  *depgraph.Facts
	node   int // index of the current node
	await  bool
	atOnce bool // in the arguments of a translated magic, which calls the functions it receives
	chains []chain
	spans  [][2]uint32       // the tree nodes of each node: first, and end
	alias  map[int32]string  // symbol → dotted name it was imported as
	future bool              // from __future__ import annotations
	locals map[string]string // names of an unfolded function → names of the program, see Unfold

	err   *depgraph.SyntaxError
	errAt int
	flow  flow
	depth int
	deep  bool     // too deep
	lines []uint32 // start of each line
}

// flow describes the context of a statement. The walker saves and resets it around functions and classes.
type flow struct {
	loops    int
	function bool
	async    bool
	iterable int // the number of enclosing iterables of comprehensions
}

// maxDepth limits the nesting of expressions and statements. CPython's parser gives up at 6000 or below.
const maxDepth = 5000

// kernelPrefix starts the names through which translated magics call the kernel. Programs have no such names, so facts
// leave them out.
const kernelPrefix = "__xstate_"

func newWalker(text string, nodes []pytree.Node) *walker {
	w := &walker{text: text, nodes: nodes, names: newNames(len(text)), facts: &depgraph.Facts{}}
	w.cur, w.cell = noIndex, noIndex
	w.syms = make([]symbol, 0, len(text)/40+16)
	w.all = make([]scope, 0, len(text)/500+4)
	return w
}

// child returns the first child of node i. If there is none, the result is the end of i.
func (w *walker) child(i uint32) uint32 { return i + 1 }

func (w *walker) sym(i uint32) pytree.Symbol { return w.nodes[i].Sym }
func (w *walker) next(i uint32) uint32       { return w.nodes[i].Next }
func (w *walker) end(i uint32) uint32        { return w.nodes[i].Next }

// src returns the text of node i.
func (w *walker) src(i uint32) string {
	n := &w.nodes[i]
	return w.text[n.Start:n.End]
}

// fail records an error. The walker keeps the error that comes first in the text.
func (w *walker) fail(at uint32, format string, args ...any) {
	if w.err == nil || int(at) < w.errAt {
		w.errAt = int(at)
		line, column := w.position(at)
		w.err = &depgraph.SyntaxError{Line: line, Column: column, Msg: fmt.Sprintf(format, args...)}
	}
}

func (w *walker) failNode(i uint32, format string, args ...any) {
	w.fail(w.nodes[i].Start, format, args...)
}

// line returns the 1-based line of a byte.
func (w *walker) line(at uint32) int {
	if w.lines == nil {
		w.lines = lineStarts(w.text)
	}
	return sort.Search(len(w.lines), func(i int) bool { return w.lines[i] > at })
}

// position returns the 1-based line and column, in runes, of a byte.
func (w *walker) position(at uint32) (line, column int) {
	line = w.line(at)
	return line, utf8.RuneCountInString(w.text[w.lines[line-1]:at]) + 1
}

func lineStarts(text string) []uint32 {
	starts := append(make([]uint32, 0, len(text)/32+1), 0)
	for at := 0; ; {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			return starts
		}
		at += n + 1
		starts = append(starts, uint32(at))
	}
}

// ident returns the number of the name at node i, mangled for the current scope.
func (w *walker) ident(i uint32) int32 {
	text := w.src(i)
	if len(text) > 2 && text[0] == '_' && text[1] == '_' {
		text = mangle(w.all[w.cur].private, text)
	}
	if own, is := w.locals[text]; is {
		kinds := special[text]
		if id, known := w.names.ids[text]; known {
			kinds |= w.names.kinds[id]
		}
		id, plain := w.intern(i, own), w.intern(i, text)
		w.names.kinds[id] |= kinds
		w.plain[id] = plain
		return id
	}
	id := w.intern(i, text)
	if w.names.kinds[id]&oddName != 0 {
		w.dynamic("unnormalised name", w.nodes[i].Start)
	}
	return id
}

func (w *walker) intern(i uint32, text string) int32 {
	id, grown := w.names.id(text)
	if grown {
		w.tops = append(w.tops, noIndex)
		if text == superClass {
			w.cell = id
		}
	}
	if k := w.names.kinds[id]; k&(keywordName|badName) != 0 {
		if k&badName != 0 {
			w.failNode(i, "invalid character in %s", text)
		} else {
			w.failNode(i, "%s is a keyword", text)
		}
	}
	return id
}

// bindName binds the name at node i in the current scope.
func (w *walker) bindName(i uint32, sort symbolFlags) int32 { return w.bind(w.ident(i), sort) }

// useName reads the name at node i and returns its symbol.
func (w *walker) useName(i uint32) int32 {
	id := w.ident(i)
	s := w.use(id)
	if k := w.names.kinds[id]; k != 0 {
		w.noteName(i, s, k, false)
	}
	return s
}

// deeper fails on nesting that would exhaust the stack.
func (w *walker) deeper(i uint32) bool {
	w.depth++
	if w.depth > maxDepth {
		w.failNode(i, "too deeply nested")
		w.deep = true
		return false
	}
	return true
}
