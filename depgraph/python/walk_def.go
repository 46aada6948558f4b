package python

import (
	"slices"
	"strings"

	p "github.com/xstate-engine/xstate/depgraph/python/pytree"
)

// function walks a def: defaults and annotations at once, the body in its own scope, as code that runs later.
func (w *walker) function(i uint32) {
	c := w.child(i)
	async := w.sym(c) == p.KwAsync
	if async {
		c = w.next(c)
	}
	name := w.next(c) // the one that follows def
	params := w.find(i, name, p.Parameters)
	typeParams := w.find(i, name, p.TypeParameter)
	w.defaults(params)
	generic := typeParams < w.end(i)
	id := w.intern(name, w.src(name)) // a scope's name is not mangled
	if generic {
		w.open(paramsScope, id, w.nodes[i].Start)
		w.typeParameters(typeParams)
	}
	w.annotations(params)
	body := params
	for c := w.next(params); c < w.end(i); c = w.next(c) {
		switch w.sym(c) {
		case p.Type:
			w.annotation(c)
		case p.Block:
			body = c
		}
	}
	w.open(functionScope, id, w.nodes[i].Start)
	if strings.HasPrefix(w.src(name), kernelPrefix) { // its own call follows
		w.all[w.cur].timing = max(w.all[w.all[w.cur].parent].timing, both)
	}
	saved := w.flow
	w.flow = flow{function: true, async: async}
	w.parameters(params)
	w.block(i, body)
	w.flow = saved
	w.close()
	if generic {
		w.close()
	}
	w.bindName(name, isAssigned)
}

func (w *walker) lambda(i uint32) {
	params := w.child(i) + 1
	has := w.sym(params) == p.LambdaParameters
	if has {
		w.defaults(params)
	}
	w.open(lambdaScope, noIndex, w.nodes[i].Start)
	if w.atOnce {
		w.all[w.cur].timing = max(w.all[w.all[w.cur].parent].timing, both)
	}
	saved := w.flow
	w.flow = flow{function: true}
	if has {
		w.parameters(params)
	}
	w.expr(w.lastChild(i))
	w.flow = saved
	w.close()
}

// defaults walks the default values of parameters, which belong to the enclosing scope.
func (w *walker) defaults(params uint32) {
	for c := w.child(params); c < w.end(params); c = w.next(c) {
		if s := w.sym(c); s == p.DefaultParameter || s == p.TypedDefaultParameter {
			w.expr(w.lastChild(c))
		}
	}
}

func (w *walker) annotations(params uint32) {
	for c := w.child(params); c < w.end(params); c = w.next(c) {
		if s := w.sym(c); s == p.TypedParameter || s == p.TypedDefaultParameter {
			w.annotation(w.find(c, w.child(c), p.Type))
		}
	}
}

// isDataclassMarker reports whether an annotation is a string whose first name dataclasses looks up in the module.
func (w *walker) isDataclassMarker(text string) bool {
	bare := strings.TrimLeft(text, `"'`)
	if !w.future && bare == text {
		return false
	}
	if head, _, ok := strings.Cut(bare, "["); ok {
		bare = head
	}
	bare = strings.TrimRight(bare, `"'`)
	return slices.Contains([]string{"ClassVar", "InitVar", "KW_ONLY"}, bare[strings.LastIndexByte(bare, '.')+1:])
}

// annotation walks an annotation. Before Python 3.14 it is evaluated at once, from 3.14 on when code asks for it. Under
// the future import it becomes a string and is never evaluated.
func (w *walker) annotation(i uint32) {
	if w.all[w.cur].kind == classScope && w.isDataclassMarker(w.src(i)) {
		w.dynamic("annotation", w.nodes[i].Start)
	}
	if w.future {
		saved := w.await
		scopes, syms, chains := len(w.all), len(w.syms), len(w.chains)
		w.open(aliasScope, noIndex, w.nodes[i].Start)
		w.expr(i)
		w.discard(scopes, syms)
		w.chains, w.await = w.chains[:chains], saved
		return
	}
	t := &w.all[w.cur].timing
	saved := *t
	*t = max(saved, both)
	w.expr(i)
	w.all[w.cur].timing = saved
}

// parameters binds the names of parameters in the scope of the function.
func (w *walker) parameters(params uint32) {
	optional, starred := false, false
	for c := w.child(params); c < w.end(params); c = w.next(c) {
		switch w.sym(c) {
		case p.Identifier:
			if optional && !starred {
				w.failNode(c, "a parameter without a default follows one with a default")
			}
			w.parameter(c)
		case p.DefaultParameter, p.TypedDefaultParameter:
			optional = true
			w.parameter(w.child(c))
		case p.TypedParameter:
			inner := w.child(c)
			if w.sym(inner) == p.Identifier {
				if optional && !starred {
					w.failNode(c, "a parameter without a default follows one with a default")
				}
				w.parameter(inner)
				continue
			}
			starred = true
			w.parameter(w.lastChild(inner))
		case p.ListSplatPattern, p.DictionarySplatPattern:
			starred = true
			w.parameter(w.lastChild(c))
		case p.KeywordSeparator:
			starred = true
		case p.TuplePattern:
			w.failNode(c, "a parameter must be a name")
		}
	}
}

func (w *walker) parameter(i uint32) {
	if w.sym(i) != p.Identifier {
		w.failNode(i, "a parameter must be a name")
		return
	}
	id := w.ident(i)
	if s := w.at(w.cur, id); w.syms[s].flags&isParam != 0 {
		w.failNode(i, "duplicate parameter %s", w.names.texts[id])
	}
	w.bind(id, isParam)
}

// class walks a class: bases in the current scope, the body at once in a scope that methods do not see.
func (w *walker) class(i uint32) {
	name := w.child(i) + 1
	typeParams := w.find(i, name, p.TypeParameter)
	generic := typeParams < w.end(i)
	private := w.src(name)
	id := w.intern(name, private)
	if generic {
		w.open(paramsScope, id, w.nodes[i].Start)
		w.all[w.cur].private = private
		w.typeParameters(typeParams)
	}
	body := name
	for c := w.next(name); c < w.end(i); c = w.next(c) {
		switch w.sym(c) {
		case p.ArgumentList:
			w.expr(c)
		case p.Block:
			body = c
		}
	}
	w.open(classScope, id, w.nodes[i].Start)
	w.all[w.cur].private = private
	saved := w.flow
	w.flow = flow{}
	w.block(i, body)
	w.flow = saved
	w.close()
	if generic {
		w.close()
	}
	w.bindName(name, isAssigned)
}

// typeParameters binds type parameters. Python evaluates their bounds only on request.
func (w *walker) typeParameters(i uint32) {
	for c := w.child(i); c < w.end(i); c = w.next(c) {
		if w.sym(c) != p.Type {
			continue
		}
		name, bound := w.child(c), uint32(0)
		switch w.sym(name) {
		case p.ConstrainedType:
			bound = w.lastChild(name)
			name = w.child(w.child(name))
		case p.SplatType:
			name = w.lastChild(name)
		}
		if w.sym(name) != p.Identifier {
			w.failNode(c, "a type parameter must be a name")
			continue
		}
		id := w.ident(name)
		if s := w.at(w.cur, id); w.syms[s].flags&isAssigned != 0 {
			w.failNode(name, "duplicate type parameter %s", w.names.texts[id])
		}
		w.bind(id, isAssigned)
		if bound != 0 {
			w.open(boundScope, id, w.nodes[bound].Start)
			w.expr(bound)
			w.close()
		}
	}
}

// typeAlias walks type X[T] = value.
func (w *walker) typeAlias(i uint32) {
	left := w.child(i) + 1
	value := w.lastChild(i)
	name := w.child(left)
	if w.isAssignmentToType(name) {
		w.assignmentToType(i, name, value)
		return
	}
	params := uint32(0)
	if w.sym(name) == p.GenericType {
		params = w.lastChild(name)
		name = w.child(name)
	}
	if w.sym(name) != p.Identifier {
		w.failNode(left, "a type alias must be a name")
		return
	}
	w.bindName(name, isAssigned)
	id := w.ident(name)
	if params != 0 {
		w.open(paramsScope, id, w.nodes[i].Start)
		w.typeParameters(params)
	}
	w.open(aliasScope, id, w.nodes[i].Start)
	w.expr(value)
	w.close()
	if params != 0 {
		w.close()
	}
}

// isAssignmentToType reports whether node i is an assignment such as type(x).y = value, which tree-sitter takes for a
// type alias.
func (w *walker) isAssignmentToType(i uint32) bool {
	s := w.sym(i)
	if s == p.ConstrainedType {
		return w.isAssignmentToType(w.child(w.child(i)))
	}
	return s == p.Attribute || s == p.Subscript
}

func (w *walker) assignmentToType(i, left, value uint32) {
	kw := w.child(i) // the name type itself
	w.expr(value)
	id := w.intern(kw, "type")
	w.use(id)
	if w.sym(left) == p.ConstrainedType {
		w.annotation(w.lastChild(left))
		left = w.child(w.child(left))
	}
	w.expr(left)
}
