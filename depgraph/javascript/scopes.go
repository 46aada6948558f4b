package javascript

// scopeKind is the kind of a construct that opens a scope.
type scopeKind uint8

const (
	blockScope    scopeKind = iota // block, for head, switch, catch clause
	functionScope                  // parameters of a function, or its body
	classScope                     // holds the name of a class for its own body
	nameScope                      // holds the name of a function expression
)

// declaration says how a symbol of a scope came to be.
type declaration uint8

const (
	undeclared declaration = iota // a name of the namespace that the block only mentions
	byVar
	byFunction
	byLexical // let, const, class
	byImport
	byParameter // also the names of function expressions and classes inside of themselves, and arguments
	byCatch
	byMerging // enum and namespace: these may be declared again
	byAnnexB  // a function in a block of a sloppy script: a var of this name may exist outside of the block
)

// symbolFlags say what the current statement does to a name of the namespace.
type symbolFlags uint16

const (
	usesNow symbolFlags = 1 << iota
	usesLater
	mutatesNow
	mutatesLater
	definesNow
	deletesNow
	rebindsLater
	isCertain // bound on every path to this point

	outbound = usesNow | usesLater | mutatesNow | mutatesLater | definesNow | deletesNow | rebindsLater
)

// symbol is one name in one scope, or in the namespace: that is scope 0.
type symbol struct {
	name  int32
	scope int32
	outer int32 // the symbol of the same name in the nearest open scope around, or noIndex
	how   declaration
	flags symbolFlags
	alias string // the dotted name of what an import bound
}

const noIndex = -1

// scope is an open scope. All its symbols are declared when it opens, because declarations count in the whole scope.
type scope struct {
	kind  scopeKind
	later bool // its code runs in a call
	first int  // its first symbol
}

// scopes is the scope table of one block. tops holds each name's innermost symbol among the open scopes, so a look-up
// is
// one index. Symbols of the namespace are apart: they are made when the text first mentions them.
type scopes struct {
	open []scope
	syms []symbol
	tops []int32 // by name
	tree []int32 // by name: its symbol in the namespace, or noIndex

	touched []int32 // symbols of the namespace that the current statement has flagged
	log     []int32 // symbols that became certain since the statement began
}

// later reports whether the code of the current scope runs in a call.
func (t *scopes) later() bool { return len(t.open) > 0 && t.open[len(t.open)-1].later }

func (t *scopes) enter(kind scopeKind, later bool) {
	t.open = append(t.open, scope{kind, later || t.later(), len(t.syms)})
}

// leave closes the innermost scope.
func (t *scopes) leave() {
	s := t.open[len(t.open)-1]
	t.open = t.open[:len(t.open)-1]
	for i := len(t.syms) - 1; i >= s.first; i-- {
		if t.syms[i].scope != 0 {
			t.tops[t.syms[i].name] = t.syms[i].outer
		}
	}
}

// declared returns the symbol of a name in the innermost scope itself, or noIndex.
func (t *scopes) declared(name int32) int32 {
	if len(t.open) == 0 {
		if i := t.tree[name]; i != noIndex && t.syms[i].how != undeclared {
			return i
		}
		return noIndex
	}
	if i := t.tops[name]; i != noIndex && t.syms[i].scope == int32(len(t.open)) {
		return i
	}
	return noIndex
}

// declare declares a name in the innermost scope.
func (t *scopes) declare(name int32, how declaration) int32 {
	if i := t.declared(name); i != noIndex {
		if how != byVar && how != byAnnexB {
			t.syms[i].how = how
		}
		return i
	}
	if len(t.open) == 0 {
		i := t.global(name)
		t.syms[i].how = how
		return i
	}
	i := int32(len(t.syms))
	t.syms = append(t.syms, symbol{name: name, scope: int32(len(t.open)), outer: t.tops[name], how: how})
	t.tops[name] = i
	return i
}

// global returns the symbol of a name in the namespace.
func (t *scopes) global(name int32) int32 {
	if t.tree[name] == noIndex {
		t.tree[name] = int32(len(t.syms))
		t.syms = append(t.syms, symbol{name: name, outer: noIndex})
	}
	return t.tree[name]
}

// resolve returns the symbol that a name means here.
func (t *scopes) resolve(name int32) int32 {
	if i := t.tops[name]; i != noIndex {
		return i
	}
	return t.global(name)
}

// flag adds flags to a symbol of the namespace.
func (t *scopes) flag(i int32, m symbolFlags) {
	s := &t.syms[i]
	if m&outbound != 0 && s.flags&outbound == 0 {
		t.touched = append(t.touched, i)
	}
	s.flags |= m
}

// use records a read of what a symbol names.
func (t *scopes) use(i int32) {
	s := &t.syms[i]
	if s.scope != 0 {
		if s.how == byAnnexB { // the name around the function is read if no var was made
			t.useGlobal(t.global(s.name))
		}
		return
	}
	t.useGlobal(i)
}

func (t *scopes) useGlobal(i int32) {
	switch {
	case t.later():
		t.flag(i, usesLater)
	case t.syms[i].flags&isCertain == 0:
		t.flag(i, usesNow)
	}
}

// bind records a binding of what a symbol names.
func (t *scopes) bind(i int32) {
	switch {
	case t.syms[i].scope != 0:
	case t.later():
		t.flag(i, rebindsLater)
	default:
		t.flag(i, definesNow)
		t.certain(i)
	}
}

// unbind records a deletion.
func (t *scopes) unbind(i int32) {
	switch {
	case t.syms[i].scope != 0:
	case t.later():
		t.flag(i, rebindsLater)
	default:
		t.flag(i, deletesNow)
		t.syms[i].flags &^= isCertain
	}
}

// mutate records that the value of what a symbol names may change in place.
func (t *scopes) mutate(i int32) {
	switch {
	case t.syms[i].scope != 0:
	case t.later():
		t.flag(i, mutatesLater)
	default:
		t.flag(i, mutatesNow)
	}
}

// certain marks a symbol as bound from here on.
func (t *scopes) certain(i int32) {
	if s := &t.syms[i]; s.flags&isCertain == 0 {
		s.flags |= isCertain
		t.log = append(t.log, i)
	}
}
