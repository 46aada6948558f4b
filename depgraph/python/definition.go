package python

import (
	"github.com/xstate-engine/xstate/depgraph"
	p "github.com/xstate-engine/xstate/internal/pytree"
)

// definition tells whether a def, class or decorated definition can be restored by running its source again: whether
// its evaluation calls nothing. Operators, attributes and items are taken as calling nothing: __or__ in "int | None",
// __class_getitem__ in "list[int]". A display such as [] is made anew by each run and is allowed too.
func (w *walker) definition(i uint32) depgraph.Kind {
	switch w.sym(i) {
	case p.FunctionDefinition:
		if w.plainFunction(i) {
			return depgraph.KindDef
		}
	case p.ClassDefinition:
		if w.plainClass(i) {
			return depgraph.KindClass
		}
	}
	return depgraph.KindStatement // to decorate is to call
}

// plainFunction looks at everything of a def but its body.
func (w *walker) plainFunction(i uint32) bool {
	for c := w.child(i); c < w.end(i); c = w.next(c) {
		switch w.sym(c) {
		case p.Parameters, p.Type:
			if !w.callsNothing(c) {
				return false
			}
		}
	}
	return true
}

func (w *walker) plainClass(i uint32) bool {
	for c := w.child(i); c < w.end(i); c = w.next(c) {
		switch w.sym(c) {
		case p.ArgumentList:
			if !w.callsNothing(c) {
				return false
			}
		case p.Block:
			for k := w.child(c); k < w.end(c); k = w.next(k) {
				if !w.plainMember(k) {
					return false
				}
			}
		}
	}
	return true
}

// plainMember looks at a statement of a class body.
func (w *walker) plainMember(i uint32) bool {
	switch w.sym(i) {
	case p.FunctionDefinition:
		return w.plainFunction(i)
	case p.ClassDefinition:
		return w.plainClass(i)
	case p.DecoratedDefinition:
		for c := w.child(i); c < w.end(i); c = w.next(c) {
			if w.sym(c) == p.Decorator {
				if !w.plainDecorator(w.lastChild(c)) {
					return false
				}
			} else if !w.plainMember(c) {
				return false
			}
		}
		return true
	case p.ExpressionStatement:
		if c := w.child(i); w.sym(c) == p.AugmentedAssignment {
			return false
		}
		return w.callsNothing(i)
	case p.PassStatement, p.TypeAliasStatement, p.Semicolon:
		return true
	}
	return false
}

// plainDecorator knows the decorators of methods that come with the language and only wrap what they are given.
func (w *walker) plainDecorator(i uint32) bool {
	switch w.src(i) {
	case "property", "staticmethod", "classmethod":
		return true
	}
	if w.sym(i) != p.Attribute || w.sym(w.child(i)) != p.Identifier {
		return false
	}
	switch w.src(w.lastChild(i)) {
	case "setter", "getter", "deleter":
		return true
	}
	return false
}

// callsNothing reports whether evaluating node i calls nothing, as far as the text shows. A lambda's body is not
// evaluated. Assigning to an attribute or item calls, so those targets count as calls as well.
func (w *walker) callsNothing(i uint32) bool {
	for c := i; c < w.end(i); {
		switch w.sym(c) {
		case p.Call, p.Await, p.Yield, p.NamedExpression, p.Interpolation,
			p.ListComprehension, p.SetComprehension, p.DictionaryComprehension, p.GeneratorExpression:
			return false
		case p.Assignment:
			if s := w.sym(w.child(c)); s == p.Attribute || s == p.Subscript {
				return false
			}
		case p.Lambda:
			if params := w.child(c) + 1; w.sym(params) == p.LambdaParameters && !w.callsNothing(params) {
				return false
			}
			c = w.next(c)
			continue
		}
		c++
	}
	return true
}
