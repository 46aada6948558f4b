package python

// scopeKind is what opens a scope.
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
	boundScope  // bound, constraint or default of one type parameter: runs when asked for
	aliasScope  // right side of a type statement: runs when asked for
)

// comprehension reports whether walrus targets escape the scope.
func (k scopeKind) comprehension() bool { return k >= listScope && k <= generatorScope }

// mark is a set of facts about one name in one scope.
type mark uint32

const (
	isParam mark = 1 << iota
	isAssigned
	isUsed
	isGlobal
	isNonlocal
	isImported
	isAnnotated
	isIterated // bound by a for clause of a comprehension
	isSought   // declared nonlocal further in: must be bound by a function around

	// What the module's namespace sees of a name that was touched here or further in. They travel outward from
	// scope to scope until a scope that binds the name stops them.
	usesNow
	usesLater
	mutatesNow
	mutatesLater
	definesNow
	deletesNow
	rebindsLater

	isCertain // bound on every path to here; kept for module and class scopes

	isBound  = isParam | isAssigned | isImported
	outbound = usesNow | usesLater | mutatesNow | mutatesLater | definesNow | deletesNow | rebindsLater
)

// symbol is one name in one scope. Symbols of all scopes share one slice; indexes into it stay valid.
type symbol struct {
	name  int32 // index into names
	scope int32
	outer int32 // the symbol of the same name in the nearest open scope further out that has one, or none
	next  int32 // the next symbol of the scope, or none
	up    int32 // the symbol that this one means if its own scope does not bind it, or none
	marks mark
}

const none = -1

// timing tells when the code of a scope runs, seen from the node that holds it.
type timing uint8

const (
	now   timing = iota
	both         // a generator expression: in the node that drains it, most often this one
	later        // when called
	never        // an annotation of a local variable: CPython gives its names scopes and does not evaluate it
)

func (t timing) uses() mark {
	return [...]mark{now: usesNow, both: usesNow | usesLater, later: usesLater, never: 0}[t]
}

func (t timing) mutates() mark {
	return [...]mark{now: mutatesNow, both: mutatesNow | mutatesLater, later: mutatesLater, never: 0}[t]
}

type scope struct {
	kind        scopeKind
	timing      timing
	parent      int32 // none for the module
	visible     int32 // the nearest scope outside whose names can be seen from here: class scopes are skipped
	first, last int32 // symbols
	name        int32 // of the def, class or type; none for lambdas and comprehensions
	private     string
	start       uint32
}

// scopes is the scope table of one block. While the block is walked, tops holds for each name its innermost symbol
// among the open scopes, so that a lookup is one index and a compare; a map per scope took twice the time.
type scopes struct {
	all  []scope
	syms []symbol
	tops []int32 // by name
	cur  int32   // the innermost open scope

	touched []int32 // symbols of the module that the current node has marked
	log     []int32 // symbols made certain since the node began, for undoing
	cell    int32   // the name __class__, once it has a number, or none
	unfound []int32 // names declared nonlocal that no function around binds
}

func (t *scopes) open(kind scopeKind, name int32, start uint32) {
	s := scope{kind: kind, parent: t.cur, visible: t.cur, first: none, last: none, name: name, start: start}
	if t.cur != none {
		p := &t.all[t.cur]
		s.timing, s.private = p.timing, p.private
		for s.visible != none && t.all[s.visible].kind == classScope {
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

// at returns the symbol of a name in an open scope, made if need be.
func (t *scopes) at(sc, name int32) int32 {
	below, p := int32(none), t.tops[name]
	for p != none && t.syms[p].scope > sc { // inner scopes have the higher numbers
		below, p = p, t.syms[p].outer
	}
	if p != none && t.syms[p].scope == sc {
		return p
	}
	i := int32(len(t.syms))
	t.syms = append(t.syms, symbol{name: name, scope: sc, outer: p, next: none, up: none})
	if below != none {
		t.syms[below].outer = i
	} else {
		t.tops[name] = i
	}
	s := &t.all[sc]
	if s.first == none {
		s.first = i
	} else {
		t.syms[s.last].next = i
	}
	s.last = i
	return i
}

// demand adds marks to the module's symbol of a name, for the current node.
func (t *scopes) demand(name int32, m mark) int32 {
	i := t.at(0, name)
	t.demandSym(i, m)
	return i
}

func (t *scopes) demandSym(i int32, m mark) {
	s := &t.syms[i]
	if m&outbound != 0 && s.marks&outbound == 0 {
		t.touched = append(t.touched, i)
	}
	s.marks |= m
}

// use records a read in the current scope and returns its symbol.
func (t *scopes) use(name int32) int32 {
	i := t.read(name)
	t.syms[i].marks |= isUsed
	return i
}

// read is use for what CPython's symbol table does not count as one: x in "x += 1".
func (t *scopes) read(name int32) int32 {
	i := t.at(t.cur, name)
	s, sc := &t.syms[i], &t.all[t.cur]
	m := sc.timing.uses()
	if s.marks&isCertain != 0 && (m == usesNow || sc.kind == classScope) {
		m = 0
	}
	if sc.kind == moduleScope {
		t.demandSym(i, m)
	} else {
		s.marks |= m
	}
	return i
}

// bind records a binding of the given sort in the current scope.
func (t *scopes) bind(name int32, sort mark) int32 {
	i := t.at(t.cur, name)
	t.syms[i].marks |= sort
	switch t.all[t.cur].kind {
	case moduleScope:
		t.demandSym(i, definesNow)
		t.certain(i)
	case classScope:
		t.certain(i)
	}
	if t.syms[i].marks&isGlobal != 0 {
		t.store(name, definesNow)
	}
	return i
}

// store records a binding or deletion of a name declared global.
func (t *scopes) store(name int32, m mark) {
	switch t.all[t.cur].timing {
	case both:
		m |= rebindsLater
	case later:
		m = rebindsLater
	case never:
		m = 0
	}
	t.demand(name, m)
}

func (t *scopes) unbind(name int32) int32 {
	i := t.at(t.cur, name)
	s := &t.syms[i]
	wasCertain := s.marks & isCertain
	s.marks |= isAssigned
	s.marks &^= isCertain
	if s.marks&isGlobal != 0 {
		t.store(name, deletesNow)
	}
	if t.cur == 0 {
		m := deletesNow
		if wasCertain == 0 {
			m |= usesNow // fails unless somebody bound it
		}
		t.demandSym(i, m)
	}
	return i
}

// mutate records that the value of a name may change in place.
func (t *scopes) mutate(name int32) {
	i := t.at(t.cur, name)
	m := t.all[t.cur].timing.mutates()
	if t.cur == 0 {
		t.demandSym(i, m)
		return
	}
	t.syms[i].marks |= m
}

// close ends the current scope: what it asks for and does not bind is handed outward.
func (t *scopes) close() {
	sc := t.all[t.cur]
	for i := sc.first; i != none; i = t.syms[i].next {
		s := t.syms[i]
		t.tops[s.name] = s.outer
		if sc.parent == none {
			continue
		}
		m := s.marks & (outbound | isSought)
		if s.marks&isNonlocal != 0 {
			m |= isSought
		}
		switch {
		case s.name == t.cell && sc.visible != sc.parent: // the class around binds it for its methods
		case s.marks&isGlobal != 0:
			t.syms[i].up = t.demand(s.name, m)
		case s.marks&isBound != 0 && s.marks&isNonlocal == 0:
			if sc.kind == classScope && m&(usesNow|usesLater) != 0 {
				// The body read the name before it was sure to have bound it: it reads the module's then,
				// whatever functions lie between.
				t.demand(s.name, m&^t.settled(s.name))
			}
		case sc.visible == 0:
			if m&isSought != 0 {
				t.unfound = append(t.unfound, s.name)
			}
			t.syms[i].up = t.demand(s.name, m&outbound&^t.settled(s.name))
		default:
			up := t.at(sc.visible, s.name)
			t.syms[up].marks |= m
			t.syms[i].up = up
		}
	}
	if sc.kind == classScope {
		t.forget(t.cur)
	}
	t.cur = sc.parent
}

// drop ends the current scope, the nth, as if it and all inside it had never been; its first symbol is the given one.
func (t *scopes) drop(n, sym int) {
	for i := len(t.syms) - 1; i >= sym; i-- {
		t.tops[t.syms[i].name] = t.syms[i].outer
	}
	t.cur = t.all[n].parent
	t.all, t.syms = t.all[:n], t.syms[:sym]
}

// settled returns usesNow where the node has bound the module's name on every path: reading it then asks nothing.
func (t *scopes) settled(name int32) mark {
	if i := t.at(0, name); t.syms[i].marks&isCertain != 0 {
		return usesNow
	}
	return 0
}
