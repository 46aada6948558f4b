package python

import (
	"slices"
	"sort"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	p "github.com/xstate-engine/xstate/depgraph/python/pytree"
)

// scanImports visits all imports of the block before the walk. The walk must know the future imports, and which names
// are aliases wherever they occur.
func (w *walker) scanImports() {
	for i := range w.nodes {
		switch w.nodes[i].Sym {
		case p.FutureImportStatement:
			for c := w.child(uint32(i)) + 3; c < w.end(uint32(i)); c = w.next(c) {
				name := c
				if w.sym(c) == p.AliasedImport {
					name = w.child(c)
				}
				if w.sym(name) == p.DottedName {
					w.facts.Features = append(w.facts.Features, w.src(name))
				}
			}
		case p.ImportStatement, p.ImportFromStatement:
			w.aliases(uint32(i))
		}
	}
	sort.Strings(w.facts.Features)
	for _, f := range w.facts.Features {
		w.future = w.future || f == "annotations"
	}
}

func (w *walker) aliases(i uint32) {
	for c := w.child(i); c < w.end(i); c = w.next(c) {
		if w.sym(c) == p.AliasedImport || w.sym(c) == p.DottedName {
			n := w.lastChild(c)
			if w.sym(c) == p.DottedName {
				n = w.child(c)
			}
			id := w.intern(n, w.src(n))
			w.names.kinds[id] |= aliasName
		}
	}
}

func (w *walker) importStatement(i uint32) {
	later := w.all[w.cur].timing == later
	if w.sym(i) == p.ImportStatement {
		for c := w.child(i) + 1; c < w.end(i); c = w.next(c) {
			switch w.sym(c) {
			case p.DottedName:
				module := w.dotted(c)
				top, _, _ := strings.Cut(module, ".")
				w.imported(w.child(c), top)
				w.addImport(depgraph.Import{Module: module, Later: later})
			case p.AliasedImport:
				module := w.dotted(w.child(c))
				w.imported(w.lastChild(c), module)
				w.addImport(depgraph.Import{Module: module, Later: later})
			}
		}
		return
	}
	imp := depgraph.Import{Later: later}
	c := w.child(i) + 1
	switch w.sym(c) {
	case p.Future:
		imp.Module = "__future__"
		if w.cur != 0 || !w.leading(i) {
			w.failNode(i, "a future import must stand at the beginning")
		}
	case p.RelativeImport:
		imp.Level = strings.Count(w.src(w.child(c)), ".")
		if last := w.lastChild(c); w.sym(last) == p.DottedName {
			imp.Module = w.dotted(last)
		}
	default:
		imp.Module = w.dotted(c)
	}
	prefix := strings.Repeat(".", imp.Level) + imp.Module + "."
	for c = w.next(c); c < w.end(i); c = w.next(c) {
		switch w.sym(c) {
		case p.DottedName:
			w.checkFuture(imp, c)
			imp.Names = append(imp.Names, w.src(c))
			w.imported(w.child(c), prefix+w.src(c))
		case p.AliasedImport:
			w.checkFuture(imp, w.child(c))
			imp.Names = append(imp.Names, w.src(w.child(c)))
			w.imported(w.lastChild(c), prefix+w.src(w.child(c)))
		case p.WildcardImport:
			imp.Names = append(imp.Names, "*")
			if w.cur != 0 {
				w.failNode(i, "import * is only allowed at module level")
			}
			w.dynamic("import *", w.nodes[i].Start)
		}
	}
	w.addImport(imp)
}

// imported binds a name to the thing imported under a dotted name.
func (w *walker) imported(i uint32, dotted string) {
	s := w.bindName(i, isImported)
	if w.alias == nil {
		w.alias = make(map[int32]string)
	}
	w.alias[s] = dotted
}

// dotted returns a dotted name without layout.
func (w *walker) dotted(i uint32) string {
	text := w.src(i)
	if !strings.ContainsAny(text, " \t\n\\\f\r") {
		return text
	}
	var b strings.Builder
	for c := w.child(i); c < w.end(i); c = w.next(c) {
		b.WriteString(w.src(c))
	}
	return b.String()
}

func (w *walker) addImport(imp depgraph.Import) {
	n := &w.facts.Nodes[w.node]
	n.Imports = append(n.Imports, imp)
}

// futures are the features that any version of __future__ has had.
var futures = []string{"nested_scopes", "generators", "division", "absolute_import", "with_statement", "print_function",
	"unicode_literals", "barry_as_FLUFL", "generator_stop", "annotations"}

func (w *walker) checkFuture(imp depgraph.Import, i uint32) {
	if imp.Module == "__future__" && imp.Level == 0 && !slices.Contains(futures, w.src(i)) {
		w.failNode(i, "future feature %s is not defined", w.src(i))
	}
}

// leading reports whether only a docstring and other future imports precede statement i.
func (w *walker) leading(i uint32) bool {
	for c := w.child(0); c < i; c = w.next(c) {
		switch w.sym(c) {
		case p.FutureImportStatement, p.Semicolon:
		case p.ExpressionStatement:
			if s := w.sym(w.child(c)); c != w.child(0) || s != p.String && s != p.ConcatenatedString {
				return false
			}
		default:
			return false
		}
	}
	return true
}
