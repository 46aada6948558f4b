package python

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/python/pytree"
)

// Unfold finds the functions of a program that are unfolded. The elements of program are the facts of its blocks; nil
// for a block that is not Python or does not parse.
//
// A function is unfolded if the program calls it once, by a statement that does nothing else, and names it nowhere
// else. No code can then distinguish the statements of its body from statements that are executed one after another,
// unless it looks at frames or at all names: see tellsApart.
//
// # Variables
//
// A variable v of f is the name "f.v" of the program. Each node loads those that it uses into fast locals, and stores
// them when it ends. Nested functions capture variables by cells, and each node has its own cells. So where a variable
// is bound again after a nested function captured it, the nodes from the one to the other are one node.
//
// # Return
//
// A node that returns binds "f.return". Those after it read that name, and do nothing if it is bound.
func Unfold(program []*depgraph.Facts) depgraph.Unfolding {
	u := unfolder{program: program, found: depgraph.Unfolding{
		Nodes: map[int][]depgraph.Node{}, Whole: map[int]string{}}}
	var callers []int
	for i, f := range program {
		if f != nil && len(f.Calls) > 0 && u.callsOwn(f) {
			callers = append(callers, i)
		}
	}
	if len(callers) == 0 {
		return u.found
	}
	defer u.close()
	u.everywhere = u.tellsApart()
	for _, i := range callers {
		u.caller(i)
	}
	return u.found
}

type unfolder struct {
	program    []*depgraph.Facts
	defs       map[string]nodePlace   // functions that are defined once and never bound otherwise
	uses       map[string][]nodePlace // nodes that name these functions, beside their definitions
	trees      map[int]*pytree.Tree
	everywhere string // why no function of the program is unfolded; ""
	bodies     map[string]*functionBody
	found      depgraph.Unfolding
}

type nodePlace struct{ block, node int }

// callsOwn reports whether statements of a block call functions that the program defines.
func (u *unfolder) callsOwn(f *depgraph.Facts) bool {
	if u.defs == nil {
		u.index()
	}
	return slices.ContainsFunc(f.Calls, func(name string) bool { _, is := u.defs[name]; return is })
}

// index finds the functions of the program, and the nodes that name them.
func (u *unfolder) index() {
	u.defs, u.uses = map[string]nodePlace{}, map[string][]nodePlace{}
	for i, f := range u.program {
		if f == nil {
			continue
		}
		for j := range f.Nodes {
			if n := &f.Nodes[j]; n.Kind == depgraph.KindDef && len(n.Defines) == 1 {
				if _, twice := u.defs[n.Defines[0]]; !twice {
					u.defs[n.Defines[0]] = nodePlace{i, j}
				}
			}
		}
	}
	for i, f := range u.program {
		if f == nil {
			continue
		}
		for j := range f.Nodes {
			n, at := &f.Nodes[j], nodePlace{i, j}
			for _, names := range [][]string{n.Defines, n.Deletes, n.Rebinds} {
				for _, name := range names {
					if u.defs[name] != at {
						delete(u.defs, name)
					}
				}
			}
			for _, names := range [][]string{n.Uses, n.Later} {
				for _, name := range names {
					if _, is := u.defs[name]; is && !slices.Contains(u.uses[name], at) {
						u.uses[name] = append(u.uses[name], at)
					}
				}
			}
		}
	}
}

// tree returns the syntax tree of a block.
func (u *unfolder) tree(i int) *pytree.Tree {
	if t := u.trees[i]; t != nil {
		return t
	}
	t, err := pytree.Parse(u.program[i].Code)
	if err != nil {
		panic("python: internal error: a block with facts does not parse: " + err.Error())
	}
	if u.trees == nil {
		u.trees = map[int]*pytree.Tree{}
	}
	u.trees[i] = t
	return t
}

func (u *unfolder) close() {
	for _, t := range u.trees {
		t.Close()
	}
}

// frames are texts by which code can distinguish the frame of a function from that of a node, by which a library looks
// up variables of its caller, or by which the end of an object's life has an effect.
var frames = regexp.MustCompile(`\b(_getframe|currentframe|getouterframes|extract_stack|print_stack|format_stack|` +
	`settrace|setprofile|f_back|f_locals|f_code|__closure__|co_code|co_consts|getsource|__del__|weakref|faulthandler|` +
	`duckdb|numexpr|patsy|from_formula|smf|sqldf|cProfile|line_profiler|getcallargs)\b|\binspect\.(stack|trace)\b|` +
	`\b(locals|vars|dir)\(\)|=\s*(tempfile\.)?(Named)?Temporary(Directory|File)\(`)

// tellsApart returns why code of the program may distinguish an unfolded function from a called one; "" if nothing can.
func (u *unfolder) tellsApart() string {
	for _, f := range u.program {
		if f == nil {
			continue
		}
		if text := frames.Find(f.Code); text != nil {
			return fmt.Sprintf("the program uses %s", strings.Trim(string(text), "=( )"))
		}
		for i := range f.Nodes {
			n := &f.Nodes[i]
			if slices.Contains(n.Defines, "__name__") {
				return "the program binds __name__"
			}
			for _, d := range n.Dynamic {
				if d.Reads && !harmless[d.What] {
					return fmt.Sprintf("%s may use any name", d.What)
				}
			}
		}
	}
	return ""
}

// harmless are dynamic constructs that use no variable of a function by a name that the text does not show.
var harmless = map[string]bool{
	"getattr": true, "setattr": true, "delattr": true, "__import__": true, "sys.modules": true, "annotation": true,
	"eval_str": true, "__subclasses__": true, "import *": true, "get_ipython": true, "copy_context": true,
}

// statements is a list of statements of one block that become nodes.
type statements struct {
	u       *unfolder
	w       *walker
	block   int
	body    *functionBody // whose they are; nil for the program
	calls   []depgraph.CallSite
	ended   []string // names that are bound where a body around the statements has returned
	inserts []insertion
	count   int  // the nodes of body
	guarded bool // they are those of a guarded suite
	parts   bool // a node has a Part
}

// insertion holds nodes of a function that come between nodes of its caller.
type insertion struct {
	at    int
	nodes []depgraph.Node
}

// caller unfolds the functions that statements of a block call.
func (u *unfolder) caller(i int) {
	code := u.program[i].Code
	s := &statements{u: u, w: newWalker(string(code), u.tree(i).Nodes), block: i}
	w := s.w
	w.facts.Code = code
	w.open(moduleScope, noIndex, 0)
	w.scanImports()
	var run []uint32
	flush := func() {
		if len(run) > 0 {
			s.node(depgraph.KindStatement, run)
			run = nil
		}
	}
	for c := w.child(0); c < w.end(0); c = w.next(c) {
		if w.sym(c) == pytree.Semicolon {
			continue
		}
		if kind, alone := w.kindOf(c); alone {
			flush()
			s.node(kind, []uint32{c})
			continue
		}
		if suite, ok := w.guarded(c); ok {
			s.guarded = true
			several := s.several(suite)
			if several {
				flush()
				s.suite(suite)
			}
			if s.guarded = false; several {
				continue
			}
		}
		if call, ok := w.callStatement(c); ok {
			if f := s.unfolds(c, call); f != nil {
				flush()
				s.call(c, call, f)
				continue
			}
		}
		run = append(run, c)
	}
	flush()
	w.close()
	if nodes := s.finish(); s.parts && w.err == nil {
		u.found.Nodes[i] = nodes
	}
}

// suite makes nodes of the statements of a guarded suite.
func (s *statements) suite(suite uint32) {
	for _, group := range s.dense(s.divide(suite, s.callsUnfolded)) {
		if call, ok := s.w.callStatement(group[0]); ok && len(group) == 1 {
			if f := s.unfolds(group[0], call); f != nil {
				s.call(group[0], call, f)
				continue
			}
		}
		s.node(depgraph.KindStatement, group)
		s.part(group[0])
	}
}

// node makes a node of statements.
func (s *statements) node(kind depgraph.Kind, list []uint32) {
	w := s.w
	w.beginNode()
	for _, c := range list {
		w.stmt(c)
	}
	w.endNode(kind, list[0], list[len(list)-1])
}

// part returns the Part of the node that was made last, whose text begins with statement c.
func (s *statements) part(c uint32) *depgraph.Part {
	s.parts = true
	n := &s.w.facts.Nodes[s.w.node]
	n.Part = &depgraph.Part{Block: s.block, Calls: s.calls}
	if col, first := s.w.indent(s.w.nodes[c].Start); first && col != (column{}) {
		n.Start = strings.LastIndexByte(s.w.text[:n.Start], '\n') + 1
		n.Expr = false
	}
	if f := s.body; f != nil {
		s.count++
		n.Part.Function, n.Part.Number, n.Part.Async, n.Part.Globals = f.name, s.count, f.async, f.globals
		n.Part.End = int(s.w.nodes[f.tree].End)
	}
	if len(s.ended) > 0 {
		n.Part.Returned = slices.Clone(s.ended)
		for _, name := range s.ended {
			if !slices.Contains(n.Uses, name) {
				n.Uses = append(n.Uses, name)
			}
		}
		slices.Sort(n.Uses)
	}
	return n.Part
}

// callsUnfolded reports whether a statement calls a function that is unfolded.
func (s *statements) callsUnfolded(c uint32) bool {
	call, ok := s.w.callStatement(c)
	return ok && s.unfolds(c, call) != nil
}

// divide divides the statements of a suite as those of a script: each definition and each unfolded call is one group,
// and so are statements between blank lines.
func (s *statements) divide(suite uint32, unfolds func(uint32) bool) [][]uint32 {
	w := s.w
	var found [][]uint32
	last, alone := -1, true
	for c := w.child(suite); c < w.end(suite); c = w.next(c) {
		if w.sym(c) < firstNonTerminal {
			continue
		}
		_, apart := w.kindOf(c)
		apart = apart || unfolds(c)
		line := w.line(w.nodes[c].Start)
		if k := len(found) - 1; k >= 0 && (line == last || !apart && !alone && !w.blankBetween(last, line)) {
			found[k] = append(found[k], c)
		} else {
			found = append(found, []uint32{c})
		}
		last, alone = w.line(w.nodes[c].End), apart
	}
	return found
}

// several reports whether a guarded suite has more than one node.
func (s *statements) several(suite uint32) bool {
	return len(s.dense(s.divide(suite, s.callsUnfolded))) > 1 || s.callsUnfolded(s.w.child(suite))
}

// dense divides the statements of a suite that has no blank lines: each that calls functions of the program is one
// group, and so is each with a suite, which may be a loop, and each run of statements that print. Where only a return
// statement follows those that may take long, there is nothing to gain.
func (s *statements) dense(groups [][]uint32) [][]uint32 {
	if len(groups) != 1 {
		return groups
	}
	var found [][]uint32
	before, gains, worked := worksAlone, false, false
	for _, c := range groups[0] {
		now := s.work(c)
		if k := len(found) - 1; now != worksAlone && now == before {
			found[k] = append(found[k], c)
		} else {
			found = append(found, []uint32{c})
		}
		gains = gains || worked && s.w.sym(c) != pytree.ReturnStatement
		before, worked = now, worked || now == worksAlone
	}
	if !gains {
		return groups
	}
	return found
}

// work says with which others a statement forms a node.
type work int

const (
	worksAlone work = iota // it may take long
	prints
	other
)

func (s *statements) work(c uint32) work {
	w := s.w
	e := w.child(c)
	switch w.sym(c) {
	case pytree.ForStatement, pytree.WhileStatement, pytree.WithStatement, pytree.TryStatement:
		return worksAlone
	case pytree.IfStatement, pytree.ReturnStatement:
		return other
	}
	for k := c; k < w.end(c); k++ {
		if _, own := s.u.defs[w.src(k)]; own && w.sym(k) == pytree.Identifier {
			return worksAlone
		}
	}
	if w.sym(c) == pytree.ExpressionStatement && w.sym(e) == pytree.Call && w.src(w.child(e)) == "print" {
		return prints
	}
	return other
}

// blankBetween reports whether a line between two lines is blank.
func (w *walker) blankBetween(from, to int) bool {
	for i := from + 1; i < to; i++ {
		if strings.TrimSpace(w.text[w.lines[i-1]:w.lines[i]]) == "" {
			return true
		}
	}
	return false
}

// call makes the nodes of a call: one that binds the parameters, those of the body, and one that uses the result.
func (s *statements) call(c uint32, call callStatement, f *functionBody) {
	w := s.w
	args := w.next(w.child(call.call))
	if len(f.parameters) > 0 || w.arguments(call.call) > 0 {
		w.beginNode()
		w.exprs(args)
		for _, name := range f.parameters {
			w.bind(w.intern(c, f.name+"."+name), isAssigned)
		}
		w.endNode(depgraph.KindStatement, c, c)
		part := s.part(c)
		part.Call, part.Header = f.name, f.header
		w.facts.Nodes[w.node].Expr = false
	}
	site := depgraph.CallSite{Block: s.block, Line: w.line(w.nodes[c].Start)}
	if s.body != nil {
		site.Function = s.body.name
	}
	nodes, ends := s.u.body(f, append(slices.Clone(s.calls), site), s.ended)
	s.inserts, s.parts = append(s.inserts, insertion{len(w.facts.Nodes), nodes}), true
	if !call.used && (!ends || s.body != nil) {
		return
	}
	w.beginNode()
	for _, name := range append(slices.Clone(f.results), depgraph.Returned(f.name)) {
		w.use(w.intern(c, name))
	}
	for _, outer := range call.outer {
		w.expr(outer)
	}
	if w.sym(c) == pytree.RaiseStatement {
		w.expr(w.child(w.next(w.child(c))))
	}
	if call.target != 0 {
		w.target(call.target, isAssigned)
	}
	w.endNode(depgraph.KindStatement, c, c)
	part := s.part(c)
	part.Call, part.Results = f.name, f.results
}

// finish returns the nodes, with those of unfolded functions in their places.
func (s *statements) finish() []depgraph.Node {
	w := s.w
	w.resolveChains()
	w.addTokens()
	var found []depgraph.Node
	at := 0
	for _, in := range s.inserts {
		found = append(append(found, w.facts.Nodes[at:in.at]...), in.nodes...)
		at = in.at
	}
	return append(found, w.facts.Nodes[at:]...)
}
