package javascript

import (
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

// program walks the statements of a block, each for itself.
func (w *walker) program() {
	if !w.strict || w.facts.Features != nil {
		w.this = topThis
	}
	w.declareStatements(0)
	w.declareVars(1, w.end(0))
	for c := uint32(1); c < w.end(0); c = w.next(c) {
		w.aliases(c)
	}
	for c := uint32(1); c < w.end(0); c = w.next(c) {
		switch w.kind(c) {
		case js.Token, js.EmptyStatement, js.HashBangLine:
			continue
		}
		if w.isTypeOnly(c) {
			continue
		}
		w.statements = append(w.statements, statement{tree: c, role: w.roleOf(c)})
		w.now = &w.statements[len(w.statements)-1]
		w.stmt(c)
		w.finish()
	}
}

// aliases notes which modules the names of a statement mean.
func (w *walker) aliases(i uint32) {
	switch w.kind(i) {
	case js.ImportStatement:
		w.importAliases(i)
	case js.VariableDeclaration, js.LexicalDeclaration:
		for c := i + 1; c < w.end(i); c = w.next(c) {
			if w.kind(c) == js.VariableDeclarator {
				if value := w.field(c, js.FieldValue); value != 0 {
					w.noteRequire(c+1, value)
				}
			}
		}
	}
}

func (w *walker) roleOf(i uint32) role {
	d := w.declaredBy(i)
	k := w.kind(d)
	named := w.field(d, js.FieldName) != 0
	switch {
	case k == js.ImportStatement, w.kind(i) == js.ExportStatement && w.source(i) != "":
		return importRole
	case isFunctionDeclaration(k), named && (k == js.FunctionExpression || k == js.GeneratorFunction):
		return functionRole
	case isClassDeclaration(k), k == js.Class:
		return classRole
	case w.isRequire(d):
		return requireRole
	}
	return plainRole
}

// finish completes the facts of the current statement.
func (w *walker) finish() {
	n := &w.now.Node
	n.Kind = w.kindOf(w.now)
	for _, i := range w.touched {
		s := &w.syms[i]
		name := w.texts[s.name]
		if s.flags&(isCertain|definesNow) == isCertain|definesNow {
			n.Certain = append(n.Certain, name)
		}
		for _, list := range [...]struct {
			m  symbolFlags
			to *[]string
		}{
			{definesNow, &n.Defines}, {deletesNow, &n.Deletes}, {usesNow, &n.Uses}, {usesLater, &n.Later},
			{rebindsLater, &n.Rebinds}, {mutatesNow, &n.Mutates}, {mutatesLater, &n.MutatesLater},
		} {
			if s.flags&list.m != 0 {
				*list.to = append(*list.to, name)
			}
		}
		s.flags &^= outbound
	}
	w.touched = w.touched[:0]
	w.undo(0)
	w.now.vars = w.varsBelow(w.now.tree)
}

// varsBelow returns the names of the namespace that var, or a function in a block of a sloppy script, binds below node
// i.
func (w *walker) varsBelow(i uint32) (names []string) {
	add := func(name uint32) {
		if s := w.syms[w.global(w.name(name))]; s.how == byVar || s.how == byAnnexB {
			names = append(names, w.texts[s.name])
		}
	}
	for end := w.end(i); i < end; {
		k := w.kind(i)
		if name := w.field(i, js.FieldName); isFunctionDeclaration(k) && !w.strict && name != 0 {
			add(name)
		}
		if isFunction(k) || k == js.AmbientDeclaration || k == js.InternalModule || k == js.Module {
			i = w.end(i)
			continue
		}
		w.varNames(i, add)
		i++
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// kindOf returns the kind of a node that holds the statement alone. A node of a definition has a name.
func (w *walker) kindOf(s *statement) depgraph.Kind {
	d := w.declaredBy(s.tree)
	named := w.field(d, js.FieldName) != 0
	switch {
	case s.role == importRole, s.role == requireRole:
		return depgraph.KindImport
	case s.role == functionRole:
		return depgraph.KindDef
	case s.role == classRole && named && w.plainClass(d) && w.find(s.tree, js.Decorator) == 0:
		return depgraph.KindClass
	}
	return depgraph.KindStatement
}

// span is a range of statements, both ends included.
type span struct{ first, last int }
