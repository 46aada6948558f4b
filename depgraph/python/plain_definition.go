package python

import (
	"github.com/xstate-engine/xstate/depgraph"
	p "github.com/xstate-engine/xstate/depgraph/python/pytree"
)

// definition returns the kind of a def, class or decorated definition. If its evaluation calls nothing, running its
// source again restores it, so it is a KindDef or KindClass. The package assumes that operators, attributes and items
// call nothing, such as __or__ in "int | None" and __class_getitem__ in "list[int]". A display such as [] is allowed,
// although each run creates a new object.
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
	return depgraph.KindStatement // a decorator is a call
}

// plainFunction looks at all parts of a def except its body.
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

// plainDecorator reports whether a decorator is one of Python's own for methods, which only wrap their argument.
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

// callsNothing reports whether evaluating node i calls nothing, as far as the text shows. Python does not evaluate a
// lambda's body. An assignment to an attribute or item calls a method, so it counts as a call.
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
