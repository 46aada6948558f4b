package python

import (
	"bytes"
	"errors"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/python/pytree"
	"github.com/xstate-engine/xstate/internal/lang"
)

// These are the dialects that this package reads.
const (
	Plain   = lang.Python // 3.10 to 3.14
	IPython = lang.IPython
)

// Analyze returns the facts of a block. The error is a *depgraph.SyntaxError if the block does not parse. Analyze never
// guesses about such a block.
func Analyze(src []byte, dialect depgraph.Dialect) (*depgraph.Facts, error) {
	return facts(src, dialect, runs)
}

// grain says how statements that are neither imports nor definitions become nodes.
type grain uint8

const (
	runs          grain = iota // consecutive statements are one node
	eachStatement              // each statement is a node
)

func facts(src []byte, dialect depgraph.Dialect, g grain) (*depgraph.Facts, error) {
	if err := checkText(src); err != nil {
		return nil, err
	}
	code := src
	if dialect == IPython {
		translated, err := translate(string(src))
		if err != nil {
			return nil, err
		}
		code = []byte(translated)
	}
	w, err := analyze(code, g)
	if err != nil {
		return nil, err
	}
	w.facts.Quiet = w.facts.Quiet && dialect == IPython // only there, a semicolon at the end hides a result
	return w.facts, nil
}

// analyze walks the Python text of a block.
func analyze(code []byte, g grain) (*walker, error) {
	tree, err := pytree.Parse(code)
	if err != nil {
		bad, at := parseError(string(code), err), &pytree.Error{}
		if errors.As(err, &at) && !at.Deep { // CPython may not survive nesting
			bad.Code = bytes.Clone(code)
		}
		return nil, bad
	}
	defer tree.Close()
	w := newWalker(string(code), tree.Nodes)
	w.facts.Code = bytes.Clone(code)
	w.open(moduleScope, noIndex, 0)
	w.scanImports()
	w.checkTopIndentation()
	w.statements(g)
	w.close()
	w.checkNonlocals()
	if w.err != nil {
		if !w.deep { // as above
			w.err.Code = w.facts.Code
		}
		return nil, w.err
	}
	w.resolveChains()
	w.addTokens()
	w.nodes = nil // Close frees them
	return w, nil
}

func checkText(src []byte) error {
	at, msg := bytes.IndexByte(src, 0), "source code cannot contain null bytes"
	if at < 0 {
		if utf8.Valid(src) {
			return nil
		}
		msg = "source code is not valid UTF-8"
		for at = 0; ; {
			r, n := utf8.DecodeRune(src[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
	}
	line := bytes.Count(src[:at], []byte("\n")) + 1
	start := bytes.LastIndexByte(src[:at], '\n') + 1
	return &depgraph.SyntaxError{Line: line, Column: utf8.RuneCount(src[start:at]) + 1, Msg: msg}
}

// checkTopIndentation refuses an indented statement at top level.
func (w *walker) checkTopIndentation() {
	for c := w.child(0); c < w.end(0); c = w.next(c) {
		if col, first := w.indent(w.nodes[c].Start); first && col != (column{}) {
			w.failNode(c, "unexpected indent")
		}
	}
}

// checkNonlocals refuses a nonlocal declaration for a name that no enclosing function binds.
func (w *walker) checkNonlocals() {
	for _, name := range w.unfound {
		text := w.names.texts[name]
		for i := range uint32(len(w.nodes)) {
			if w.sym(i) == pytree.Identifier && w.src(i) == text && w.declaresNonlocal(i) {
				w.failNode(i, "no binding for nonlocal %s found", text)
				break
			}
		}
	}
}

// declaresNonlocal reports whether identifier i is in a nonlocal statement.
func (w *walker) declaresNonlocal(i uint32) bool {
	for k := i; k > 0; k-- {
		if s := w.sym(k); s == pytree.NonlocalStatement {
			return w.end(k) > i
		} else if s != pytree.Identifier && s != pytree.Comma && s != pytree.KwNonlocal {
			return false
		}
	}
	return false
}

// statements divides the block into nodes and walks each of them.
func (w *walker) statements(g grain) {
	run := uint32(0) // first statement of the current run, or 0
	last := uint32(0)
	flush := func() {
		if run != 0 {
			w.endNode(depgraph.KindStatement, run, last)
			run = 0
		}
	}
	for c := w.child(0); c < w.end(0); c = w.next(c) {
		if w.sym(c) == pytree.Semicolon {
			continue
		}
		w.noteCalls(c)
		if kind, alone := w.kindOf(c); alone {
			flush()
			w.beginNode()
			w.stmt(c)
			w.endNode(kind, c, c)
			continue
		}
		if run == 0 {
			run = c
			w.beginNode()
		}
		last = c
		w.stmt(c)
		if g == eachStatement {
			flush()
		}
	}
	flush()
}

// kindOf returns the kind of a statement, and whether it is a node alone: imports and definitions are. The function of
// a %%timeit cell belongs to the call that times it.
func (w *walker) kindOf(c uint32) (kind depgraph.Kind, alone bool) {
	switch w.sym(c) {
	case pytree.ImportStatement, pytree.ImportFromStatement, pytree.FutureImportStatement:
		return depgraph.KindImport, true
	case pytree.FunctionDefinition:
		return w.definition(c), !strings.HasPrefix(w.src(c), "def "+kernelPrefix)
	case pytree.ClassDefinition, pytree.DecoratedDefinition:
		return w.definition(c), true
	}
	return depgraph.KindStatement, false
}

func (w *walker) beginNode() {
	w.facts.Nodes = append(w.facts.Nodes, depgraph.Node{})
	w.node = len(w.facts.Nodes) - 1
	w.await = false
}

// endNode completes the node that holds the statements from first to last.
func (w *walker) endNode(kind depgraph.Kind, first, last uint32) {
	n := &w.facts.Nodes[w.node]
	start, end := w.nodes[first].Start, w.nodes[last].End
	n.Kind, n.Start, n.End = kind, int(start), int(end)
	n.Line, n.EndLine = w.line(start), w.line(end)
	n.Expr, n.Await = w.isExpression(last), w.await
	w.spans = append(w.spans, [2]uint32{first, w.next(last)})
	for _, i := range w.touched {
		s := &w.syms[i]
		name := w.names.texts[s.name]
		if s.flags&(isCertain|definesNow) == isCertain|definesNow && !strings.HasPrefix(name, kernelPrefix) {
			n.Certain = append(n.Certain, name)
		}
		for _, list := range [...]struct {
			m  symbolFlags
			to *[]string
		}{
			{definesNow, &n.Defines}, {deletesNow, &n.Deletes}, {usesNow, &n.Uses}, {usesLater, &n.Later},
			{rebindsLater, &n.Rebinds}, {mutatesNow, &n.Mutates}, {mutatesLater, &n.MutatesLater},
		} {
			if s.flags&list.m != 0 && !strings.HasPrefix(name, kernelPrefix) {
				*list.to = append(*list.to, name)
			}
		}
		s.flags &^= outbound
	}
	w.touched = w.touched[:0]
	w.undo(0)
	for _, list := range [][]string{n.Defines, n.Certain, n.Deletes, n.Uses, n.Later, n.Rebinds, n.Mutates,
		n.MutatesLater} {
		sort.Strings(list)
	}
}

func (w *walker) isExpression(i uint32) bool {
	if w.sym(i) != pytree.ExpressionStatement {
		return false
	}
	s := w.sym(w.child(i))
	return s != pytree.Assignment && s != pytree.AugmentedAssignment
}

// addTokens adds the facts that need all nodes: their tokens, and whether the block is quiet.
func (w *walker) addTokens() {
	buf := make([]byte, 0, len(w.text)+len(w.nodes)/2)
	ends := make([]int, len(w.spans))
	for i, s := range w.spans {
		buf = w.appendTokens(buf, s[0], s[1])
		ends[i] = len(buf)
	}
	all, at := string(buf), 0
	for i := range w.facts.Nodes {
		w.facts.Nodes[i].Tokens = all[at:ends[i]]
		at = ends[i]
	}
	if last := w.lastChild(0); last < w.end(0) {
		w.facts.Quiet = w.sym(last) == pytree.Semicolon
	}
}
