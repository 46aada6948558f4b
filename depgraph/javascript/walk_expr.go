package javascript

import (
	"strings"

	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

// expr walks an expression that is evaluated in the current scope.
func (w *walker) expr(i uint32) {
	if i == 0 {
		return
	}
	k := w.kind(i)
	switch k {
	case js.Token, js.String, js.Number, js.Regex, js.PropertyIdentifier, js.PrivatePropertyIdentifier, js.True,
		js.False, js.Null, js.Undefined, js.Super, js.StatementIdentifier, js.JSXText, js.OptionalChain:
		return
	case js.TypeAnnotation, js.TypeArguments, js.TypeParameters:
		return
	case js.Identifier, js.ShorthandPropertyIdentifier:
		w.nameExpr(i, read)
		return
	}
	if !w.deeper(i) {
		return
	}
	switch k {
	case js.This:
		w.thisExpr(i)
	case js.MemberExpression:
		w.member(i, read)
	case js.SubscriptExpression:
		w.subscript(i, read)
	case js.CallExpression:
		w.call(i)
	case js.NewExpression:
		w.construct(i)
	case js.AssignmentExpression:
		w.expr(w.field(i, js.FieldRight))
		w.target(w.field(i, js.FieldLeft))
	case js.AugmentedAssignmentExpression:
		w.augmented(i)
	case js.UpdateExpression:
		w.update(w.field(i, js.FieldArgument))
	case js.UnaryExpression:
		w.unary(i)
	case js.BinaryExpression:
		w.binary(i)
	case js.TernaryExpression:
		w.ternary(i)
	case js.FunctionExpression, js.GeneratorFunction:
		w.function(i, w.functionThis(i))
	case js.ArrowFunction:
		w.function(i, w.this)
	case js.MethodDefinition: // in an object
		w.propertyName(w.field(i, js.FieldName))
		w.function(i, methodThis)
	case js.Class:
		w.class(i)
	case js.Pair:
		w.propertyName(w.field(i, js.FieldKey))
		w.expr(w.field(i, js.FieldValue))
	case js.AwaitExpression:
		w.awaits()
		w.exprs(i)
	case js.YieldExpression, js.SpreadElement:
		if k == js.YieldExpression {
			w.checkOperand(i)
		}
		w.calls()
		w.exprs(i)
	case js.AsExpression, js.SatisfiesExpression, js.NonNullExpression, js.InstantiationExpression:
		w.expr(i + 1)
	case js.TypeAssertion:
		w.expr(w.end(i) - 1)
	case js.JSXElement, js.JSXSelfClosingElement:
		w.element(i)
	default:
		w.exprs(i)
	}
	w.depth--
}

// exprs walks all children of i as expressions.
func (w *walker) exprs(i uint32) {
	for c := i + 1; c < w.end(i); c = w.next(c) {
		if w.kind(c) == js.InternalModule {
			w.namespace(c)
			continue
		}
		w.expr(c)
	}
}

// nameExpr reads a name. Some names are effects or dynamic constructs by themselves.
func (w *walker) nameExpr(i uint32, how access) {
	s := w.useName(i)
	if w.syms[s].scope != 0 && w.syms[s].alias == "" {
		return
	}
	w.noteChain(chain{at: i, root: s, dotted: w.texts[w.syms[s].name], how: how})
}

// thisExpr walks a this from which no member is read.
func (w *walker) thisExpr(i uint32) {
	if w.this == topThis || w.this == sloppyThis {
		w.dynamic("this", i)
	}
}

// member walks a.b.c. It reads only the leftmost name, and what is computed on the way.
func (w *walker) member(i uint32, how access) {
	parts, base := []string(nil), i
	for w.kind(base) == js.MemberExpression || w.literalIndex(base) != "" {
		if index := w.literalIndex(base); index != "" {
			parts = append(parts, index)
		} else {
			parts = append(parts, w.src(w.field(base, js.FieldProperty)))
		}
		base = w.bare(w.field(base, js.FieldObject))
	}
	for l, r := 0, len(parts)-1; l < r; l, r = l+1, r-1 {
		parts[l], parts[r] = parts[r], parts[l]
	}
	rest := strings.Join(parts, ".")
	switch w.kind(base) {
	case js.Identifier:
		s := w.symbolAt(base)
		if name := w.texts[w.syms[s].name]; w.syms[s].scope == 0 && isGlobalObject(name) && len(parts) > 0 {
			w.useName(base)
			w.globalMember(parts, how)
			return
		}
		w.useName(base)
		w.noteChain(chain{at: i, root: s, dotted: w.texts[w.syms[s].name] + "." + rest, how: how})
	case js.This:
		if w.this == topThis {
			w.dynamic("this", base)
		}
		if w.this != ownThis && len(parts) > 0 {
			w.globalMember(parts, how)
		}
	case js.Import, js.Super, js.MetaProperty: // import.meta
	default:
		w.expr(base)
		w.noteChain(chain{at: i, root: noIndex, dotted: "." + rest, how: how})
	}
}

// bare returns the expression in the parentheses or the type assertion at node i.
func (w *walker) bare(i uint32) uint32 {
	for {
		switch w.kind(i) {
		case js.ParenthesizedExpression, js.NonNullExpression, js.AsExpression, js.SatisfiesExpression:
			inner := w.inner(i)
			if inner == 0 || w.kind(inner) == js.SequenceExpression {
				return i
			}
			i = inner
		default:
			return i
		}
	}
}

// literalIndex returns the text of a subscript that is a literal which could be written as a member, or "".
func (w *walker) literalIndex(i uint32) string {
	if w.kind(i) != js.SubscriptExpression {
		return ""
	}
	index := w.field(i, js.FieldIndex)
	if index == 0 || w.kind(index) != js.String {
		return ""
	}
	text, ok := w.literal(index)
	if !ok || text == "" || strings.ContainsAny(text, ". ") {
		return ""
	}
	return text
}

// globalMember records an access to a member of the global object, which is a name of the namespace.
func (w *walker) globalMember(parts []string, how access) {
	s := w.global(w.intern(parts[0]))
	if len(parts) == 1 {
		switch how {
		case assigned:
			w.bind(s)
			return
		case deleted:
			w.unbind(s)
			return
		}
	} else if how == assigned || how == deleted || how == called {
		w.mutate(s)
	}
	w.useGlobal(s)
	w.noteChain(chain{root: s, dotted: strings.Join(parts, "."), how: how, silent: true})
}

func (w *walker) subscript(i uint32, how access) {
	if w.literalIndex(i) != "" {
		w.member(i, how)
		return
	}
	object := w.field(i, js.FieldObject)
	base := w.bare(object)
	switch {
	case w.kind(base) == js.Identifier && w.globalObject(base):
		w.useName(base)
		w.dynamic("globalThis", base)
	case w.kind(base) == js.MemberExpression:
		w.member(base, read)
	default:
		w.expr(object)
	}
	w.afterChain(object, i, func() { w.expr(w.field(i, js.FieldIndex)) })
}

// globalObject reports whether the name at node i means the global object.
func (w *walker) globalObject(i uint32) bool {
	return isGlobalObject(w.src(i)) && w.syms[w.symbolAt(i)].scope == 0
}

// afterChain walks what follows an object, and may not run if an optional link is on the way.
func (w *walker) afterChain(object, i uint32, walk func()) {
	for o := i; o != 0; {
		if w.field(o, js.FieldOptionalChain) != 0 {
			w.maybe(walk)
			return
		}
		switch w.kind(o) {
		case js.MemberExpression, js.SubscriptExpression:
			o = w.field(o, js.FieldObject)
		case js.CallExpression:
			o = w.field(o, js.FieldFunction)
		default:
			o = 0
		}
	}
	walk()
}

func (w *walker) call(i uint32) {
	w.calls()
	f := w.field(i, js.FieldFunction)
	switch base := w.bare(f); w.kind(base) {
	case js.Import:
		w.addRequire(i)
	case js.Identifier:
		w.nameExpr(base, called)
		if w.src(base) == "require" && w.syms[w.symbolAt(base)].scope == 0 {
			w.addRequire(i)
		}
	case js.MemberExpression, js.SubscriptExpression:
		if w.kind(base) == js.SubscriptExpression {
			w.subscript(base, called)
		} else {
			w.member(base, called)
		}
		w.callMutates(i, base)
	default:
		w.expr(f)
	}
	w.afterChain(f, i, func() { w.expr(w.field(i, js.FieldArguments)) })
}

// callMutates records what a method call may change: what it is called on, or for Object.assign and its like the
// first argument. Methods of the language's own namespaces change nothing else.
func (w *walker) callMutates(i, callee uint32) {
	root := w.root(callee)
	if root == 0 {
		return
	}
	s := w.symbolAt(root)
	if w.syms[s].scope != 0 || w.syms[s].how != undeclared || !standard[w.src(root)] {
		w.mutate(s)
		return
	}
	if changesArgument(w.src(callee)) {
		if arg := w.argument(i, 0); arg != 0 {
			w.mutateRoot(arg)
		}
	}
}

func (w *walker) construct(i uint32) {
	w.calls()
	c := w.field(i, js.FieldConstructor)
	switch base := w.bare(c); w.kind(base) {
	case js.Identifier:
		w.nameExpr(base, constructed)
	case js.MemberExpression:
		w.member(base, constructed)
	default:
		w.expr(c)
	}
	w.expr(w.field(i, js.FieldArguments))
}

// augmented walks a += b. The logical ones may not assign.
func (w *walker) augmented(i uint32) {
	left, right := w.field(i, js.FieldLeft), w.field(i, js.FieldRight)
	assign := func() {
		w.expr(right)
		if base := w.bare(left); w.kind(base) == js.Identifier {
			w.bindName(base)
		} else {
			w.mutateRoot(base)
		}
	}
	if base := w.bare(left); w.kind(base) == js.Identifier {
		w.useName(base)
	} else {
		w.place(base, assigned)
	}
	switch w.src(w.field(i, js.FieldOperator)) {
	case "&&=", "||=", "??=":
		w.maybe(assign)
	default:
		assign()
	}
}

// place walks a member that is changed.
func (w *walker) place(i uint32, how access) {
	switch w.kind(i) {
	case js.MemberExpression:
		base := w.bare(w.field(i, js.FieldObject))
		if how == assigned && w.kind(base) == js.Identifier && w.globalObject(base) { // the old value is read
			w.useGlobal(w.global(w.intern(w.src(w.field(i, js.FieldProperty)))))
		}
		w.member(i, how)
	case js.SubscriptExpression:
		w.subscript(i, how)
	default:
		w.expr(i)
	}
}

func (w *walker) update(i uint32) {
	base := w.bare(i)
	if w.kind(base) == js.Identifier {
		w.useName(base)
		w.bindName(base)
		return
	}
	w.place(base, assigned)
	w.mutateRoot(base)
}

func (w *walker) unary(i uint32) {
	arg := w.bare(w.field(i, js.FieldArgument))
	if w.src(w.field(i, js.FieldOperator)) != "delete" {
		w.expr(w.field(i, js.FieldArgument))
		return
	}
	if w.kind(arg) == js.Identifier {
		s := w.useName(arg)
		w.unbind(s)
		return
	}
	w.place(arg, deleted)
	w.mutateRoot(arg)
}

// binary walks an operator. The right side of a logical one may not run. A chain of operators leans to the left, so the
// walk goes down without recursion.
func (w *walker) binary(i uint32) {
	var chain []uint32
	for w.kind(i) == js.BinaryExpression {
		chain = append(chain, i)
		i = w.field(i, js.FieldLeft)
	}
	w.expr(i)
	for n := len(chain) - 1; n >= 0; n-- {
		right := w.field(chain[n], js.FieldRight)
		switch w.src(w.field(chain[n], js.FieldOperator)) {
		case "&&", "||", "??":
			w.maybe(func() { w.expr(right) })
		default:
			w.expr(right)
		}
	}
}

func (w *walker) ternary(i uint32) {
	w.expr(w.field(i, js.FieldCondition))
	f := w.fork()
	w.expr(w.field(i, js.FieldConsequence))
	w.arm(&f, false)
	w.expr(w.field(i, js.FieldAlternative))
	w.arm(&f, false)
	w.join(&f)
}

// functionThis says what this means in a function expression. One that becomes a member is called on an object.
func (w *walker) functionThis(i uint32) meaning {
	if i == 0 {
		return sloppyThis
	}
	switch w.nodes[i].Field {
	case js.FieldRight, js.FieldValue, js.FieldConstructor:
		return methodThis
	}
	return sloppyThis
}

// element walks a JSX element. A name in lower case is text; another is read, and so is React, which a classic
// translation calls.
func (w *walker) element(i uint32) {
	w.calls()
	w.useText("React")
	for c := i + 1; c < w.end(i); c = w.next(c) {
		switch w.kind(c) {
		case js.JSXOpeningElement:
			w.tag(c)
		case js.JSXClosingElement:
		default:
			if w.kind(i) == js.JSXElement {
				w.expr(c)
			}
		}
	}
	if w.kind(i) == js.JSXSelfClosingElement {
		w.tag(i)
	}
}

func (w *walker) tag(i uint32) {
	for c := i + 1; c < w.end(i); c = w.next(c) {
		if w.nodes[c].Field != js.FieldName {
			w.expr(c)
			continue
		}
		switch w.kind(c) {
		case js.Identifier:
			if text := w.src(c); text[0] < 'a' || text[0] > 'z' {
				w.useName(c)
			}
		case js.MemberExpression, js.NestedIdentifier:
			root := c
			for w.kind(root) != js.Identifier && w.kind(root) != js.This && root+1 < w.end(c) {
				root++
			}
			if w.kind(root) == js.Identifier {
				w.useName(root)
			}
		}
	}
}

// awaits records that the statement needs a running event loop.
func (w *walker) awaits() {
	w.calls()
	if !w.later() {
		w.now.Await = true
	}
}

// calls records that the statement calls something.
func (w *walker) calls() {
	if !w.later() {
		w.now.calls = true
	}
}
