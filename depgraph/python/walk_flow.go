package python

import p "github.com/xstate-engine/xstate/depgraph/python/pytree"

func (w *walker) ifStatement(i uint32) (ends bool) {
	f, exhaustive, all := fork{}, false, true
	for c := w.child(i); c < w.end(i); c = w.next(c) {
		switch s := w.sym(c); s {
		case p.Block:
			end := w.block(i, c)
			all = all && end
			w.arm(&f, end)
		case p.ElifClause, p.ElseClause:
			w.checkAligned(i, c)
			body := w.lastChild(c)
			for k := w.child(c); k < body; k = w.next(k) {
				w.expr(k)
			}
			end := w.block(c, body)
			all = all && end
			w.arm(&f, end)
			exhaustive = exhaustive || s == p.ElseClause
		case p.KwIf, p.Colon:
		default:
			w.expr(c)
			f = w.fork()
		}
	}
	if exhaustive {
		w.join(&f)
	}
	return exhaustive && all
}

func (w *walker) forStatement(i uint32) {
	c := w.child(i)
	if w.sym(c) == p.KwAsync {
		w.awaits(i)
		c = w.next(c)
	}
	left := w.next(c)
	in := w.next(left)
	right := w.next(in)
	w.expr(right)
	f := w.fork()
	w.target(left, isAssigned)
	w.loopBody(i, w.next(right), &f)
}

func (w *walker) whileStatement(i uint32) {
	condition := w.child(i) + 1
	w.expr(condition)
	f := w.fork()
	w.loopBody(i, w.next(condition), &f)
}

// loopBody walks the body of a loop, which may not run, and its else clause.
func (w *walker) loopBody(i, c uint32, f *fork) {
	for ; c < w.end(i); c = w.next(c) {
		switch w.sym(c) {
		case p.Block:
			w.flow.loops++
			w.block(i, c)
			w.flow.loops--
			w.arm(f, true)
		case p.ElseClause:
			w.checkAligned(i, c)
			w.block(c, w.lastChild(c))
			w.arm(f, true)
		}
	}
}

func (w *walker) withStatement(i uint32) {
	f, first := fork{}, true
	body := uint32(0)
	for c := w.child(i); c < w.end(i); c = w.next(c) {
		switch w.sym(c) {
		case p.KwAsync:
			w.awaits(i)
		case p.WithClause:
			for item := w.child(c); item < w.end(c); item = w.next(item) {
				if w.sym(item) != p.WithItem {
					continue
				}
				w.withItem(w.child(item))
				if first {
					// The context manager may swallow an exception from here on.
					f, first = w.fork(), false
				}
			}
		case p.Block:
			body = c
		}
	}
	w.block(i, body)
	w.arm(&f, true)
}

func (w *walker) withItem(i uint32) {
	if s := w.sym(i); s == p.ParenthesizedExpression || s == p.Tuple {
		// "with (a as b):" and "with (a as b,):" hold items in parentheses, not expressions.
		if as := w.find(i, w.child(i), p.AsPattern); as < w.end(i) {
			for c := w.child(i); c < w.end(i); c = w.next(c) {
				w.withItem(c)
			}
			return
		}
	}
	if w.sym(i) != p.AsPattern {
		w.expr(i)
		w.mutateRoot(i)
		return
	}
	value := w.child(i)
	w.expr(value)
	w.mutateRoot(value)
	w.target(w.lastChild(i), isAssigned)
}

func (w *walker) tryStatement(i uint32) (ends bool) {
	f := w.fork()
	handlers, finals, bodyEnds, allEnd := 0, false, false, true
	body := w.find(i, w.child(i), p.Block)
	bodyEnds = w.block(i, body)
	for c := w.next(body); c < w.end(i); c = w.next(c) {
		w.checkAligned(i, c)
		if w.sym(c) == p.ElseClause {
			bodyEnds = w.block(c, w.lastChild(c)) ||
				bodyEnds // runs after the whole body, so what the body bound is certain
		}
		if s := w.sym(c); s == p.ExceptClause || s == p.ExceptGroupClause {
			handlers++
		}
	}
	var bound []int32
	if handlers == 0 {
		bound = append(bound, w.log[f.start:]...)
	}
	w.arm(&f, bodyEnds)
	for c := w.next(body); c < w.end(i); c = w.next(c) {
		switch w.sym(c) {
		case p.ExceptClause, p.ExceptGroupClause:
			end := w.handler(c)
			allEnd = allEnd && end
			w.arm(&f, end)
		case p.FinallyClause:
			finals = true
			w.block(c, w.lastChild(c))
		}
	}
	if handlers == 0 && !finals {
		w.failNode(i, "expected except or finally block")
	}
	if handlers > 0 {
		w.join(&f)
	}
	for _, s := range bound { // after try/finally, the body has run to its end
		w.certain(s)
	}
	return bodyEnds && allEnd
}

// handler walks an except clause. The clause binds its name and unbinds it at the end.
func (w *walker) handler(i uint32) (ends bool) {
	name := uint32(0)
	for c := w.child(i); c < w.end(i); c = w.next(c) {
		switch w.sym(c) {
		case p.AsPattern:
			w.expr(w.child(c))
			name = w.child(w.lastChild(c))
			if w.sym(name) != p.Identifier {
				w.failNode(name, "cannot assign to %s", w.src(name))
				name = 0
				continue
			}
			w.bindName(name, isAssigned)
		case p.Block:
			ends = w.block(i, c)
		default:
			w.expr(c)
		}
	}
	if name != 0 {
		w.unbind(w.ident(name))
	}
	return ends
}

func (w *walker) matchStatement(i uint32) (ends bool) {
	f := fork{}
	for c := w.child(i); c < w.end(i); c = w.next(c) {
		if w.sym(c) != p.Block {
			w.expr(c)
			continue
		}
		if w.child(c) == w.end(c) {
			w.failNode(i, "expected an indented block")
			return false
		}
		w.checkBlockIndentation(i, c)
		f = w.fork()
		for k := w.child(c); k < w.end(c); k = w.next(k) {
			w.caseClause(k)
			w.arm(&f, true)
		}
	}
	return false
}

func (w *walker) caseClause(i uint32) {
	for c := w.child(i); c < w.end(i); c = w.next(c) {
		switch w.sym(c) {
		case p.CasePattern:
			w.pattern(c)
		case p.Block:
			w.block(i, c)
		case p.KwCase, p.Comma, p.Colon:
		default:
			w.expr(c)
		}
	}
}

// pattern walks a pattern of a case clause. Bare names capture; dotted names and class names are read.
func (w *walker) pattern(i uint32) {
	switch w.sym(i) {
	case p.DottedName:
		first := w.child(i)
		if w.next(first) < w.end(i) {
			w.useName(first)
		} else if w.src(first) != "_" {
			w.bindName(first, isAssigned)
		}
	case p.ClassPattern:
		w.useName(w.child(w.child(i)))
		for c := w.next(w.child(i)); c < w.end(i); c = w.next(c) {
			w.pattern(c)
		}
	case p.KeywordPattern:
		for c := w.next(w.child(i)); c < w.end(i); c = w.next(c) {
			w.pattern(c)
		}
	case p.Identifier: // after a star, or after as
		if w.src(i) != "_" {
			w.bindName(i, isAssigned)
		}
	case p.String, p.ConcatenatedString:
		w.expr(i)
	default:
		for c := w.child(i); c < w.end(i); c = w.next(c) {
			w.pattern(c)
		}
	}
}
