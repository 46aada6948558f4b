package python

// scopeKind is the kind of construct that opens a scope.
type scopeKind uint8

const (
	moduleScope scopeKind = iota
	classScope
	functionScope
	lambdaScope
	listScope // list comprehension
	setScope
	dictScope
	generatorScope
	paramsScope // type parameters of a def, class or alias (PEP 695): runs at once, hides nothing but them
	boundScope  // bound, constraint or default of one type parameter: runs on request
	aliasScope  // right side of a type statement: runs on request
)

// comprehension reports whether walrus targets bind outside of the scope.
func (k scopeKind) comprehension() bool { return k >= listScope && k <= generatorScope }

// symbolFlags is a set of facts about one name in one scope.
type symbolFlags uint32

const (
	isParam symbolFlags = 1 << iota
	isAssigned
	isUsed
	isGlobal
	isNonlocal
	isImported
	isAnnotated
	isIterated      // a for clause of a comprehension binds it
	isNeededOutside // an inner scope declares it nonlocal: an enclosing function must bind it

	// These flags describe how code here or in inner scopes uses the module's name. They move outward from scope to
	// scope until a scope that binds the name stops them.
	usesNow
	usesLater
	mutatesNow
	mutatesLater
	definesNow
	deletesNow
	rebindsLater

	isCertain // bound on every path to this point; module and class scopes only

	isBound  = isParam | isAssigned | isImported
	outbound = usesNow | usesLater | mutatesNow | mutatesLater | definesNow | deletesNow | rebindsLater
)

// symbol is one name in one scope. All scopes share one slice of symbols, and indexes into it stay valid.
type symbol struct {
	name  int32 // index into identifiers
	scope int32
	outer int32 // the symbol of the same name in the nearest open outer scope that has one, or noIndex
	next  int32 // the next symbol of the scope, or noIndex
	up    int32 // the symbol that this one refers to if its own scope does not bind it, or noIndex
	flags symbolFlags
}

const noIndex = -1

// timing says when the code of a scope runs, as seen from the node that holds it.
type timing uint8

const (
	now   timing = iota
	both         // a generator expression: it runs in the node that drains it, which is usually this one
	later        // in a call
	never        // an annotation of a local variable: CPython gives its names scopes and does not evaluate it
)

func (t timing) uses() symbolFlags {
	return [...]symbolFlags{now: usesNow, both: usesNow | usesLater, later: usesLater, never: 0}[t]
}

func (t timing) mutates() symbolFlags {
	return [...]symbolFlags{now: mutatesNow, both: mutatesNow | mutatesLater, later: mutatesLater, never: 0}[t]
}

type scope struct {
	kind        scopeKind
	timing      timing
	parent      int32 // noIndex for the module
	visible     int32 // the nearest outer scope whose names are visible from here; class scopes are skipped
	first, last int32 // symbols
	name        int32 // the name of the def, class or type; noIndex for lambdas and comprehensions
	private     string
	start       uint32
}

// scopes is the scope table of one block. During the walk, tops holds each name's innermost symbol among the open
// scopes. So a lookup is one index and one comparison; a map per scope took twice the time.
type scopes struct {
	all  []scope
	syms []symbol
	tops []int32 // by name
	cur  int32   // the innermost open scope

	touched []int32 // symbols of the module that the current node has flagged
	log     []int32 // symbols that became certain since the node began, to undo that
	cell    int32   // the name __class__ once it has a number, else noIndex
	unfound []int32 // names declared nonlocal that no enclosing function binds

	plain map[int32]int32 // variables of an unfolded function → names of the program that are spelled alike
}

func (t *scopes) open(kind scopeKind, name int32, start uint32) {
	s := scope{kind: kind, parent: t.cur, visible: t.cur, first: noIndex, last: noIndex, name: name, start: start}
	if t.cur != noIndex {
		p := &t.all[t.cur]
		s.timing, s.private = p.timing, p.private
		for s.visible != noIndex && t.all[s.visible].kind == classScope {
			s.visible = t.all[s.visible].parent
		}
	}
	switch kind {
	case functionScope, lambdaScope, boundScope, aliasScope:
		s.timing = max(s.timing, later)
	case generatorScope:
		s.timing = max(s.timing, both)
	}
	t.cur = int32(len(t.all))
	t.all = append(t.all, s)
}

// at returns the symbol of a name in an open scope. It creates the symbol if needed.
func (t *scopes) at(sc, name int32) int32 {
	below, p := int32(noIndex), t.tops[name]
	for p != noIndex && t.syms[p].scope > sc { // inner scopes have higher numbers
		below, p = p, t.syms[p].outer
	}
	if p != noIndex && t.syms[p].scope == sc {
		return p
	}
	i := int32(len(t.syms))
	t.syms = append(t.syms, symbol{name: name, scope: sc, outer: p, next: noIndex, up: noIndex})
	if below != noIndex {
		t.syms[below].outer = i
	} else {
		t.tops[name] = i
	}
	s := &t.all[sc]
	if s.first == noIndex {
		s.first = i
	} else {
		t.syms[s.last].next = i
	}
	s.last = i
	return i
}

// flagModuleName adds flags to the module's symbol of a name, for the current node.
func (t *scopes) flagModuleName(name int32, m symbolFlags) int32 {
	i := t.at(0, name)
	t.flagModuleSymbol(i, m)
	return i
}

func (t *scopes) flagModuleSymbol(i int32, m symbolFlags) {
	s := &t.syms[i]
	if m&outbound != 0 && s.flags&outbound == 0 {
		t.touched = append(t.touched, i)
	}
	s.flags |= m
}

// use records a read in the current scope and returns its symbol.
func (t *scopes) use(name int32) int32 {
	i := t.read(name)
	t.syms[i].flags |= isUsed
	return i
}

// read is use without the isUsed flag. CPython's symbol table does not set it for x in "x += 1".
func (t *scopes) read(name int32) int32 {
	i := t.at(t.cur, name)
	s, sc := &t.syms[i], &t.all[t.cur]
	m := sc.timing.uses()
	if s.flags&isCertain != 0 && (m == usesNow || sc.kind == classScope) {
		m = 0
	}
	if sc.kind == moduleScope {
		t.flagModuleSymbol(i, m)
	} else {
		s.flags |= m
	}
	return i
}

// bind records a binding of the given sort in the current scope.
func (t *scopes) bind(name int32, sort symbolFlags) int32 {
	i := t.at(t.cur, name)
	t.syms[i].flags |= sort
	switch t.all[t.cur].kind {
	case moduleScope:
		t.flagModuleSymbol(i, definesNow)
		t.certain(i)
	case classScope:
		t.certain(i)
	}
	if t.syms[i].flags&isGlobal != 0 {
		t.store(name, definesNow)
	}
	return i
}

// store records a binding or deletion of a name declared global.
func (t *scopes) store(name int32, m symbolFlags) {
	switch t.all[t.cur].timing {
	case both:
		m |= rebindsLater
	case later:
		m = rebindsLater
	case never:
		m = 0
	}
	t.flagModuleName(name, m)
}

func (t *scopes) unbind(name int32) int32 {
	i := t.at(t.cur, name)
	s := &t.syms[i]
	wasCertain := s.flags & isCertain
	s.flags |= isAssigned
	s.flags &^= isCertain
	if s.flags&isGlobal != 0 {
		t.store(name, deletesNow)
	}
	if t.cur == 0 {
		m := deletesNow
		if wasCertain == 0 {
			m |= usesNow // it fails unless an earlier node bound the name
		}
		t.flagModuleSymbol(i, m)
	}
	return i
}

// mutate records that the value of a name may change in place.
func (t *scopes) mutate(name int32) {
	i := t.at(t.cur, name)
	m := t.all[t.cur].timing.mutates()
	if t.cur == 0 {
		t.flagModuleSymbol(i, m)
		return
	}
	t.syms[i].flags |= m
}

// close ends the current scope. It passes the flags of names that the scope does not bind to outer scopes.
func (t *scopes) close() {
	sc := t.all[t.cur]
	for i := sc.first; i != noIndex; i = t.syms[i].next {
		s := t.syms[i]
		t.tops[s.name] = s.outer
		if sc.parent == noIndex {
			continue
		}
		m := s.flags & (outbound | isNeededOutside)
		if s.flags&isNonlocal != 0 {
			m |= isNeededOutside
		}
		switch {
		case s.name == t.cell && sc.visible != sc.parent: // the enclosing class binds it for its methods
		case s.flags&isGlobal != 0:
			t.syms[i].up = t.flagModuleName(s.name, m)
		case s.flags&isBound != 0 && s.flags&isNonlocal == 0:
			if sc.kind == classScope && m&(usesNow|usesLater) != 0 {
				// The body read the name before it certainly bound it. Then it reads the module's name, even from
				// inside functions.
				name := s.name
				if plain, is := t.plain[name]; is {
					name = plain
				}
				t.flagModuleName(name, m&^t.usesNowIfBound(name))
			}
		case sc.visible == 0:
			if m&isNeededOutside != 0 {
				t.unfound = append(t.unfound, s.name)
			}
			t.syms[i].up = t.flagModuleName(s.name, m&outbound&^t.usesNowIfBound(s.name))
		default:
			up := t.at(sc.visible, s.name)
			t.syms[up].flags |= m
			t.syms[i].up = up
		}
	}
	if sc.kind == classScope {
		t.forgetScope(t.cur)
	}
	t.cur = sc.parent
}

// discard ends the current scope, which has number n, and removes it and all its inner scopes. sym is its first symbol.
func (t *scopes) discard(n, sym int) {
	for i := len(t.syms) - 1; i >= sym; i-- {
		t.tops[t.syms[i].name] = t.syms[i].outer
	}
	t.cur = t.all[n].parent
	t.all, t.syms = t.all[:n], t.syms[:sym]
}

// usesNowIfBound returns usesNow if the node has bound the module's name on every path. Such a read depends on no
// earlier node.
func (t *scopes) usesNowIfBound(name int32) symbolFlags {
	if i := t.at(0, name); t.syms[i].flags&isCertain != 0 {
		return usesNow
	}
	return 0
}
