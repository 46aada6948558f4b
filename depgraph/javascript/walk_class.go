package javascript

import js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"

func (w *walker) classDeclaration(i uint32) {
	w.class(i)
	if name := w.field(i, js.FieldName); name != 0 {
		w.bindName(name)
	}
}

// class walks a class: heritage, computed names, decorators and static members at once, the rest as code that runs
// later. In the class, its name is a local one.
func (w *walker) class(i uint32) {
	w.decorators(i)
	savedStrict, savedThis := w.strict, w.this
	w.strict = true
	w.enter(classScope, false)
	if name := w.field(i, js.FieldName); name != 0 {
		w.declare(w.name(name), byParameter)
	}
	if heritage := w.find(i, js.ClassHeritage); heritage != 0 {
		w.heritage(heritage)
	}
	body := w.field(i, js.FieldBody)
	for c := body + 1; body != 0 && c < w.end(body); c = w.next(c) {
		w.classMember(c)
	}
	w.leave()
	w.strict, w.this = savedStrict, savedThis
}

func (w *walker) heritage(i uint32) {
	for c := i + 1; c < w.end(i); c = w.next(c) {
		switch w.kind(c) {
		case js.ExtendsClause:
			w.exprs(c)
		case js.ImplementsClause, js.Token, js.TypeArguments:
		default:
			w.expr(c)
		}
	}
}

// decorators walks the decorators of a class or a member.
func (w *walker) decorators(i uint32) {
	for c := i + 1; c < w.end(i); c = w.next(c) {
		if w.kind(c) == js.Decorator {
			w.decorator(c)
		}
	}
}

func (w *walker) decorator(i uint32) {
	w.calls()
	w.exprs(i)
}

// classMember walks one member of a class.
func (w *walker) classMember(i uint32) {
	switch w.kind(i) {
	case js.Decorator:
		w.decorator(i)
	case js.MethodDefinition:
		w.decorators(i)
		w.propertyName(w.field(i, js.FieldName))
		w.parameterDecorators(i)
		w.function(i, ownThis)
	case js.ClassStaticBlock:
		w.calls()
		w.this = ownThis
		w.enter(functionScope, false)
		body := w.field(i, js.FieldBody)
		w.declareStatements(body)
		w.declareVars(body+1, w.end(body))
		w.list(body)
		w.leave()
	case js.FieldDefinition, js.PublicFieldDefinition:
		w.decorators(i)
		name := w.field(i, js.FieldProperty)
		if name == 0 {
			name = w.field(i, js.FieldName)
		}
		w.propertyName(name)
		if value := w.field(i, js.FieldValue); value != 0 && !w.isTypeOnly(i) {
			w.this = ownThis
			w.enter(functionScope, !w.has(i, "static"))
			w.expr(value)
			w.leave()
		}
	}
}
