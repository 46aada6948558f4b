package javascript

import (
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

// cut makes nodes of the statements. Imports come first and functions next, because JavaScript binds them before the
// other statements run: the nodes of a block are in the order of execution, which is not that of the text. Each class,
// each call of require and each run of other statements is one node.
//
// A name of var exists, undefined, before its statement. A node that could see that must hold the var, too: then all
// statements between are one node. The same holds for let, const and class, where a use above is an error.
func (w *walker) cut() {
	joined := w.joined()
	inside := make([]bool, len(w.statements))
	for _, s := range joined {
		for i := s.first; i <= s.last; i++ {
			inside[i] = true
		}
	}
	for _, r := range [...]role{importRole, functionRole} {
		for i := range w.statements {
			if w.statements[i].role == r && !inside[i] {
				w.add(span{i, i})
			}
		}
	}
	for i := 0; i < len(w.statements); i++ {
		s := &w.statements[i]
		switch {
		case inside[i]:
			at := slices.IndexFunc(joined, func(j span) bool { return j.first == i })
			w.add(joined[at])
			i = joined[at].last
		case s.role == plainRole:
			run := span{i, i}
			for run.last+1 < len(w.statements) && w.statements[run.last+1].role == plainRole && !inside[run.last+1] {
				run.last++
			}
			w.add(run)
			i = run.last
		case s.role == requireRole, s.role == classRole:
			w.add(span{i, i})
		}
	}
}

// mention is where a name is declared and mentioned in a block.
type mention struct {
	declared, used int  // the first statements that declare the name and that mention it outside of functions, or -1
	hoisted        bool // by var
	inFunction     bool // a function mentions it
}

// joined returns the ranges of statements that must be one node although they would be several, in order.
func (w *walker) joined() []span {
	names, firstCall := w.mentions()
	var spans []span
	for _, m := range names {
		first := m.used
		if m.hoisted && m.inFunction && firstCall >= 0 && (first < 0 || firstCall < first) {
			first = firstCall
		}
		if m.declared > 0 && first >= 0 && first < m.declared && w.parted(span{first, m.declared}) {
			spans = append(spans, w.widened(span{first, m.declared}, names, firstCall))
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return a.first - b.first })
	var out []span
	for _, s := range spans {
		if n := len(out); n > 0 && s.first <= out[n-1].last+1 {
			out[n-1].last = max(out[n-1].last, s.last)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// mentions returns the mentions of each name that the block declares, and the first statement that calls something.
func (w *walker) mentions() (names map[string]*mention, firstCall int) {
	names, firstCall = map[string]*mention{}, -1
	at := func(name string) *mention {
		if names[name] == nil {
			names[name] = &mention{declared: -1, used: -1}
		}
		return names[name]
	}
	for i := range w.statements {
		s := &w.statements[i]
		for _, name := range slices.Concat(s.Later, s.Rebinds, s.MutatesLater) {
			at(name).inFunction = true
		}
		if s.role == functionRole || s.role == importRole {
			continue
		}
		if s.calls && firstCall < 0 {
			firstCall = i
		}
		for _, name := range s.vars {
			if m := at(name); m.declared < 0 {
				m.declared, m.hoisted = i, true
			}
		}
		for _, name := range slices.Concat(s.Uses, s.Defines, s.Mutates, s.Deletes) {
			m := at(name)
			if m.used < 0 {
				m.used = i
			}
			if m.declared < 0 && w.declares(s, name) {
				m.declared = i
			}
		}
	}
	return names, firstCall
}

// declares reports whether a statement declares a name that it defines, by let, const or class.
func (w *walker) declares(s *statement, name string) bool {
	k := w.kind(w.declaredBy(s.tree))
	return (k == js.LexicalDeclaration || isClassDeclaration(k) || k == js.Class) && slices.Contains(s.Defines, name) &&
		w.syms[w.global(w.intern(name))].how == byLexical
}

// parted reports whether a range of statements would become several nodes.
func (w *walker) parted(s span) bool {
	for i := s.first; i <= s.last; i++ {
		if w.statements[i].role != plainRole {
			return true
		}
	}
	return false
}

// widened extends a range with functions in it up to the first statement that may call them: they are bound when the
// range begins.
func (w *walker) widened(s span, names map[string]*mention, firstCall int) span {
	for i := s.last; i >= s.first; i-- {
		if w.statements[i].role != functionRole {
			continue
		}
		if firstCall >= 0 {
			s.first = min(s.first, firstCall)
		}
		for _, name := range w.statements[i].Defines {
			if m := names[name]; m != nil && m.used >= 0 {
				s.first = min(s.first, m.used)
			}
		}
	}
	return s
}

// add makes a node of a range of statements.
func (w *walker) add(s span) {
	first, last := &w.statements[s.first], &w.statements[s.last]
	n := depgraph.Node{Kind: depgraph.KindStatement}
	if s.first == s.last {
		n.Kind = first.Kind
	}
	n.Start, n.End = int(w.nodes[first.tree].Start), int(w.nodes[last.tree].End)
	n.Line, n.EndLine = w.line(uint32(n.Start)), w.line(uint32(n.End))
	n.Expr = w.kind(last.tree) == js.ExpressionStatement && w.kind(last.tree+1) != js.InternalModule
	certain := map[string]bool{}
	var vars []string
	for _, r := range [...]role{importRole, functionRole, plainRole} {
		for i := s.first; i <= s.last; i++ {
			if o := w.statements[i].role; o == r || r == plainRole && o > functionRole {
				extend(&n, &w.statements[i], certain)
				vars = append(vars, w.statements[i].vars...)
			}
		}
	}
	for _, name := range vars { // a var that nothing binds for certain is bound if the name is not bound yet
		if !certain[name] {
			n.Defines, n.Uses = append(n.Defines, name), append(n.Uses, name)
		}
	}
	for name := range certain {
		n.Certain = append(n.Certain, name)
	}
	for _, list := range []*[]string{&n.Defines, &n.Certain, &n.Deletes, &n.Uses, &n.Later, &n.Rebinds, &n.Mutates,
		&n.MutatesLater} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	n.Tokens = w.tokens(s)
	w.facts.Nodes = append(w.facts.Nodes, n)
}

// extend adds the facts of a statement to those of the node before it.
func extend(n *depgraph.Node, s *statement, certain map[string]bool) {
	for _, name := range s.Uses {
		if !certain[name] {
			n.Uses = append(n.Uses, name)
		}
	}
	for _, name := range s.Deletes {
		delete(certain, name)
	}
	for _, name := range s.Certain {
		certain[name] = true
	}
	n.Await = n.Await || s.Await
	n.Defines = append(n.Defines, s.Defines...)
	n.Deletes = append(n.Deletes, s.Deletes...)
	n.Later = append(n.Later, s.Later...)
	n.Rebinds = append(n.Rebinds, s.Rebinds...)
	n.Mutates = append(n.Mutates, s.Mutates...)
	n.MutatesLater = append(n.MutatesLater, s.MutatesLater...)
	n.Imports = append(n.Imports, s.Imports...)
	n.Effects = append(n.Effects, s.Effects...)
	n.Dynamic = append(n.Dynamic, s.Dynamic...)
}
