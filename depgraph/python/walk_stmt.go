package python

import p "github.com/xstate-engine/xstate/depgraph/python/pytree"

// stmt walks a statement. It reports whether control never continues after it.
func (w *walker) stmt(i uint32) (ends bool) {
	if !w.deeper(i) {
		return false
	}
	defer func() { w.depth-- }()
	switch w.sym(i) {
	case p.ExpressionStatement:
		w.expressionStatement(i)
	case p.FunctionDefinition:
		w.function(i)
	case p.ClassDefinition:
		w.class(i)
	case p.DecoratedDefinition:
		w.decorated(i)
	case p.IfStatement:
		return w.ifStatement(i)
	case p.ForStatement:
		w.forStatement(i)
	case p.WhileStatement:
		w.whileStatement(i)
	case p.TryStatement:
		return w.tryStatement(i)
	case p.WithStatement:
		w.withStatement(i)
	case p.MatchStatement:
		return w.matchStatement(i)
	case p.ImportStatement, p.ImportFromStatement, p.FutureImportStatement:
		w.importStatement(i)
	case p.ReturnStatement:
		if !w.flow.function {
			w.failNode(i, "return outside a function")
		}
		w.exprs(i)
		return true
	case p.RaiseStatement:
		if c := w.find(i, w.child(i), p.ExpressionList); c < w.end(i) {
			w.failNode(i, "raise takes one exception")
		}
		w.exprs(i)
		return true
	case p.BreakStatement, p.ContinueStatement:
		if w.flow.loops == 0 {
			w.failNode(i, "%s outside a loop", w.src(i))
		}
		return true
	case p.DeleteStatement:
		w.deleteStatement(i)
	case p.GlobalStatement:
		w.declareNames(i, isGlobal)
	case p.NonlocalStatement:
		w.declareNames(i, isNonlocal)
	case p.TypeAliasStatement:
		w.typeAlias(i)
	case p.AssertStatement, p.PassStatement:
		w.exprs(i)
	case p.PrintStatement:
		if c := w.child(i) + 1; w.sym(c) == p.Chevron { // in Python 3 a shift: print >> f, x
			w.useName(w.child(i))
			w.exprs(i)
			return false
		}
		w.failNode(i, "missing parentheses in call to print: this is a statement of Python 2")
	case p.ExecStatement:
		w.failNode(i, "missing parentheses in call to exec: this is a statement of Python 2")
	default:
		w.exprs(i)
	}
	return false
}

// block walks the statements of a block. The block belongs to the statement or clause owner.
func (w *walker) block(owner, i uint32) (ends bool) {
	if w.sym(i) != p.Block || w.child(i) == w.end(i) {
		w.failNode(owner, "expected an indented block")
		return false
	}
	w.checkBlockIndentation(owner, i)
	for c := w.child(i); c < w.end(i); c = w.next(c) {
		if w.sym(c) >= firstNonTerminal && w.stmt(c) {
			ends = true
		}
	}
	return ends
}

func (w *walker) expressionStatement(i uint32) {
	c := w.child(i)
	switch w.sym(c) {
	case p.Assignment:
		w.assignment(c)
	case p.AugmentedAssignment:
		left := w.unwrap(w.child(c))
		switch w.sym(left) {
		case p.Identifier:
			w.read(w.ident(left))
		case p.Attribute, p.Subscript:
			w.expr(left)
		default:
			w.failNode(left, "this is not a target for augmented assignment")
		}
		w.expr(w.lastChild(c))
		w.mutateRoot(left)
		if w.sym(left) == p.Identifier {
			w.bindName(left, isAssigned)
		}
	case p.NamedExpression:
		w.failNode(c, "an assignment expression needs parentheses here")
	default:
		w.exprs(i)
	}
}

// unwrap returns the content of the parentheses of a target such as (x). The grammar takes it for a tuple.
func (w *walker) unwrap(i uint32) uint32 {
	for w.sym(i) == p.TuplePattern || w.sym(i) == p.ParenthesizedExpression {
		inner := i + 2
		if inner >= w.end(i) || w.sym(i+1) != p.LeftParen || w.next(inner) != w.end(i)-1 {
			return i
		}
		i = inner
	}
	return i
}

// assignment walks a = b: T = value, from the value to the targets.
func (w *walker) assignment(i uint32) {
	left := w.child(i)
	typ := w.find(i, left, p.Type)
	equal := w.find(i, left, p.Equal)
	if equal < w.end(i) {
		if value := w.next(equal); w.sym(value) == p.Assignment {
			w.assignment(value)
		} else if w.sym(value) == p.NamedExpression {
			w.failNode(value, "an assignment expression needs parentheses here")
		} else {
			w.expr(value)
		}
	}
	if typ == w.end(i) {
		w.target(left, isAssigned)
		return
	}
	if timing := w.all[w.cur].timing; w.flow.function {
		w.all[w.cur].timing = never
		w.annotation(typ)
		w.all[w.cur].timing = timing
	} else {
		w.annotation(typ)
	}
	switch w.sym(left) {
	case p.Identifier:
		id := w.ident(left)
		if s := w.at(w.cur, id); w.syms[s].flags&(isGlobal|isNonlocal) != 0 && w.cur != 0 {
			w.failNode(left, "annotated name %s cannot be global or nonlocal", w.names.texts[id])
		}
		if equal < w.end(i) {
			w.bind(id, isAssigned|isAnnotated)
		} else {
			w.declare(id, isAssigned|isAnnotated)
		}
	case p.Attribute, p.Subscript:
		w.target(left, isAssigned)
	case p.TuplePattern, p.ParenthesizedExpression:
		inner := w.unwrap(left)
		if s := w.sym(inner); s != p.Identifier && s != p.Attribute && s != p.Subscript {
			w.failNode(left, "only single target can be annotated")
		} else if equal < w.end(i) || s != p.Identifier {
			w.target(inner, isAssigned)
		}
	default:
		w.failNode(left, "only single target can be annotated")
	}
}

// target binds what is left of an equals sign, or after for or as.
func (w *walker) target(i uint32, sort symbolFlags) {
	switch w.sym(i) {
	case p.Identifier:
		w.bindName(i, sort)
	case p.Attribute, p.Subscript:
		w.expr(i)
		w.mutateRoot(i)
	case p.PatternList, p.TuplePattern, p.ListPattern, p.Tuple, p.List, p.ExpressionList,
		p.ListSplat, p.ListSplatPattern, p.ParenthesizedExpression, p.AsPatternTarget:
		for c := w.child(i); c < w.end(i); c = w.next(c) {
			if s := w.sym(c); s >= firstNonTerminal || s == p.Identifier {
				w.target(c, sort)
			} else if s > p.KwExec && s != p.LeftBracket && s != p.RightBracket && s != p.Star {
				w.failNode(c, "cannot assign to %s", w.src(c))
			}
		}
	default:
		w.failNode(i, "cannot assign to %s", w.src(i))
	}
}

func (w *walker) deleteStatement(i uint32) {
	for c := w.child(i) + 1; c < w.end(i); c = w.next(c) {
		w.deleteTarget(c)
	}
}

func (w *walker) deleteTarget(i uint32) {
	switch w.sym(i) {
	case p.Identifier:
		w.unbind(w.ident(i))
	case p.Attribute, p.Subscript:
		w.expr(i)
		w.mutateRoot(i)
	case p.Tuple, p.List, p.ExpressionList, p.ParenthesizedExpression:
		for c := w.child(i); c < w.end(i); c = w.next(c) {
			if s := w.sym(c); s >= firstNonTerminal || s == p.Identifier {
				w.deleteTarget(c)
			}
		}
	case p.LeftParen, p.RightParen, p.Comma:
	default:
		w.failNode(i, "cannot delete %s", w.src(i))
	}
}

func (w *walker) declareNames(i uint32, m symbolFlags) {
	for c := w.child(i) + 1; c < w.end(i); c = w.next(c) {
		if w.sym(c) != p.Identifier {
			continue
		}
		id := w.ident(c)
		if m == isNonlocal && w.cur == 0 {
			w.failNode(c, "nonlocal declaration not allowed at module level")
			return
		}
		switch s := w.syms[w.at(w.cur, id)].flags; {
		case s&isParam != 0:
			w.failNode(c, "name %s is parameter and %s", w.names.texts[id], w.src(i+1))
		case s&(isAssigned|isImported|isUsed|isAnnotated) != 0:
			w.failNode(c, "name %s is used prior to its %s declaration", w.names.texts[id], w.src(i+1))
		case s&(isGlobal|isNonlocal)&^m != 0:
			w.failNode(c, "name %s is nonlocal and global", w.names.texts[id])
		}
		w.declare(id, m)
		if m == isGlobal {
			w.syms[w.at(0, id)].flags |= isGlobal
		}
	}
}

func (w *walker) decorated(i uint32) {
	for c := w.child(i); c < w.end(i); c = w.next(c) {
		w.checkAligned(i, c)
		if w.sym(c) == p.Decorator {
			w.exprs(c)
		} else {
			w.stmt(c)
		}
	}
}
