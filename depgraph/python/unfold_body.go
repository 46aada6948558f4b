package python

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	p "github.com/xstate-engine/xstate/depgraph/python/pytree"
)

// functionBody is a function that is unfolded.
type functionBody struct {
	name       string
	at         nodePlace // the place of its definition
	tree       uint32    // its definition, in the tree of the block
	suite      uint32
	header     string
	parameters []string
	locals     []string // with the parameters
	globals    []string // names that it declares
	nonlocals  []string // variables of it that nested functions bind
	results    []string // names of the elements of the tuple that it returns, see Part; nil if it returns none
	async      bool
	small      bool   // its body is one node anyhow
	whole      string // why it is not unfolded, wherever it is called; "" if it can be
}

// unfolds returns the function that statement c calls if it is unfolded, else nil. If a reader would expect it to be,
// the reason is kept.
func (s *statements) unfolds(c uint32, call callStatement) *functionBody {
	u := s.u
	at, defined := u.defs[call.name]
	if !defined {
		return nil
	}
	if s.body == nil && !s.guarded && (call.target != 0 || s.w.mentions(s.w.next(s.w.child(call.call)))) {
		return nil // a program that will be continued is likely to call it again
	}
	f := u.bodies[call.name]
	if f == nil {
		f = u.function(call.name, at)
		if u.bodies == nil {
			u.bodies = map[string]*functionBody{}
		}
		u.bodies[call.name] = f
	}
	why := f.whole
	if f.small {
		return nil
	}
	if why == "" {
		why = s.unlike(c, call, f)
	}
	if why != "" {
		if s.body == nil {
			u.found.Whole[s.block] = fmt.Sprintf("%s is one node: %s", call.name, why)
		}
		return nil
	}
	return f
}

// unlike returns why a call of f is none that can be unfolded; "" if it can.
func (s *statements) unlike(c uint32, call callStatement, f *functionBody) string {
	u := s.u
	uses := u.uses[call.name]
	if len(uses) != 1 || u.count(call.name, f.at.block, uses[0].block) != 2 {
		return "the program uses it more than once"
	}
	if uses[0].block != s.block {
		return "the program uses it elsewhere"
	}
	if s.body == nil && (f.at.block > s.block ||
		f.at.block == s.block && s.w.nodes[c].Start < u.tree(s.block).Nodes[f.tree].Start) {
		return "it is defined after the call"
	}
	if f.async != call.awaits {
		return "the call does not await it"
	}
	if f.async {
		if s.body != nil && !s.body.async {
			return "a coroutine is run inside a function"
		}
		return u.concurrent()
	}
	return u.everywhere
}

// count returns how often the text of one or two blocks has a name, not as an attribute.
func (u *unfolder) count(name string, blocks ...int) int {
	slices.Sort(blocks)
	n := 0
	for _, b := range slices.Compact(blocks) {
		nodes, code := u.tree(b).Nodes, u.program[b].Code
		for i := range nodes {
			k := &nodes[i]
			if k.Sym == p.Identifier && int(k.End-k.Start) == len(name) && string(code[k.Start:k.End]) == name &&
				(k.Start == 0 || code[k.Start-1] != '.') {
				n++
			}
		}
	}
	return n
}

// concurrent returns why tasks may run beside the statements of a coroutine; "" if none can.
func (u *unfolder) concurrent() string {
	if u.everywhere != "" {
		return u.everywhere
	}
	for _, f := range u.program {
		if f == nil {
			continue
		}
		for _, text := range []string{"create_task", "ensure_future", "call_soon", "call_later", "call_at",
			"start_server", "TaskGroup", "as_completed", "asyncio.wait(", "_event_loop", "get_running_loop",
			"add_done_callback"} {
			if strings.Contains(string(f.Code), text) {
				return fmt.Sprintf("tasks may run beside its statements (%s)", strings.Trim(text, "_("))
			}
		}
		if code := string(f.Code); strings.Count(code, "gather(") != strings.Count(code, "await asyncio.gather(") {
			return "tasks may run beside its statements (gather)"
		}
	}
	return ""
}

// function reads the definition of a function.
func (u *unfolder) function(name string, at nodePlace) *functionBody {
	facts := u.program[at.block]
	w := newWalker(string(facts.Code), u.tree(at.block).Nodes)
	f := &functionBody{name: name, at: at, small: true}
	for c := w.child(0); c < w.end(0); c = w.next(c) {
		if w.sym(c) == p.FunctionDefinition && int(w.nodes[c].Start) == facts.Nodes[at.node].Start {
			f.tree = c
		}
	}
	if f.tree == 0 {
		return f
	}
	f.suite = w.lastChild(f.tree)
	if w.sym(f.suite) != p.Block || w.line(w.nodes[f.suite].Start) == w.line(w.nodes[f.tree].Start) {
		return f
	}
	f.async = w.sym(w.child(f.tree)) == p.KwAsync
	for c := w.child(f.tree); c < f.suite; c = w.next(c) {
		if w.sym(c) == p.Colon {
			f.header = w.text[w.nodes[f.tree].Start:w.nodes[c].End] // and no comment after it
		}
	}
	s := &statements{u: u, w: w, block: at.block}
	if len(s.pieces(f, func(uint32) bool { return false })) < 2 {
		return f
	}
	f.small = false
	if f.whole = f.refused(w, facts); f.whole == "" {
		f.whole = f.scope(w)
	}
	for i := range w.tupleReturned(f.suite) {
		f.results = append(f.results, fmt.Sprintf("%s.%d", depgraph.Returned(name), i))
	}
	return f
}

// pieces are the groups of statements of the body.
func (s *statements) pieces(f *functionBody, unfolds func(uint32) bool) [][]uint32 {
	return s.dense(s.documented(s.divide(f.suite, unfolds)))
}

// documented removes the string that documents a function.
func (s *statements) documented(groups [][]uint32) [][]uint32 {
	if len(groups) > 0 {
		first := groups[0][0]
		if e := s.w.child(first); s.w.sym(first) == p.ExpressionStatement && s.w.sym(e) == p.String {
			if groups[0] = groups[0][1:]; len(groups[0]) == 0 {
				groups = groups[1:]
			}
		}
	}
	return groups
}

// refused returns what in the text of a function keeps it from being unfolded.
func (f *functionBody) refused(w *walker, facts *depgraph.Facts) string {
	for _, c := range Comments(facts) {
		if said, is := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(c, "#")), "xstate:"); is &&
			strings.TrimSpace(said) == "whole" {
			return "a comment says so"
		}
	}
	if strings.Contains(f.header, "\n") && strings.Contains(f.header, "#") {
		return "its parameters have comments"
	}
	inner := uint32(0) // the end of the innermost nested function
	for i := f.tree + 1; i < w.end(f.tree); i++ {
		switch w.sym(i) {
		case p.DefaultParameter, p.TypedDefaultParameter:
			if i < f.suite && w.mentions(w.lastChild(i)) {
				return "a default value of it is computed"
			}
		case p.FunctionDefinition, p.Lambda:
			inner = max(inner, w.end(i))
		case p.Yield:
			if i >= inner {
				return "it is a generator"
			}
		}
	}
	text := w.text[w.nodes[f.tree].Start:w.nodes[f.tree].End]
	if strings.Contains(text, kernelPrefix) {
		return "it has magics"
	}
	for _, m := range opened.FindAllStringSubmatch(text, -1) {
		if name := m[1]; !regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\.close\(`).MatchString(text) {
			return fmt.Sprintf("%s may be an open file when it ends", name)
		}
	}
	return ""
}

// opened are assignments of files that are written, and of connections, to variables.
var opened = regexp.MustCompile(`(?m)^[ \t]+(\w+)[ \t]*=[ \t]*(?:\w[\w.]*(?:\([^()\n]*\))?\.)?(?:` +
	`(?:open|fdopen|ZipFile|GzipFile|BZ2File|LZMAFile)\((?:[^()\n]|\([^()\n]*\))*["'][rbt]*[wax+][wax+bt:gz]*["']` +
	`|(?:ExcelWriter|sqlite3\.connect)\()(?:[^()\n]|\([^()\n]*\))*\)[ \t]*(?:#.*)?$`)

// mentions reports whether an expression has a name.
func (w *walker) mentions(i uint32) bool {
	for k := i; k < w.end(i); k++ {
		switch w.sym(k) {
		case p.KeywordArgument:
			k++ // the name of the parameter
		case p.Identifier:
			return true
		}
	}
	return false
}

// scope finds the variables of the function. It returns why it cannot be unfolded; "" if it can.
func (f *functionBody) scope(w *walker) string {
	w.open(moduleScope, noIndex, 0)
	w.scanImports()
	w.beginNode()
	w.function(f.tree)
	w.close()
	own := slices.IndexFunc(w.all, func(sc scope) bool {
		return sc.kind == functionScope && sc.start == w.nodes[f.tree].Start && sc.parent == 0
	})
	if own < 0 || w.err != nil {
		return "it has type parameters"
	}
	each := func(sc int, visit func(name string, flags symbolFlags)) {
		for i := w.all[sc].first; i != noIndex; i = w.syms[i].next {
			visit(w.names.texts[w.syms[i].name], w.syms[i].flags)
		}
	}
	each(own, func(name string, flags symbolFlags) {
		switch {
		case flags&isGlobal != 0:
			f.globals = append(f.globals, name)
		case flags&(isBound|isAnnotated) != 0:
			f.locals = append(f.locals, name)
		}
		if flags&isParam != 0 {
			f.parameters = append(f.parameters, name)
		}
	})
	why := ""
	for sc := own + 1; sc < len(w.all); sc++ {
		each(sc, func(name string, flags symbolFlags) {
			if !slices.Contains(f.locals, name) {
				return
			}
			if flags&isGlobal != 0 {
				why = fmt.Sprintf("%s is a variable of it and of the program", name)
			}
			if flags&isNonlocal != 0 && !slices.Contains(f.nonlocals, name) {
				f.nonlocals = append(f.nonlocals, name)
			}
		})
	}
	return why
}

// body returns the nodes of a function that is called at calls, and whether they may return a value. ended are names
// that are bound where a caller has returned.
func (u *unfolder) body(f *functionBody, calls []depgraph.CallSite, ended []string) ([]depgraph.Node, bool) {
	s := u.bodyStatements(f, calls, ended)
	groups := s.pieces(f, s.callsUnfolded)
	for {
		returns := s.walk(groups)
		merged := f.merge(s, groups)
		if len(merged) == len(groups) {
			nodes := s.finish()
			for i := range nodes {
				if n := &nodes[i]; n.Part.Function == f.name {
					f.variables(n)
				}
			}
			return nodes, returns
		}
		groups, s = merged, u.bodyStatements(f, calls, ended)
	}
}

func (u *unfolder) bodyStatements(f *functionBody, calls []depgraph.CallSite, ended []string) *statements {
	code := u.program[f.at.block].Code
	s := &statements{u: u, w: newWalker(string(code), u.tree(f.at.block).Nodes), block: f.at.block, body: f,
		calls: calls, ended: slices.Clone(ended)}
	w := s.w
	w.facts.Code = code
	w.open(moduleScope, noIndex, 0)
	w.scanImports()
	w.flow = flow{function: true, async: f.async}
	w.locals, w.plain = map[string]string{}, map[int32]int32{}
	for _, name := range f.locals {
		w.locals[name] = f.name + "." + name
	}
	return s
}

// walk makes nodes of groups of statements. It reports whether they may return a value.
func (s *statements) walk(groups [][]uint32) (value bool) {
	w := s.w
	for _, group := range groups {
		if call, ok := w.callStatement(group[0]); ok && len(group) == 1 {
			if f := s.unfolds(group[0], call); f != nil {
				s.call(group[0], call, f)
				continue
			}
		}
		w.beginNode()
		returns, certain := false, false
		for _, c := range group {
			w.stmt(c)
			some, result := w.returns(c)
			returns, value = returns || some, value || result
			certain = certain || w.sym(c) == p.ReturnStatement
		}
		name := depgraph.Returned(s.body.name)
		for _, result := range append(slices.Clone(s.body.results), name) {
			if certain {
				w.bind(w.intern(group[0], result), isAssigned)
			} else if returns {
				w.flagModuleName(w.intern(group[0], result), definesNow)
			}
		}
		w.endNode(depgraph.KindStatement, group[0], group[len(group)-1])
		n := &w.facts.Nodes[w.node]
		n.Expr = false
		s.part(group[0]).Results = s.body.results
		if returns && !slices.Contains(s.ended, name) {
			s.ended = append(s.ended, name)
		}
	}
	w.close()
	return value
}

// returns reports whether a statement may end the function, and whether it then has a value.
func (w *walker) returns(i uint32) (some, value bool) {
	for k := i; k < w.end(i); k++ {
		switch w.sym(k) {
		case p.FunctionDefinition, p.ClassDefinition, p.Lambda:
			k = w.end(k) - 1
		case p.ReturnStatement:
			some = true
			value = value || w.next(w.child(k)) < w.end(k) && w.src(w.next(w.child(k))) != "None"
		}
	}
	return some, value
}

// tupleReturned returns how many elements the tuple has that a function returns: each of its return statements has a
// tuple display of that many. Else it returns 0.
//
// Each element then has a name. A tuple with one name would be fingerprinted with all that it holds, which may have
// names already.
func (w *walker) tupleReturned(suite uint32) int {
	n := -1
	for k := suite; k < w.end(suite); k++ {
		switch w.sym(k) {
		case p.FunctionDefinition, p.ClassDefinition, p.Lambda:
			k = w.end(k) - 1
		case p.ReturnStatement:
			e := w.next(w.child(k))
			if e >= w.end(k) || w.sym(e) != p.ExpressionList && w.sym(e) != p.Tuple {
				return 0
			}
			count := 0
			for c := w.child(e); c < w.end(e); c = w.next(c) {
				switch w.sym(c) {
				case p.LeftParen, p.RightParen, p.Comma, p.Comment:
				case p.ListSplat, p.ParenthesizedListSplat:
					return 0
				default:
					count++
				}
			}
			if n >= 0 && n != count {
				return 0
			}
			n = count
		}
	}
	return max(n, 0)
}

// merge joins the groups from where a nested function captures a variable to where the variable is bound again.
func (f *functionBody) merge(s *statements, groups [][]uint32) [][]uint32 {
	if len(s.w.facts.Nodes) != len(groups) && len(s.inserts) == 0 {
		panic("python: internal error: a group is no node")
	}
	joined := make([]bool, len(groups)) // with the group after it
	for _, name := range f.locals {
		key, shared := f.name+"."+name, slices.Contains(f.nonlocals, name)
		declared := regexp.MustCompile(`\bnonlocal\b[^\n]*\b` + regexp.QuoteMeta(name) + `\b`)
		first, last := -1, -1
		for g, group := range groups {
			for i := range s.w.facts.Nodes {
				n := &s.w.facts.Nodes[i]
				if start := int(s.w.nodes[group[0]].Start); n.End <= start ||
					n.Start > int(s.w.nodes[group[len(group)-1]].Start) {
					continue
				}
				if first >= 0 && (hasName(n, key, n.Defines, n.Deletes) ||
					shared && hasName(n, key, n.Uses, n.Later, n.Mutates)) {
					last = g
				}
				if first < 0 && (slices.Contains(n.Later, key) ||
					shared && declared.MatchString(s.w.text[n.Start:n.End])) {
					first = g
				}
			}
		}
		for g := first; first >= 0 && g < last; g++ {
			joined[g] = true
		}
	}
	var found [][]uint32
	for g, group := range groups {
		if g > 0 && joined[g-1] {
			found[len(found)-1] = append(found[len(found)-1], group...)
		} else {
			found = append(found, slices.Clone(group))
		}
	}
	return found
}

func hasName(n *depgraph.Node, name string, lists ...[]string) bool {
	return slices.ContainsFunc(lists, func(list []string) bool { return slices.Contains(list, name) })
}

// variables lists the function's variables that the text of a node uses.
func (f *functionBody) variables(n *depgraph.Node) {
	for _, name := range f.locals {
		key := f.name + "." + name
		if slices.Contains(f.nonlocals, name) ||
			hasName(n, key, n.Defines, n.Deletes, n.Uses, n.Later, n.Mutates, n.MutatesLater) {
			n.Part.Locals = append(n.Part.Locals, name)
		}
		if hasName(n, key, n.Deletes) {
			n.Part.Deletes = append(n.Part.Deletes, name)
		}
	}
	slices.Sort(n.Part.Locals)
	slices.Sort(n.Part.Deletes)
}
