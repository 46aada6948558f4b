package javascript

import (
	"strings"

	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

// A declaration counts in its whole scope, also above itself: a name is local before its let, and var belongs to the
// function around all blocks. So a scope gets all its names when it opens.

// isFunction reports whether a node has its own scope for var.
func isFunction(k js.Kind) bool {
	switch k {
	case js.FunctionDeclaration, js.GeneratorFunctionDeclaration, js.FunctionExpression, js.GeneratorFunction,
		js.ArrowFunction, js.MethodDefinition, js.ClassStaticBlock:
		return true
	}
	return false
}

func isFunctionDeclaration(k js.Kind) bool {
	return k == js.FunctionDeclaration || k == js.GeneratorFunctionDeclaration
}

func isClassDeclaration(k js.Kind) bool {
	return k == js.ClassDeclaration || k == js.AbstractClassDeclaration
}

// isTypeOnly reports whether a statement or member of a class leaves nothing when types are erased.
func (w *walker) isTypeOnly(i uint32) bool {
	switch w.kind(i) {
	case js.InterfaceDeclaration, js.TypeAliasDeclaration, js.AmbientDeclaration, js.FunctionSignature,
		js.MethodSignature, js.AbstractMethodSignature, js.IndexSignature:
		return true
	case js.ImportStatement:
		return w.typeKeyword(i)
	case js.PublicFieldDefinition:
		return w.typed && (w.has(i, "declare") || w.has(i, "abstract"))
	case js.ExportStatement:
		if w.typeKeyword(i) || w.has(i, "as") && w.has(i, "namespace") {
			return true
		}
		d := w.field(i, js.FieldDeclaration)
		return d != 0 && w.isTypeOnly(d)
	case js.Module, js.InternalModule:
		body := w.field(i, js.FieldBody)
		if body == 0 {
			return true
		}
		for c := body + 1; c < w.end(body); c = w.next(c) {
			if w.kind(c) != js.Token && w.kind(c) != js.EmptyStatement && !w.isTypeOnly(c) {
				return false
			}
		}
		return true
	case js.ExpressionStatement:
		c := i + 1
		return c < w.end(i) && w.kind(c) == js.InternalModule && w.isTypeOnly(c)
	}
	return false
}

// typeKeyword reports whether the word type follows the first word of an import or export.
func (w *walker) typeKeyword(i uint32) bool {
	c := i + 1
	if c >= w.end(i) {
		return false
	}
	if c = w.next(c); c >= w.end(i) || w.kind(c) != js.Token {
		return false
	}
	text := w.src(c)
	return text == "type" || text == "typeof"
}

// declaredBy returns the statement that declares something: the one behind export or a label, else i itself.
func (w *walker) declaredBy(i uint32) uint32 {
	for {
		switch w.kind(i) {
		case js.ExportStatement:
			d := w.field(i, js.FieldDeclaration)
			if d == 0 && w.has(i, "default") {
				d = w.field(i, js.FieldValue)
			}
			if d == 0 {
				return i
			}
			i = d
		case js.LabeledStatement:
			d := w.field(i, js.FieldBody)
			if d == 0 || !isFunctionDeclaration(w.kind(d)) && w.kind(d) != js.LabeledStatement {
				return i
			}
			i = d
		case js.ExpressionStatement:
			if c := i + 1; c < w.end(i) && w.kind(c) == js.InternalModule {
				return c
			}
			return i
		default:
			return i
		}
	}
}

// names calls f for each name that a pattern binds.
func (w *walker) names(i uint32, f func(i uint32)) {
	switch w.kind(i) {
	case js.Identifier, js.ShorthandPropertyIdentifierPattern, js.Undefined:
		f(i)
	case js.ObjectPattern, js.ArrayPattern, js.RestPattern:
		for c := i + 1; c < w.end(i); c = w.next(c) {
			w.names(c, f)
		}
	case js.PairPattern, js.RequiredParameter, js.OptionalParameter:
		c := w.field(i, js.FieldValue)
		if w.kind(i) != js.PairPattern {
			c = w.field(i, js.FieldPattern)
		}
		if c != 0 {
			w.names(c, f)
		}
	case js.AssignmentPattern, js.ObjectAssignmentPattern:
		w.names(i+1, f)
	}
}

// declareNames declares the names of a pattern in the innermost scope.
func (w *walker) declareNames(i uint32, how declaration) {
	w.names(i, func(i uint32) { w.declareName(i, how) })
}

// declareName declares the name at node i, and refuses what cannot be declared twice.
func (w *walker) declareName(i uint32, how declaration) {
	name := w.name(i)
	if s := w.declared(name); s != noIndex && clash(w.syms[s].how, how) {
		w.fail(i, "identifier '%s' has already been declared", w.texts[name])
	}
	w.declare(name, how)
}

// clash reports whether a scope cannot have two declarations of a name.
func clash(a, b declaration) bool {
	if a > b {
		a, b = b, a
	}
	switch b {
	case byLexical:
		return a == byVar || a == byFunction || a == byLexical
	case byImport:
		return a == byLexical || a == byFunction || a == byVar
	}
	return false
}

// declareStatements declares what the statements among the children of node i declare in the innermost scope.
func (w *walker) declareStatements(i uint32) {
	for c := i + 1; c < w.end(i); c = w.next(c) {
		w.declareStatement(c)
	}
}

func (w *walker) declareStatement(i uint32) {
	if w.isTypeOnly(i) {
		return
	}
	i = w.declaredBy(i)
	switch k := w.kind(i); k {
	case js.LexicalDeclaration:
		for c := i + 1; c < w.end(i); c = w.next(c) {
			if w.kind(c) == js.VariableDeclarator {
				w.declareNames(c+1, byLexical)
			}
		}
	case js.ClassDeclaration, js.AbstractClassDeclaration, js.FunctionDeclaration, js.GeneratorFunctionDeclaration,
		js.Class, js.FunctionExpression, js.GeneratorFunction:
		how := byFunction
		if isClassDeclaration(k) || k == js.Class {
			how = byLexical
		}
		if name := w.field(i, js.FieldName); name != 0 {
			w.declareName(name, how)
		}
	case js.EnumDeclaration:
		if name := w.field(i, js.FieldName); name != 0 {
			w.declareName(name, byMerging)
		}
	case js.InternalModule, js.Module:
		if name := w.moduleName(i); name != 0 {
			w.declareName(name, byMerging)
		}
	case js.ImportStatement:
		w.importedNames(i, func(name uint32, _ string) { w.declareName(name, byImport) })
	case js.ImportAlias:
		if name := w.inner(i); name != 0 {
			w.declareName(name, byMerging)
		}
	}
}

// moduleName returns the first name of a namespace: A of namespace A.B {}.
func (w *walker) moduleName(i uint32) uint32 {
	name := w.field(i, js.FieldName)
	for name != 0 && w.kind(name) == js.NestedIdentifier {
		name++
	}
	if name == 0 || w.kind(name) != js.Identifier {
		return 0
	}
	return name
}

// declareVars declares the names that var binds anywhere between nodes i and end, except in functions.
func (w *walker) declareVars(i, end uint32) {
	for i < end {
		k := w.kind(i)
		if isFunctionDeclaration(k) && !w.strict {
			w.declareAnnexB(i)
		}
		if isFunction(k) || k == js.AmbientDeclaration || k == js.InternalModule || k == js.Module {
			i = w.end(i)
			continue
		}
		w.varNames(i, func(name uint32) { w.declareName(name, byVar) })
		i++
	}
}

// varNames calls f for the names that the statement at node i binds by var, without those of statements inside it.
func (w *walker) varNames(i uint32, f func(name uint32)) {
	switch w.kind(i) {
	case js.VariableDeclaration:
		for c := i + 1; c < w.end(i); c = w.next(c) {
			if w.kind(c) == js.VariableDeclarator {
				w.names(c+1, f)
			}
		}
	case js.ForInStatement:
		if kind := w.field(i, js.FieldKind); kind != 0 && w.src(kind) == "var" {
			if left := w.field(i, js.FieldLeft); left != 0 {
				w.names(left, f)
			}
		}
	}
}

// declareAnnexB declares the var that a function in a block of a sloppy script makes, unless the name is taken. At the
// top of a body, the function itself comes later and counts.
func (w *walker) declareAnnexB(i uint32) {
	if name := w.field(i, js.FieldName); name != 0 {
		if id := w.name(name); w.declared(id) == noIndex {
			w.declare(id, byAnnexB)
		}
	}
}

// importedNames calls f for each name that an import binds, with the name that the module exports: "*" is the module
// itself. Types are left out.
func (w *walker) importedNames(i uint32, f func(name uint32, exported string)) {
	if c := w.find(i, js.ImportRequireClause); c != 0 {
		f(w.inner(c), "*")
		return
	}
	clause := w.find(i, js.ImportClause)
	if clause == 0 {
		return
	}
	for c := clause + 1; c < w.end(clause); c = w.next(c) {
		switch w.kind(c) {
		case js.Identifier:
			f(c, "default")
		case js.NamespaceImport:
			f(w.inner(c), "*")
		case js.NamedImports:
			for k := c + 1; k < w.end(c); k = w.next(k) {
				if w.kind(k) != js.ImportSpecifier || w.kind(k+1) == js.Token && w.src(k+1) != "default" {
					continue // with the word type
				}
				name := w.field(k, js.FieldName)
				exported := w.src(name)
				if alias := w.field(k, js.FieldAlias); alias != 0 {
					name = alias
				}
				f(name, strings.Trim(exported, `'"`))
			}
		}
	}
}
