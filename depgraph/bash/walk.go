package bash

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/xstate-engine/xstate/depgraph"
)

// names is a set.
type names map[string]bool

func (s names) sorted() []string {
	if len(s) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(s))
}

// walker collects what a node does. The body of a function is walked at its definition: what its calls do is what it
// does later.
type walker struct {
	source []byte

	defines, certain, deletes, uses, later, rebinds, mutates, mutatesLater names

	kinds   names // names whose values before do not count, see Needs
	numbers names // see Needs
	special names // special parameters: ?, @, 1, $, !
	effects []depgraph.Effect
	dynamic []depgraph.Dynamic

	function int   // functions around
	subshell int   // subshells around: what they bind is gone with them
	maybe    int   // conditions and loops around: what is there may not happen
	local    names // in the function around, certainly
	line     int   // the statement's; 0 in a text that is not part of the source
}

func newWalker(source []byte) *walker {
	return &walker{
		source: source, defines: names{}, certain: names{}, deletes: names{}, uses: names{}, later: names{},
		rebinds: names{}, mutates: names{}, mutatesLater: names{}, kinds: names{}, numbers: names{}, special: names{},
		local: names{},
	}
}

// fill writes what was found to a node.
func (w *walker) fill(n *depgraph.Node) {
	uses := maps.Clone(w.uses)
	maps.Copy(uses, w.kinds)
	n.Defines, n.Certain, n.Deletes = w.defines.sorted(), w.certain.sorted(), w.deletes.sorted()
	n.Uses, n.Later, n.Rebinds = uses.sorted(), w.later.sorted(), w.rebinds.sorted()
	n.Mutates, n.MutatesLater = w.mutates.sorted(), w.mutatesLater.sorted()
	n.Effects, n.Dynamic = w.effects, w.dynamic
}

// use notes the read of a name or special parameter.
func (w *walker) use(name string) {
	_, function := IsFunction(name)
	switch {
	case name == "":
		return
	case name == "_" || !isName(name) && !function && name != Exports:
		if !isArgument(name) || w.function == 0 { // a function has its own arguments
			w.special[name] = true
			w.variableEffect(name)
		}
		return
	}
	w.variableEffect(name)
	w.note(name)
}

func (w *walker) note(name string) {
	switch {
	case w.function > 0 && !w.local[name]:
		w.later[name] = true
	case w.function == 0 && !w.certain[name]:
		w.uses[name] = true
	}
}

func (w *walker) variableEffect(name string) {
	e, is := variableEffects[name]
	if isArgument(name) {
		e, is = variableEffects["@"], true
	}
	if is {
		w.effect(e.Kind, "$"+name, "", e.Key, e.Mode)
	}
}

// assign notes the assignment of a whole value.
func (w *walker) assign(name string) {
	if w.function == 0 && w.subshell == 0 && !w.certain[name] && isName(name) {
		w.kinds[name] = true
	} else if w.subshell == 0 {
		w.note(name)
	}
	w.bind(name)
}

// change notes that a value is another one afterwards, which depends on the value before.
func (w *walker) change(name string) {
	w.use(name)
	switch {
	case w.subshell > 0:
	case w.function == 0:
		w.mutates[name] = true
	case !w.local[name]:
		w.mutatesLater[name] = true
	}
	w.bind(name)
}

func (w *walker) bind(name string) {
	if name == "" || name == "_" || w.subshell > 0 {
		return
	}
	if IsOption(name) {
		w.effect(EffectOption, name, "", keyOptions, depgraph.Updates)
	}
	if e := variableEffects[name]; e.Kind == depgraph.EffectRandom && e.Key != "" {
		w.effect(e.Kind, name, "", e.Key, depgraph.Updates)
	}
	switch {
	case w.function == 0:
		w.defines[name] = true
		if w.maybe == 0 {
			w.certain[name] = true
		}
	case !w.local[name]:
		w.rebinds[name] = true
	}
}

func (w *walker) unset(name string) {
	if w.subshell > 0 {
		return
	}
	w.note(name)
	switch {
	case w.function == 0:
		w.deletes[name] = true
		delete(w.certain, name)
	case !w.local[name]:
		w.rebinds[name] = true
	}
}

// dyn notes what reads names that the text does not show, and may bind them.
func (w *walker) dyn(what string, binds bool) { w.dynAt(what, binds, w.function > 0) }

func (w *walker) dynAt(what string, binds, later bool) {
	d := depgraph.Dynamic{What: what, Line: w.line, Later: later, Reads: true, Binds: binds && w.subshell == 0}
	if !slices.Contains(w.dynamic, d) {
		w.dynamic = append(w.dynamic, d)
	}
}

func (w *walker) effect(kind depgraph.EffectKind, what, arg string, key depgraph.Key, mode depgraph.Mode) {
	e := depgraph.Effect{Kind: kind, What: what, Arg: arg, Key: key, Mode: mode, Line: w.line, Later: w.function > 0}
	if !slices.Contains(w.effects, e) {
		w.effects = append(w.effects, e)
	}
}

// hidden notes a change of hidden state. A subshell changes a copy.
func (w *walker) hidden(what string, key depgraph.Key) {
	if w.subshell == 0 {
		w.effect(EffectOption, what, "", key, depgraph.Updates)
	}
}

func (w *walker) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		w.stmt(s)
	}
}

func (w *walker) stmt(s *syntax.Stmt) {
	if s == nil {
		return
	}
	if w.source != nil {
		w.line = bytes.Count(w.source[:min(len(w.source), int(s.Pos().Offset()))], []byte("\n")) + 1
	}
	for _, r := range s.Redirs {
		w.redirect(r)
	}
	switch {
	case s.Background || s.Coprocess:
		w.effect(depgraph.EffectSubprocess, "&", "", "", depgraph.Updates)
		w.inSubshell(func() { w.command(s.Cmd) })
	case len(s.Redirs) > 0: // if a file cannot be opened, Bash skips the command and continues
		w.branch(func() { w.command(s.Cmd) })
	default:
		w.command(s.Cmd)
	}
}

// branch walks what may not be executed.
func (w *walker) branch(walk func()) {
	w.maybe++
	walk()
	w.maybe--
}

// inSubshell walks what a copy of the shell executes.
func (w *walker) inSubshell(walk func()) {
	local := maps.Clone(w.local)
	w.subshell++
	walk()
	w.subshell--
	w.local = local
}

// inFunction walks what later calls execute.
func (w *walker) inFunction(walk func()) {
	local, maybe, subshell := w.local, w.maybe, w.subshell
	w.local, w.maybe, w.subshell = names{}, 0, 0
	w.function++
	walk()
	w.function--
	w.local, w.maybe, w.subshell = local, maybe, subshell
}

func (w *walker) command(c syntax.Command) {
	switch c := c.(type) {
	case *syntax.CallExpr:
		w.call(c)
	case *syntax.Block:
		w.stmts(c.Stmts)
	case *syntax.Subshell:
		w.inSubshell(func() { w.stmts(c.Stmts) })
	case *syntax.BinaryCmd:
		w.binary(c)
	case *syntax.IfClause:
		w.ifClause(c)
	case *syntax.WhileClause:
		w.branch(func() { w.stmts(c.Cond); w.stmts(c.Do) })
	case *syntax.ForClause:
		w.forClause(c)
	case *syntax.CaseClause:
		w.caseClause(c)
	case *syntax.FuncDecl:
		w.bind(Function(c.Name.Value))
		w.inFunction(func() { w.stmt(c.Body) })
	case *syntax.DeclClause:
		w.declare(c.Variant.Value, c.Args)
	case *syntax.ArithmCmd:
		w.arithm(c.X)
	case *syntax.LetClause:
		w.use(Function("let"))
		for _, x := range c.Exprs {
			w.arithm(x)
		}
	case *syntax.TestClause:
		w.test(c.X)
	case *syntax.TimeClause:
		w.use("TIMEFORMAT")
		w.effect(depgraph.EffectClock, "time", "", "", depgraph.Updates)
		w.stmt(c.Stmt)
	case *syntax.CoprocClause:
		w.coproc(c)
	case nil:
	default:
		w.dyn("another command", true)
	}
}

func (w *walker) binary(c *syntax.BinaryCmd) {
	if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
		w.stmt(c.X)
		w.branch(func() { w.stmt(c.Y) })
		return
	}
	w.inSubshell(func() { w.stmt(c.X) })
	w.branch(func() { w.stmt(c.Y) }) // with the option lastpipe, the shell itself executes it
}

func (w *walker) ifClause(c *syntax.IfClause) {
	w.stmts(c.Cond)
	w.branch(func() {
		w.stmts(c.Then)
		if c.Else != nil {
			w.ifClause(c.Else)
		}
	})
}

func (w *walker) forClause(c *syntax.ForClause) {
	switch loop := c.Loop.(type) {
	case *syntax.WordIter:
		if !loop.InPos.IsValid() {
			w.use("@")
		}
		w.args(loop.Items)
		w.branch(func() {
			if w.assign(loop.Name.Value); c.Select {
				w.assign("REPLY")
				w.use("PS3")
				w.effect(depgraph.EffectInput, "select", "", "", depgraph.Updates)
			}
			w.stmts(c.Do)
		})
	case *syntax.CStyleLoop:
		w.branch(func() { w.arithm(loop.Init); w.arithm(loop.Cond); w.stmts(c.Do); w.arithm(loop.Post) })
	}
}

func (w *walker) caseClause(c *syntax.CaseClause) {
	w.word(c.Word)
	w.branch(func() {
		for _, item := range c.Items {
			w.words(item.Patterns)
			w.stmts(item.Stmts)
		}
	})
}

func (w *walker) coproc(c *syntax.CoprocClause) {
	name, literal := "COPROC", true
	if c.Name != nil {
		w.word(c.Name)
		name, literal = literalWord(c.Name)
	}
	if !literal {
		w.dyn("coproc", true)
	} else {
		w.assign(name)
		w.assign(name + "_PID")
	}
	w.effect(depgraph.EffectSubprocess, "coproc", "", "", depgraph.Updates)
	w.inSubshell(func() { w.stmt(c.Stmt) })
}

func (w *walker) redirect(r *syntax.Redirect) {
	if r.N != nil && len(r.N.Value) > 2 && r.N.Value[0] == '{' {
		name := r.N.Value[1 : len(r.N.Value)-1]
		if r.Op == syntax.DplIn || r.Op == syntax.DplOut { // {fd}>&- closes what the variable names
			w.use(name)
		}
		w.branch(func() { w.assign(name) })
		w.hidden("{"+name+"}", keyDescriptors)
	}
	w.arg(r.Word)
	if r.Hdoc != nil {
		w.quoted(r.Hdoc.Parts)
	}
	name, literal := literalWord(r.Word)
	mode := depgraph.Updates
	switch r.Op {
	case syntax.RdrIn:
		mode = depgraph.Reads
	case syntax.RdrOut, syntax.RdrClob, syntax.RdrAll, syntax.RdrAllClob:
		mode = depgraph.Writes
	case syntax.AppOut, syntax.AppAll, syntax.RdrInOut:
	case syntax.DplOut: // a copy of a file or of a descriptor
		if mode = depgraph.Writes; !literal || strings.Trim(name, "0123456789-") == "" {
			return
		}
	default: // a descriptor, a here-document
		return
	}
	w.file(r.Op.String(), name, literal, mode)
}
