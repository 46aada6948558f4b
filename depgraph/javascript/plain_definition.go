package javascript

import js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"

// plainClass reports whether evaluating a class calls nothing, so that running its source again restores it. The
// package assumes that operators and members call nothing. An object such as [] is allowed in a static field, although
// each run creates a new one.
func (w *walker) plainClass(i uint32) bool {
	body := w.field(i, js.FieldBody)
	if heritage := w.find(i, js.ClassHeritage); heritage != 0 && !w.callsNothing(heritage) {
		return false
	}
	for k := i; k < w.end(i); k++ {
		if w.kind(k) == js.Decorator {
			return false
		}
	}
	for c := body + 1; body != 0 && c < w.end(body); c = w.next(c) {
		switch w.kind(c) {
		case js.ClassStaticBlock:
			return false
		case js.MethodDefinition:
			if !w.callsNothing(w.field(c, js.FieldName)) {
				return false
			}
		case js.FieldDefinition, js.PublicFieldDefinition:
			value := w.field(c, js.FieldValue)
			computed := w.find(c, js.ComputedPropertyName)
			if computed != 0 && !w.callsNothing(computed) ||
				value != 0 && w.has(c, "static") && !w.callsNothing(value) {
				return false
			}
		}
	}
	return true
}

// callsNothing reports whether evaluating node i calls nothing and changes nothing, as far as the text shows.
func (w *walker) callsNothing(i uint32) bool {
	for end := w.end(i); i < end; {
		switch k := w.kind(i); k {
		case js.CallExpression, js.NewExpression, js.AwaitExpression, js.YieldExpression, js.AssignmentExpression,
			js.AugmentedAssignmentExpression, js.UpdateExpression, js.SpreadElement, js.JSXElement,
			js.JSXSelfClosingElement, js.TemplateSubstitution, js.Class:
			return false
		case js.FunctionExpression, js.GeneratorFunction, js.ArrowFunction, js.MethodDefinition:
			if name := w.field(i, js.FieldName); name != 0 && w.kind(name) == js.ComputedPropertyName &&
				!w.callsNothing(name) {
				return false
			}
			i = w.end(i)
			continue
		case js.UnaryExpression:
			if w.src(w.field(i, js.FieldOperator)) == "delete" {
				return false
			}
		}
		i++
	}
	return true
}
