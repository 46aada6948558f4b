package javascript

import js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"

// stmt walks a statement. It reports whether control never continues after it.
func (w *walker) stmt(i uint32) (ends bool) {
	if !w.deeper(i) {
		return false
	}
	defer func() { w.depth-- }()
	if w.isTypeOnly(i) {
		return false
	}
	switch w.kind(i) {
	case js.ExpressionStatement:
		w.exprs(i)
	case js.VariableDeclaration, js.LexicalDeclaration:
		w.variables(i)
	case js.FunctionDeclaration, js.GeneratorFunctionDeclaration:
		w.functionDeclaration(i)
	case js.ClassDeclaration, js.AbstractClassDeclaration:
		w.classDeclaration(i)
	case js.StatementBlock:
		return w.block(i)
	case js.IfStatement:
		return w.ifStatement(i)
	case js.ForStatement:
		w.forStatement(i)
	case js.ForInStatement:
		w.forInStatement(i)
	case js.WhileStatement:
		w.expr(w.field(i, js.FieldCondition))
		w.maybe(func() { w.stmt(w.field(i, js.FieldBody)) })
	case js.DoStatement:
		w.doStatement(i)
	case js.SwitchStatement:
		w.switchStatement(i)
	case js.TryStatement:
		return w.tryStatement(i)
	case js.LabeledStatement:
		w.maybe(func() { w.stmt(w.field(i, js.FieldBody)) }) // a break may leave it anywhere
	case js.WithStatement:
		w.dynamic("with", i)
		w.expr(w.field(i, js.FieldObject))
		w.maybe(func() { w.stmt(w.field(i, js.FieldBody)) })
	case js.ReturnStatement, js.ThrowStatement:
		w.checkOperand(i)
		w.exprs(i)
		return true
	case js.BreakStatement, js.ContinueStatement:
		return true
	case js.ImportStatement:
		w.importStatement(i)
	case js.ExportStatement:
		return w.exportStatement(i)
	case js.EnumDeclaration:
		w.enum(i)
	case js.Module, js.InternalModule:
		w.namespace(i)
	case js.ImportAlias:
		w.importAlias(i)
	case js.EmptyStatement, js.DebuggerStatement, js.HashBangLine:
	default:
		w.exprs(i)
	}
	return false
}

// checkOperand refuses a line end between a word such as throw and its operand.
func (w *walker) checkOperand(i uint32) {
	if c := i + 1; w.next(c) < w.end(i) && w.kind(w.next(c)) != js.Token && w.endsLine(c) {
		w.fail(i, "no line may end after %s", w.src(c))
	}
}

// block walks the statements of a block in a new scope.
func (w *walker) block(i uint32) (ends bool) {
	w.enter(blockScope, false)
	w.declareStatements(i)
	ends = w.list(i)
	w.leave()
	return ends
}

// list walks statements in the current scope. Functions come first, as they are bound before the others run.
func (w *walker) list(i uint32) (ends bool) {
	for c := i + 1; c < w.end(i); c = w.next(c) {
		if w.kind(c) != js.Token && isFunctionDeclaration(w.kind(w.declaredBy(c))) {
			w.stmt(c)
		}
	}
	for c := i + 1; c < w.end(i); c = w.next(c) {
		if w.kind(c) != js.Token && !isFunctionDeclaration(w.kind(w.declaredBy(c))) && w.stmt(c) {
			ends = true
		}
	}
	return ends
}

// variables walks the declarators of var, let and const: first the value, then the names.
func (w *walker) variables(i uint32) {
	for c := i + 1; c < w.end(i); c = w.next(c) {
		if w.kind(c) != js.VariableDeclarator {
			continue
		}
		if value := w.field(c, js.FieldValue); value != 0 {
			w.noteRequire(c+1, value)
			w.expr(value)
		} else if w.kind(i) == js.VariableDeclaration {
			continue // var without a value changes nothing; cut says what hoisting does
		}
		w.target(c + 1)
	}
}

func (w *walker) ifStatement(i uint32) (ends bool) {
	w.expr(w.field(i, js.FieldCondition))
	f := w.fork()
	ends = w.stmt(w.field(i, js.FieldConsequence))
	w.arm(&f, ends)
	other := w.field(i, js.FieldAlternative)
	if other == 0 {
		return false
	}
	otherEnds := w.stmt(w.inner(other))
	w.arm(&f, otherEnds)
	w.join(&f)
	return ends && otherEnds
}

func (w *walker) forStatement(i uint32) {
	w.enter(blockScope, false)
	if init := w.field(i, js.FieldInitializer); init != 0 {
		w.declareStatement(init)
		w.stmtOrExpr(init)
	}
	if condition := w.field(i, js.FieldCondition); condition != 0 {
		w.stmtOrExpr(condition)
	}
	w.maybe(func() {
		w.stmt(w.field(i, js.FieldBody))
		if step := w.field(i, js.FieldIncrement); step != 0 {
			w.expr(step)
		}
	})
	w.leave()
}

// stmtOrExpr walks a part of the head of a for statement.
func (w *walker) stmtOrExpr(i uint32) {
	switch w.kind(i) {
	case js.VariableDeclaration, js.LexicalDeclaration, js.ExpressionStatement, js.EmptyStatement:
		w.stmt(i)
	default:
		w.expr(i)
	}
}

func (w *walker) forInStatement(i uint32) {
	w.enter(blockScope, false)
	left, kind := w.field(i, js.FieldLeft), w.field(i, js.FieldKind)
	if kind != 0 && w.src(kind) != "var" {
		w.declareNames(left, byLexical)
	}
	if w.has(i, "await") {
		w.awaits()
	}
	if w.src(w.field(i, js.FieldOperator)) == "of" {
		w.calls() // an iterator may be the program's own
	}
	if value := w.field(i, js.FieldValue); value != 0 { // for (var x = 1 in y)
		w.expr(value)
	}
	w.expr(w.field(i, js.FieldRight))
	w.maybe(func() {
		w.target(left)
		w.stmt(w.field(i, js.FieldBody))
	})
	w.leave()
}

func (w *walker) doStatement(i uint32) {
	body := w.field(i, js.FieldBody)
	if w.jumps(body) {
		w.maybe(func() { w.stmt(body) })
	} else {
		w.stmt(body)
	}
	w.expr(w.field(i, js.FieldCondition))
}

// jumps reports whether a break or continue is below node i.
func (w *walker) jumps(i uint32) bool {
	for ; i < w.end(i); i++ {
		if k := w.kind(i); k == js.BreakStatement || k == js.ContinueStatement {
			return true
		}
		if i+1 == w.end(i) {
			return false
		}
	}
	return false
}

func (w *walker) switchStatement(i uint32) {
	w.expr(w.field(i, js.FieldValue))
	body := w.field(i, js.FieldBody)
	w.enter(blockScope, false)
	for c := body + 1; c < w.end(body); c = w.next(c) {
		w.declareStatements(c)
	}
	for c := body + 1; c < w.end(body); c = w.next(c) {
		w.maybe(func() {
			for k := c + 1; k < w.end(c); k = w.next(k) {
				switch {
				case w.nodes[k].Field == js.FieldValue:
					w.expr(k)
				case w.kind(k) != js.Token:
					w.stmt(k)
				}
			}
		})
	}
	w.leave()
}

func (w *walker) tryStatement(i uint32) (ends bool) {
	f := w.fork()
	body, handler := w.field(i, js.FieldBody), w.field(i, js.FieldHandler)
	bodyEnds := w.block(body)
	var bound []int32
	if handler == 0 {
		bound = append(bound, w.log[f.start:]...)
	}
	w.arm(&f, bodyEnds)
	handlerEnds := false
	if handler != 0 {
		w.enter(blockScope, false)
		if parameter := w.field(handler, js.FieldParameter); parameter != 0 {
			w.declareNames(parameter, byCatch)
			w.target(parameter)
		}
		handlerEnds = w.block(w.field(handler, js.FieldBody))
		w.leave()
		w.arm(&f, handlerEnds)
	}
	finalEnds := false
	if final := w.field(i, js.FieldFinalizer); final != 0 {
		finalEnds = w.block(w.field(final, js.FieldBody))
	}
	if handler != 0 {
		w.join(&f)
	}
	for _, s := range bound { // after try/finally, the body has run to its end
		w.certain(s)
	}
	return finalEnds || bodyEnds && (handler == 0 || handlerEnds)
}
