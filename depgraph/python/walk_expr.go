package python

import (
	"strings"

	p "github.com/xstate-engine/xstate/depgraph/python/pytree"
)

// firstNonTerminal is the lowest symbol that is not a token. Names are the only tokens that carry facts.
const firstNonTerminal = p.Module

// expr walks an expression that is evaluated in the current scope.
func (w *walker) expr(i uint32) {
	s := w.sym(i)
	if s < firstNonTerminal {
		switch s {
		case p.Identifier:
			w.useName(i)
		case p.Integer, p.LessGreater:
			w.refuseOldToken(i)
		}
		return
	}
	if !w.deeper(i) {
		return
	}
	switch s {
	case p.Attribute:
		w.attribute(i, false)
	case p.Call:
		w.call(i)
	case p.KeywordArgument, p.KeywordPattern:
		w.expr(w.lastChild(i))
	case p.String:
		w.string(i)
	case p.Lambda:
		w.lambda(i)
	case p.ListComprehension:
		w.comprehension(i, listScope)
	case p.SetComprehension:
		w.comprehension(i, setScope)
	case p.DictionaryComprehension:
		w.comprehension(i, dictScope)
	case p.GeneratorExpression:
		w.comprehension(i, generatorScope)
	case p.NamedExpression:
		w.walrus(i)
	case p.AsPattern:
		w.failNode(i, "as is not allowed here")
	case p.MemberType:
		w.expr(w.child(i))
	case p.Await:
		w.awaits(i)
		w.exprs(i)
	case p.Yield:
		w.yield(i)
	case p.BooleanOperator, p.ConditionalExpression, p.ComparisonOperator:
		// Only a part of it may run.
		f := w.fork()
		w.exprs(i)
		w.arm(&f, true)
	default:
		w.exprs(i)
	}
	w.depth--
}

// exprs walks all children of i as expressions.
func (w *walker) exprs(i uint32) { w.exprsFrom(w.child(i), w.end(i)) }

func (w *walker) exprsFrom(c, end uint32) {
	for ; c < end; c = w.next(c) {
		w.expr(c)
	}
}

func (w *walker) lastChild(i uint32) uint32 {
	last := w.child(i)
	for c := last; c < w.end(i); c = w.next(c) {
		last = c
	}
	return last
}

// find returns the first child of i, at or after c, that has the symbol. If there is none, it returns the end of i.
func (w *walker) find(i, c uint32, s p.Symbol) uint32 {
	for ; c < w.end(i); c = w.next(c) {
		if w.sym(c) == s {
			break
		}
	}
	return c
}

// attribute walks a.b.c. It reads only the leftmost name from the namespace.
func (w *walker) attribute(i uint32, called bool) {
	base, kinds := i, nameKind(0)
	for w.sym(base) == p.Attribute {
		last := w.nodes[base].Next - 1 // the name after the dot
		if id, ok := w.names.ids[w.src(last)]; ok {
			kinds |= w.names.kinds[id]
		} else {
			kinds |= special[w.src(last)]
		}
		base = w.child(base)
	}
	if w.sym(base) != p.Identifier {
		w.expr(base)
		if kinds&(effectName|dynamicName) != 0 {
			w.noteChain(i, noIndex, called)
		}
		return
	}
	id := w.ident(base)
	s := w.use(id)
	if (kinds|w.names.kinds[id])&(effectName|dynamicName|aliasName) != 0 {
		w.noteChain(i, s, called)
	}
}

func (w *walker) call(i uint32) {
	f := w.child(i)
	switch w.sym(f) {
	case p.Attribute:
		w.attribute(f, true)
		if r := w.root(f); r != noIndex {
			w.mutate(w.ident(uint32(r)))
		}
	case p.Identifier:
		id := w.ident(f)
		s := w.use(id)
		if k := w.names.kinds[id]; k != 0 {
			w.noteName(f, s, k, true)
		}
	default:
		w.expr(f)
	}
	if w.sym(f) == p.Attribute && strings.HasPrefix(w.src(f), kernelPrefix) {
		w.atOnce = true
		defer func() { w.atOnce = false }()
	}
	w.exprsFrom(w.next(f), w.end(i))
}

// root returns the name that an attribute, item or call chain starts from, or noIndex.
func (w *walker) root(i uint32) int64 {
	for {
		switch w.sym(i) {
		case p.Identifier:
			return int64(i)
		case p.Attribute, p.Subscript:
			i = w.child(i)
		case p.Call:
			if i = w.child(i); w.sym(i) == p.Identifier {
				return noIndex // the result of a function belongs to no name
			}
		case p.ParenthesizedExpression:
			i = w.next(w.child(i))
			i--
			if w.sym(i) == p.LeftParen {
				i++
			}
		default:
			return noIndex
		}
	}
}

// mutateRoot records that something reached through the name at the root of i changes.
func (w *walker) mutateRoot(i uint32) {
	if r := w.root(i); r != noIndex {
		w.mutate(w.ident(uint32(r)))
	}
}

// comprehension walks a comprehension: its first iterable in the enclosing scope, the rest in a new scope.
func (w *walker) comprehension(i uint32, kind scopeKind) {
	first := w.find(i, w.child(i), p.ForInClause)
	in := w.find(first, w.child(first), p.KwIn)
	w.iterable(first, in)
	f := w.fork()
	w.open(kind, noIndex, w.nodes[i].Start)
	if w.sym(w.child(first)) == p.KwAsync {
		w.awaits(i)
	}
	w.forTarget(first)
	for c := w.next(first); c < w.end(i); c = w.next(c) {
		if w.sym(c) != p.ForInClause {
			w.expr(c)
			continue
		}
		if w.sym(w.child(c)) == p.KwAsync {
			w.awaits(i)
		}
		w.iterable(c, w.find(c, w.child(c), p.KwIn))
		w.forTarget(c)
	}
	for c := w.child(i); c < first; c = w.next(c) {
		if w.sym(c) == p.ListSplat || w.sym(c) == p.DictionarySplat {
			w.failNode(c, "iterable unpacking cannot be used in a comprehension")
		}
		w.expr(c)
	}
	w.arm(&f, true)
	w.close()
}

func (w *walker) iterable(clause, in uint32) {
	for c := w.next(in); c < w.end(clause); c = w.next(c) {
		if w.sym(c) == p.Comma {
			w.failNode(c, "a tuple after in needs parentheses")
		}
		w.flow.iterable++
		w.expr(c)
		w.flow.iterable--
	}
}

func (w *walker) forTarget(clause uint32) {
	c := w.child(clause)
	for ; w.sym(c) != p.KwFor; c = w.next(c) {
	}
	w.target(w.next(c), isAssigned|isIterated)
}

// walrus binds in the nearest function or module outside of comprehensions (PEP 572).
func (w *walker) walrus(i uint32) {
	name := w.child(i)
	w.expr(w.lastChild(i))
	id := w.ident(name)
	if w.sym(name) != p.Identifier {
		w.failNode(name, "cannot use an assignment expression with this target")
		return
	}
	if w.flow.iterable > 0 {
		w.failNode(name, "an assignment expression cannot be used in a comprehension iterable expression")
	}
	home := w.cur
	for home != noIndex && w.all[home].kind.comprehension() {
		if s := w.at(home, id); w.syms[s].flags&isIterated != 0 {
			w.failNode(name, "an assignment expression cannot rebind the iteration variable %s", w.names.texts[id])
		}
		home = w.all[home].parent
	}
	if home == w.cur {
		w.bind(id, isAssigned)
		return
	}
	switch h := w.at(home, id); {
	case w.all[home].kind == classScope:
		w.failNode(name, "an assignment expression within a comprehension cannot be used in a class body")
	case home == 0:
		w.syms[h].flags |= isGlobal
		w.declare(id, isGlobal|isAssigned)
		w.store(id, definesNow)
	case w.syms[h].flags&isGlobal != 0:
		w.syms[h].flags |= isAssigned
		w.declare(id, isGlobal|isAssigned)
		w.store(id, definesNow)
	default:
		w.syms[h].flags |= isAssigned
		w.declare(id, isNonlocal|isAssigned)
	}
}

func (w *walker) declare(id int32, m symbolFlags) { w.syms[w.at(w.cur, id)].flags |= m }

// awaits records that the node needs a running event loop.
func (w *walker) awaits(uint32) {
	if w.all[w.cur].timing == now {
		w.await = true
	}
}

func (w *walker) yield(i uint32) {
	switch k := w.all[w.cur].kind; {
	case k == classScope || k == moduleScope:
		w.failNode(i, "yield outside a function")
	case k.comprehension():
		w.failNode(i, "yield inside a comprehension")
	}
	w.exprs(i)
}
