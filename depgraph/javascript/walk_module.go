package javascript

import (
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

func (w *walker) importStatement(i uint32) {
	imp := depgraph.Import{Module: w.source(i), Later: w.later()}
	whole := true
	w.importedNames(i, func(name uint32, exported string) {
		s := w.symbolAt(name)
		w.note(name, s, false, true)
		w.bind(s)
		if exported == "*" || exported == "default" && isBuiltin(imp.Module) {
			return
		}
		whole = false
		imp.Names = append(imp.Names, exported)
	})
	if whole {
		imp.Names = nil
	}
	if imp.Module != "" {
		w.now.Imports = append(w.now.Imports, imp)
	}
}

// source returns the module that an import or export names, or "".
func (w *walker) source(i uint32) string {
	s := w.field(i, js.FieldSource)
	if s == 0 {
		if c := w.find(i, js.ImportRequireClause); c != 0 {
			s = w.field(c, js.FieldSource)
		}
	}
	if s == 0 {
		return ""
	}
	text, _ := w.literal(s)
	return text
}

// importAliases notes what the imports of the block bind, before the walk: functions above an import use it, too.
func (w *walker) importAliases(i uint32) {
	module := bareModule(w.source(i))
	w.importedNames(i, func(name uint32, exported string) {
		w.syms[w.symbolAt(name)].alias = memberOf(module, exported)
	})
}

// memberOf returns the dotted name of what a module exports under a name.
func memberOf(module, exported string) string {
	if exported == "*" || exported == "default" {
		return module
	}
	return module + "." + exported
}

// noteRequire notes what a pattern that takes the result of require or a dynamic import binds.
func (w *walker) noteRequire(pattern, value uint32) {
	for w.kind(value) == js.AwaitExpression || w.kind(value) == js.ParenthesizedExpression {
		if value = w.inner(value); value == 0 {
			return
		}
	}
	module, ok := w.required(value)
	if !ok {
		return
	}
	module = bareModule(module)
	if w.kind(pattern) == js.Identifier {
		w.syms[w.symbolAt(pattern)].alias = module
		return
	}
	if w.kind(pattern) != js.ObjectPattern {
		return
	}
	for c := pattern + 1; c < w.end(pattern); c = w.next(c) {
		switch w.kind(c) {
		case js.ShorthandPropertyIdentifierPattern:
			w.syms[w.symbolAt(c)].alias = memberOf(module, w.src(c))
		case js.PairPattern:
			if v := w.field(c, js.FieldValue); w.kind(v) == js.Identifier {
				w.syms[w.symbolAt(v)].alias = memberOf(module, w.src(w.field(c, js.FieldKey)))
			}
		}
	}
}

// required returns the module that a call of require or import names by a literal.
func (w *walker) required(i uint32) (module string, ok bool) {
	if w.kind(i) != js.CallExpression {
		return "", false
	}
	f := w.field(i, js.FieldFunction)
	if f == 0 || w.kind(f) != js.Import && !(w.kind(f) == js.Identifier && w.src(f) == "require" &&
		w.syms[w.symbolAt(f)].scope == 0) {
		return "", false
	}
	arg := w.argument(i, 0)
	if arg == 0 {
		return "", false
	}
	return w.literal(arg)
}

// addRequire adds the import that a call of require or import is.
func (w *walker) addRequire(i uint32) {
	name := "require"
	if w.kind(w.field(i, js.FieldFunction)) == js.Import {
		name = "import"
	}
	module, ok := w.required(i)
	if !ok {
		w.dynamic(name, i)
		return
	}
	imp := depgraph.Import{Module: module, Later: w.later()}
	same := func(o depgraph.Import) bool { return o.Module == module && o.Names == nil && o.Later == imp.Later }
	if !slices.ContainsFunc(w.now.Imports, same) {
		w.now.Imports = append(w.now.Imports, imp)
	}
}

// isRequire reports whether a statement only binds what calls of require return.
func (w *walker) isRequire(i uint32) bool {
	if k := w.kind(i); k != js.VariableDeclaration && k != js.LexicalDeclaration {
		return false
	}
	for c := i + 1; c < w.end(i); c = w.next(c) {
		if w.kind(c) != js.VariableDeclarator {
			continue
		}
		value := w.field(c, js.FieldValue)
		if value == 0 || !w.plainPattern(c+1) {
			return false
		}
		if _, ok := w.required(value); !ok || w.kind(w.field(value, js.FieldFunction)) == js.Import {
			return false
		}
	}
	return true
}

// plainPattern reports whether a pattern evaluates nothing.
func (w *walker) plainPattern(i uint32) bool {
	for k := i; k < w.end(i); k++ {
		switch w.kind(k) {
		case js.ComputedPropertyName, js.AssignmentPattern, js.ObjectAssignmentPattern, js.ArrayPattern:
			return false
		}
	}
	return true
}

// exportStatement walks what export precedes. A list of names is not a read: modules share variables, not values.
func (w *walker) exportStatement(i uint32) (ends bool) {
	if module := w.source(i); module != "" {
		imp := depgraph.Import{Module: module, Names: []string{"*"}}
		if clause := w.find(i, js.ExportClause); clause != 0 {
			imp.Names = imp.Names[:0]
			for c := clause + 1; c < w.end(clause); c = w.next(c) {
				if w.kind(c) == js.ExportSpecifier {
					imp.Names = append(imp.Names, strings.Trim(w.src(w.field(c, js.FieldName)), `'"`))
				}
			}
		}
		w.now.Imports = append(w.now.Imports, imp)
		return false
	}
	w.decorators(i)
	for c := i + 1; c < w.end(i); c = w.next(c) {
		switch k := w.kind(c); {
		case k == js.Token, k == js.ExportClause, k == js.NamespaceExport, k == js.Decorator:
		case w.nodes[c].Field == js.FieldDeclaration:
			return w.stmt(c)
		case k == js.FunctionExpression, k == js.GeneratorFunction:
			w.functionDeclaration(c)
		case k == js.Class:
			w.classDeclaration(c)
		default:
			w.expr(c)
		}
	}
	return false
}

// enum walks an enum. Its members are names inside of it.
func (w *walker) enum(i uint32) {
	name, body := w.field(i, js.FieldName), w.field(i, js.FieldBody)
	w.reopen(name)
	w.enter(blockScope, false)
	member := func(c uint32) {
		if k := w.kind(c); k == js.PropertyIdentifier {
			w.declare(w.name(c), byParameter)
		} else if text, ok := w.literal(c); ok {
			w.declare(w.intern(text), byParameter)
		}
	}
	for c := body + 1; c < w.end(body); c = w.next(c) {
		switch w.kind(c) {
		case js.EnumAssignment:
			member(c + 1)
		case js.Token:
		default:
			member(c)
		}
	}
	for c := body + 1; c < w.end(body); c = w.next(c) {
		if w.kind(c) == js.EnumAssignment {
			w.expr(w.field(c, js.FieldValue))
		}
	}
	w.leave()
	w.bindName(name)
}

// reopen records that an enum or a namespace adds to what its name already holds.
func (w *walker) reopen(name uint32) {
	s := w.symbolAt(name)
	w.use(s)
	w.mutate(s)
}

// namespace walks a namespace, whose body is a function that runs at once.
func (w *walker) namespace(i uint32) {
	name, body := w.moduleName(i), w.field(i, js.FieldBody)
	if name == 0 {
		return
	}
	w.reopen(name)
	saved := w.this
	w.this = ownThis
	w.calls()
	w.enter(functionScope, false)
	w.declareStatements(body)
	w.declareVars(body+1, w.end(body))
	w.list(body)
	w.leave()
	w.this = saved
	w.bindName(name)
}

// importAlias walks import A = B.C, which reads B.
func (w *walker) importAlias(i uint32) {
	name := w.inner(i)
	for c := w.next(name); c < w.end(i); c = w.next(c) {
		if w.kind(c) == js.Token {
			continue
		}
		for w.kind(c) == js.NestedIdentifier {
			c++
		}
		w.useName(c)
		break
	}
	w.bindName(name)
}
