package javascript

import js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"

// target binds what is left of an equals sign, in the head of a loop, or a parameter.
func (w *walker) target(i uint32) {
	switch w.kind(i) {
	case js.Identifier, js.ShorthandPropertyIdentifierPattern, js.ShorthandPropertyIdentifier:
		w.bindName(i)
	case js.MemberExpression:
		w.member(i, assigned)
		w.mutateRoot(i)
	case js.SubscriptExpression:
		w.subscript(i, assigned)
		w.mutateRoot(i)
	case js.ObjectPattern, js.ArrayPattern, js.RestPattern, js.Object, js.Array, js.SpreadElement,
		js.ParenthesizedExpression:
		for c := i + 1; c < w.end(i); c = w.next(c) {
			if w.kind(c) != js.Token {
				w.target(c)
			}
		}
	case js.PairPattern, js.Pair:
		w.propertyName(w.field(i, js.FieldKey))
		w.target(w.field(i, js.FieldValue))
	case js.AssignmentPattern, js.ObjectAssignmentPattern, js.AssignmentExpression:
		w.maybe(func() { w.expr(w.field(i, js.FieldRight)) })
		w.target(i + 1)
	case js.RequiredParameter, js.OptionalParameter:
		if value := w.field(i, js.FieldValue); value != 0 {
			w.maybe(func() { w.expr(value) })
		}
		if pattern := w.field(i, js.FieldPattern); pattern != 0 && w.kind(pattern) != js.This {
			w.target(pattern)
		}
	case js.AsExpression, js.SatisfiesExpression, js.NonNullExpression:
		w.target(i + 1)
	case js.TypeAssertion:
		w.target(w.end(i) - 1)
	case js.Undefined, js.This:
	default:
		w.expr(i)
	}
}

// propertyName walks the name of a property or member: only a computed one is evaluated.
func (w *walker) propertyName(i uint32) {
	if i != 0 && w.kind(i) == js.ComputedPropertyName {
		w.exprs(i)
	}
}

// mutateRoot records that something reached through the name at the root of i changes.
func (w *walker) mutateRoot(i uint32) {
	if r := w.root(i); r != 0 {
		w.mutate(w.symbolAt(r))
	}
}

// root returns the name that a chain of members and calls starts from, or 0. The result of a function belongs to no
// name.
func (w *walker) root(i uint32) uint32 {
	for i != 0 {
		switch w.kind(i) {
		case js.Identifier:
			return i
		case js.MemberExpression, js.SubscriptExpression:
			i = w.field(i, js.FieldObject)
		case js.CallExpression:
			if i = w.field(i, js.FieldFunction); i != 0 && w.kind(i) == js.Identifier {
				return 0
			}
		case js.ParenthesizedExpression, js.AsExpression, js.SatisfiesExpression, js.NonNullExpression:
			i = w.inner(i)
		default:
			return 0
		}
	}
	return 0
}
