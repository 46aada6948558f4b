package javascript

import (
	"strings"

	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

// functionDeclaration walks a function declaration and binds its name. In a block of a sloppy script it binds a var
// too.
func (w *walker) functionDeclaration(i uint32) {
	w.function(i, sloppyThis)
	name := w.field(i, js.FieldName)
	if name == 0 {
		return
	}
	w.bindName(name)
	if w.strict || len(w.open) == 0 || w.inFunctionBody() {
		return
	}
	if s := w.global(w.name(name)); w.syms[s].how == byAnnexB || w.syms[s].how == byVar {
		w.maybe(func() { w.bind(s) })
	}
}

// inFunctionBody reports whether the current scope is the body of a function itself.
func (w *walker) inFunctionBody() bool { return w.open[len(w.open)-1].kind == functionScope }

// function walks a function, method or arrow function as code that runs later.
func (w *walker) function(i uint32, this meaning) {
	w.checkLines(i)
	savedThis, savedStrict := w.this, w.strict
	arrow := w.kind(i) == js.ArrowFunction
	body := w.field(i, js.FieldBody)
	if body != 0 && w.kind(body) == js.StatementBlock && w.directive(body) {
		w.strict = true
	}
	if w.strict && !arrow {
		this = ownThis
	}
	if !arrow {
		w.this = this
	}
	named := false
	if k := w.kind(i); k == js.FunctionExpression || k == js.GeneratorFunction {
		if name := w.field(i, js.FieldName); name != 0 {
			named = true
			w.enter(nameScope, false)
			w.declare(w.name(name), byParameter)
		}
	}
	w.enter(functionScope, true)
	if !arrow {
		w.declare(w.intern("arguments"), byParameter)
	}
	w.parameters(i)
	if body != 0 {
		w.enter(functionScope, true)
		if w.kind(body) == js.StatementBlock {
			w.declareStatements(body)
			w.declareVars(body+1, w.end(body))
			w.list(body)
		} else {
			w.expr(body)
		}
		w.leave()
	}
	w.leave()
	if named {
		w.leave()
	}
	w.this, w.strict = savedThis, savedStrict
}

// parameters declares the parameters of a function, and walks their default values.
func (w *walker) parameters(i uint32) {
	if single := w.field(i, js.FieldParameter); single != 0 {
		w.declareNames(single, byParameter)
		return
	}
	list := w.field(i, js.FieldParameters)
	if list == 0 {
		return
	}
	for c := list + 1; c < w.end(list); c = w.next(c) {
		if w.kind(c) != js.Token {
			w.declareNames(c, byParameter)
		}
	}
	for c := list + 1; c < w.end(list); c = w.next(c) {
		if w.kind(c) != js.Token && w.kind(c) != js.Decorator {
			w.target(c)
		}
	}
}

// parameterDecorators walks the decorators of parameters, which run when the class is made.
func (w *walker) parameterDecorators(i uint32) {
	list := w.field(i, js.FieldParameters)
	if list == 0 {
		return
	}
	for c := list + 1; c < w.end(list); c = w.next(c) {
		if w.kind(c) != js.Token {
			w.decorators(c)
		}
	}
}

// directive reports whether a body begins with "use strict", perhaps after other directives.
func (w *walker) directive(i uint32) bool {
	for c := i + 1; c < w.end(i); c = w.next(c) {
		switch w.kind(c) {
		case js.Token, js.HashBangLine:
			continue
		case js.ExpressionStatement:
			if s := c + 1; w.kind(s) == js.String && w.next(s) >= w.end(c)-1 {
				if strings.Trim(w.src(s), `'"`) == useStrict {
					return true
				}
				continue
			}
		}
		return false
	}
	return false
}

// checkLines refuses a line end where JavaScript ends the statement, or fails, and the grammar continues: after async
// and before an arrow.
func (w *walker) checkLines(i uint32) {
	for c := i + 1; w.next(c) < w.end(i); c = w.next(c) {
		first, second := w.src(c), w.src(w.next(c))
		if (w.kind(c) == js.Token && first == "async" || second == "=>") && w.endsLine(c) {
			w.fail(w.next(c), "no line may end before %q here", second[:min(len(second), 10)])
		}
	}
}

// endsLine reports whether a line ends between node i and its next sibling.
func (w *walker) endsLine(i uint32) bool {
	return strings.ContainsAny(w.text[w.nodes[i].End:w.nodes[w.next(i)].Start], "\n\r\u2028\u2029")
}
