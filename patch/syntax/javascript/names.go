package javascript

import (
	"strings"

	"github.com/xstate-engine/xstate/depgraph/javascript/jstree"
	"github.com/xstate-engine/xstate/patch/syntax"
)

// bindings returns the names that a text of JavaScript or TypeScript binds and uses.
func bindings(code string, l jstree.Language) *syntax.Bindings {
	w := &names{tree: parse([]byte(code), l), Names: syntax.NewNames()}
	if w.tree == nil {
		return w.All()
	}
	defer w.Close()
	for _, c := range w.children(0) { // functions are there from the start
		if k := w.Nodes[c].Kind; k == jstree.FunctionDeclaration || k == jstree.ExportStatement {
			w.Has(w.defines(c))
		}
	}
	w.below(0, 0)
	return w.All()
}

// names collects names from a tree.
type names struct {
	*tree
	*syntax.Names
	blocks int // number of enclosing blocks
}

func (w *names) below(i uint32, depth int) {
	for c := i + 1; c < w.Nodes[i].Next; c = w.Nodes[c].Next {
		w.node(c, i, depth+1)
	}
}

// each visits the child of a node in each of the fields, in their order.
func (w *names) each(i uint32, depth int, fields ...jstree.Field) {
	for _, f := range fields {
		if c, ok := w.field(i, f); ok {
			w.node(c, i, depth+1)
		}
	}
}

func (w *names) node(i, parent uint32, depth int) {
	if depth > 500 {
		return
	}
	switch n := &w.Nodes[i]; n.Kind {
	case jstree.Identifier, jstree.ShorthandPropertyIdentifier, jstree.TypeIdentifier:
		w.Use(w.text(i))
	case jstree.ImportClause, jstree.NamespaceImport, jstree.ImportSpecifier:
		w.imported(i, depth)
	case jstree.FunctionDeclaration, jstree.GeneratorFunctionDeclaration, jstree.ClassDeclaration,
		jstree.AbstractClassDeclaration, jstree.InterfaceDeclaration, jstree.TypeAliasDeclaration,
		jstree.EnumDeclaration, jstree.FunctionSignature, jstree.InternalModule, jstree.Module:
		w.define(w.defines2(i))
		w.scope(i, depth)
	case jstree.FunctionExpression,
		jstree.GeneratorFunction,
		jstree.ArrowFunction,
		jstree.Class,
		jstree.MethodDefinition:
		w.scope(i, depth)
	case jstree.StatementBlock, jstree.SwitchBody, jstree.ForStatement, jstree.CatchClause:
		if c, ok := w.field(i, jstree.FieldParameter); ok {
			w.pattern(c, depth, true)
		}
		w.blocks++
		w.below(i, depth)
		w.blocks--
	case jstree.ForInStatement:
		w.forIn(i, depth)
	case jstree.VariableDeclarator:
		w.declarator(i, parent, depth)
	case jstree.AssignmentExpression, jstree.AugmentedAssignmentExpression, jstree.UpdateExpression:
		w.assignment(i, depth)
	case jstree.UnaryExpression, jstree.ExpressionStatement:
		w.change(w.changed(i))
		w.below(i, depth)
	default:
		w.below(i, depth)
	}
}

// defines2 returns the name of a definition that is not at the top level, too.
func (w *names) defines2(i uint32) string {
	if name, ok := w.field(i, jstree.FieldName); ok {
		return w.text(name)
	}
	return ""
}

// define binds the name of a definition.
func (w *names) define(name string) {
	w.Bind(name)
	if w.Inner == 0 && w.blocks == 0 && name != "" {
		w.Defines[name] = true
		w.Has(name)
	}
}

// assign binds a name by a declaration or an assignment. A local name is bound in a block or a function only.
func (w *names) assign(name string, local bool) {
	w.Bind(name)
	if w.Inner > 0 || local {
		return
	}
	w.Has(name)
	if !w.Defines[name] {
		w.Assigns[name] = true
	}
}

func (w *names) imported(i uint32, depth int) {
	name, ok := w.field(i, jstree.FieldAlias)
	if !ok {
		name, ok = w.field(i, jstree.FieldName)
	}
	for _, c := range w.children(i) {
		if k := w.Nodes[c].Kind; !ok && k == jstree.Identifier {
			name, ok = c, true
		} else if k == jstree.NamedImports || k == jstree.NamespaceImport || k == jstree.ImportSpecifier {
			w.below(i, depth)
			break
		}
	}
	if ok {
		w.Bind(w.text(name))
		w.Has(w.text(name))
		w.Imports[w.text(name)] = true
	}
}

// scope visits a function or a class: its parameters are bound in it.
func (w *names) scope(i uint32, depth int) {
	w.Inner++
	defer func() { w.Inner-- }()
	for _, c := range w.children(i) {
		switch n := &w.Nodes[c]; {
		case n.Field == jstree.FieldName:
		case n.Field == jstree.FieldParameter:
			w.pattern(c, depth, true)
		case n.Kind == jstree.FormalParameters:
			for _, p := range w.children(c) {
				w.pattern(p, depth, true)
			}
		case n.Kind == jstree.TypeParameters:
			for _, p := range w.children(c) {
				w.Bind(w.defines2(p))
			}
		default:
			w.node(c, i, depth+1)
		}
	}
}

func (w *names) forIn(i uint32, depth int) {
	w.each(i, depth, jstree.FieldRight)
	kind, declares := w.field(i, jstree.FieldKind)
	if left, ok := w.field(i, jstree.FieldLeft); ok {
		w.pattern(left, depth, declares && w.text(kind) != "var")
	}
	w.blocks++
	w.each(i, depth, jstree.FieldBody)
	w.blocks--
}

func (w *names) declarator(i, parent uint32, depth int) {
	w.each(i, depth, jstree.FieldType, jstree.FieldValue)
	name, ok := w.field(i, jstree.FieldName)
	if !ok {
		return
	}
	local := w.blocks > 0 && w.Nodes[parent].Kind == jstree.LexicalDeclaration
	if !local && w.Nodes[name].Kind == jstree.Identifier && w.isFunction(i) {
		w.define(w.text(name))
		return
	}
	w.pattern(name, depth, local)
	if value, ok := w.field(i, jstree.FieldValue); ok && w.Inner == 0 && strings.HasPrefix(w.text(value), "require(") {
		w.Imports[w.text(name)] = true
		delete(w.Assigns, w.text(name))
	}
}

func (w *names) assignment(i uint32, depth int) {
	w.each(i, depth, jstree.FieldRight)
	left, ok := w.field(i, jstree.FieldLeft)
	if !ok {
		left, ok = w.field(i, jstree.FieldArgument)
	}
	if !ok {
		return
	}
	switch w.Nodes[left].Kind {
	case jstree.Identifier:
		if w.Nodes[i].Kind != jstree.AssignmentExpression {
			w.Read(w.text(left))
		}
		w.assign(w.text(left), false)
	case jstree.ObjectPattern, jstree.ArrayPattern:
		w.pattern(left, depth, false)
	default:
		w.change(w.base(left, 0))
		w.node(left, i, depth+1)
	}
}

// pattern binds the names of a pattern, and visits its defaults and types.
func (w *names) pattern(i uint32, depth int, local bool) {
	if depth > 500 {
		return
	}
	switch w.Nodes[i].Kind {
	case jstree.Identifier, jstree.ShorthandPropertyIdentifierPattern:
		w.assign(w.text(i), local)
	case jstree.AssignmentPattern, jstree.ObjectAssignmentPattern:
		w.each(i, depth, jstree.FieldRight)
		if left, ok := w.field(i, jstree.FieldLeft); ok {
			w.pattern(left, depth+1, local)
		}
	case jstree.PairPattern:
		if value, ok := w.field(i, jstree.FieldValue); ok {
			w.pattern(value, depth+1, local)
		}
	case jstree.RequiredParameter, jstree.OptionalParameter:
		w.each(i, depth, jstree.FieldType, jstree.FieldValue)
		if p, ok := w.field(i, jstree.FieldPattern); ok {
			w.pattern(p, depth+1, local)
		}
	case jstree.ObjectPattern, jstree.ArrayPattern, jstree.RestPattern:
		for _, c := range w.children(i) {
			w.pattern(c, depth+1, local)
		}
	}
}

// changed returns the name whose value a statement or a delete changes in place: x of x.f() and of delete x.a.
func (w *names) changed(i uint32) string {
	if w.Nodes[i].Kind == jstree.UnaryExpression {
		if c, ok := w.field(i, jstree.FieldArgument); ok && strings.HasPrefix(w.text(i), "delete") {
			return w.base(c, 0)
		}
		return ""
	}
	list := w.children(i)
	if len(list) > 0 && w.Nodes[list[0]].Kind == jstree.AwaitExpression {
		list = w.children(list[0])[1:]
	}
	if len(list) == 0 || w.Nodes[list[0]].Kind != jstree.CallExpression {
		return ""
	}
	f, _ := w.field(list[0], jstree.FieldFunction)
	return w.base(f, 0)
}

// base returns x of x.a[i].b, or "" for anything else.
func (w *names) base(i uint32, depth int) string {
	switch w.Nodes[i].Kind {
	case jstree.Identifier:
		if depth > 0 {
			return w.text(i)
		}
	case jstree.MemberExpression, jstree.SubscriptExpression:
		if c, ok := w.field(i, jstree.FieldObject); ok && depth < 100 {
			return w.base(c, depth+1)
		}
	}
	return ""
}

func (w *names) change(name string) {
	if name != "" && w.Inner == 0 {
		w.Changes[name] = true
	}
}

// builtins has the names that unrelated code has in common.
var builtins = syntax.Words(
	`console Object Array String Number Boolean Symbol BigInt Math JSON Date RegExp Map Set WeakMap
	WeakSet Promise Proxy Reflect Error TypeError RangeError SyntaxError parseInt parseFloat isNaN isFinite globalThis
	process Buffer require module exports setTimeout setInterval setImmediate clearTimeout clearInterval
	queueMicrotask fetch URL URLSearchParams structuredClone Intl ArrayBuffer Uint8Array Float64Array Int32Array
	TextEncoder TextDecoder undefined NaN Infinity encodeURIComponent decodeURIComponent display Deno Record Partial
	Readonly Pick Omit Function arguments`,
)
