package bash

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A node is confined if its text, with the functions that it calls, lists all that it can change of the shell:
// variables with names. After such a node only these are shown. To show the whole state takes a hundred times as long
// as a short command: Bash writes each line by a separate call.
//
// A text is confined unless it has something that is not known to be harmless, so an unforeseen construct or builtin
// costs time and not the result. Changes that subshells, pipelines and programs make to their own copy do not count.
//
// An operand of arithmetic is an expression: after x="y=3", $((x)) assigns y. So operands are to be numbers before the
// node, and the node may assign nothing but numbers to them.
type confinement struct {
	open     bool            // the text may change more
	outside  bool            // it may use files or start processes
	operands map[string]bool // variables whose value is an expression
	texts    map[string]bool // variables to which it assigns what may be no number
}

// confinementOf looks at a text that parses.
func confinementOf(file *syntax.File) confinement {
	c := confinement{operands: map[string]bool{}, texts: map[string]bool{}}
	syntax.Walk(file, c.visit)
	return c
}

// visit looks at one part of a text. It returns whether what is in it counts.
func (c *confinement) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case nil, *syntax.File, *syntax.Block, *syntax.IfClause, *syntax.WhileClause, *syntax.CaseClause, *syntax.CaseItem,
		*syntax.TestClause, *syntax.ParenTest, *syntax.Word, *syntax.Comment, *syntax.FuncDecl, *syntax.SglQuoted,
		*syntax.TimeClause:
	case *syntax.Stmt:
		c.open = c.open || n.Background || n.Coprocess
	case *syntax.Subshell:
		c.outside = true
		return false
	case *syntax.BinaryCmd:
		if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
			c.outside = true
			return false
		}
	case *syntax.CmdSubst:
		c.outside, c.open = true, c.open || n.TempFile || n.ReplyVar
		return false
	case *syntax.Lit:
		c.outside = c.outside || strings.Contains(n.Value, "~")
	case *syntax.DblQuoted:
		c.outside = c.outside || n.Dollar // it is translated
	case *syntax.ExtGlob:
		c.outside, c.open = true, c.open || strings.ContainsAny(n.Pattern.Value, "$`")
	case *syntax.ParamExp:
		c.parameter(n)
	case *syntax.ArithmExp:
		c.arithmetic(n.X)
		return false
	case *syntax.ArithmCmd:
		c.arithmetic(n.X)
		return false
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{n.Init, n.Cond, n.Post} {
			c.arithmetic(x)
		}
		return false
	case *syntax.BinaryTest:
		c.compare(n)
	case *syntax.UnaryTest:
		c.open = c.open || n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar
	case *syntax.Redirect:
		c.redirect(n)
	case *syntax.Assign:
		c.assign(n)
	case *syntax.ArrayExpr, *syntax.ArrayElem:
		c.outside = true // the values may be patterns
	case *syntax.ForClause:
		c.open = c.open || n.Select
	case *syntax.WordIter:
		c.texts[n.Name.Value] = true
	case *syntax.DeclClause:
		c.declare(n)
	case *syntax.CallExpr:
		c.call(n)
	default:
		c.open = true
	}
	return !c.open
}

// parameter looks at an expansion. Its words are visited on their own.
func (c *confinement) parameter(p *syntax.ParamExp) {
	if p.Param == nil || p.Excl || p.Names != 0 || p.Index != nil && !isAll(p.Index) {
		c.open = true
		return
	}
	if p.Slice != nil {
		c.arithmetic(p.Slice.Offset)
		c.arithmetic(p.Slice.Length)
	}
	if p.Exp == nil {
		return
	}
	switch p.Exp.Op {
	case syntax.OtherParamOps:
		c.open = true
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		c.texts[p.Param.Value] = true
	}
}

// isAll reports whether an index means all elements.
func isAll(x syntax.ArithmExpr) bool {
	w, is := x.(*syntax.Word)
	return is && (w.Lit() == "@" || w.Lit() == "*")
}

var number = regexp.MustCompile(`^([0-9]+(#\w+)?|0[xX][0-9a-fA-F]+)$`)

// arithmetic looks at an expression.
func (c *confinement) arithmetic(x syntax.ArithmExpr) {
	switch x := x.(type) {
	case nil:
	case *syntax.BinaryArithm:
		c.arithmetic(x.X)
		c.arithmetic(x.Y)
	case *syntax.UnaryArithm:
		c.arithmetic(x.X)
	case *syntax.ParenArithm:
		c.arithmetic(x.X)
	case *syntax.Word:
		c.operand(x)
	default:
		c.open = true
	}
}

// operand looks at a word that is an expression once it is expanded.
func (c *confinement) operand(w *syntax.Word) {
	text, quoted := literal(w)
	if !quoted {
		text = w.Lit()
	}
	switch {
	case number.MatchString(text):
		return
	case text != "":
		c.open = c.open || !isPlain(text)
		c.operands[text] = true
		return
	}
	p := soleParameter(w)
	switch {
	case p == nil || p.Param == nil || p.Excl || p.Names != 0 || p.Exp != nil || p.Repl != nil || p.Slice != nil:
		c.open = true
	case p.Param.Value == "#" || p.Param.Value == "?":
	case p.Length && (p.Index == nil || isAll(p.Index)):
	case p.Index != nil || !isPlain(p.Param.Value):
		c.open = true
	default:
		c.operands[p.Param.Value] = true
	}
}

// soleParameter returns the expansion that a word consists of; nil when there is more.
func soleParameter(w *syntax.Word) *syntax.ParamExp {
	parts := w.Parts
	if len(parts) == 1 {
		if q, is := parts[0].(*syntax.DblQuoted); is {
			parts = q.Parts
		}
	}
	if len(parts) != 1 {
		return nil
	}
	p, _ := parts[0].(*syntax.ParamExp)
	return p
}

// compare looks at a comparison, of which some are of expressions.
func (c *confinement) compare(t *syntax.BinaryTest) {
	switch t.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		for _, x := range []syntax.TestExpr{t.X, t.Y} {
			if w, is := x.(*syntax.Word); is {
				c.operand(w)
			} else {
				c.open = true
			}
		}
	}
}

func (c *confinement) redirect(r *syntax.Redirect) {
	c.open = c.open || r.N != nil && strings.HasPrefix(r.N.Value, "{")
	if to := r.Word.Lit(); r.Op != syntax.DplOut || to != "1" && to != "2" {
		c.outside = true
	}
}

// assign looks at x=value. The kind of the array determines what an assignment to an element evaluates.
func (c *confinement) assign(a *syntax.Assign) {
	if a.Name == nil { // an option of declare
		return
	}
	if a.Index != nil {
		c.open = true
		return
	}
	if a.Array != nil {
		c.texts[a.Name.Value] = true
		for _, e := range a.Array.Elems {
			c.open = c.open || e.Index != nil
		}
		return
	}
	if a.Value == nil || len(a.Value.Parts) == 1 && isSum(a.Value.Parts[0]) {
		return
	}
	if text := a.Value.Lit(); !number.MatchString(text) {
		c.texts[a.Name.Value] = true
	}
}

func isSum(part syntax.WordPart) bool {
	_, is := part.(*syntax.ArithmExp)
	return is
}

// declare looks at export, local, declare and the like, without options that change what an assignment means.
func (c *confinement) declare(d *syntax.DeclClause) {
	for _, a := range d.Args {
		if a.Name != nil {
			continue // it is visited on its own
		}
		options := a.Value.Lit()
		if !strings.HasPrefix(options, "-") || strings.Trim(options[1:], "aArx") != "" || options == "-" {
			c.open = true
		}
	}
}

// call looks at a simple command. The functions and programs that it may call are in its facts.
func (c *confinement) call(n *syntax.CallExpr) {
	if len(n.Args) == 0 {
		return
	}
	name, quoted := literal(n.Args[0])
	if !quoted {
		name = n.Args[0].Lit()
	}
	args := n.Args[1:]
	switch {
	case name == "" || strings.ContainsAny(name, "\\*?[~{") && name != "[":
		c.open = true
	case harmless[name]:
	case name == "printf":
		c.open = c.open || len(args) > 0 && mayBeOption(args[0])
	case name == "command" || name == "type":
		c.outside = true
		c.open = c.open || name == "command" && (len(args) == 0 || args[0].Lit() != "-v" && args[0].Lit() != "-V")
	case name == "read":
		c.read(args)
	case name == "test" || name == "[":
		c.open = c.open || !isPlainTest(args)
	case builtins[name]:
		c.open = true
	default:
		c.outside = true
	}
}

// harmless are builtins that change nothing but the flow of the program.
var harmless = map[string]bool{":": true, "true": true, "false": true, "echo": true, "break": true, "continue": true,
	"return": true, "exit": true}

// builtins are the other builtins of Bash. With each of its versions come more, which run as programs before.
var builtins = func() map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(". alias bg bind builtin caller cd compgen complete compopt declare dirs " +
		"disown enable eval exec export fc fg getopts hash help history jobs kill let local logout mapfile popd " +
		"pushd pwd readarray readonly set shift shopt source suspend times trap typeset ulimit umask unalias unset " +
		"wait") {
		set[name] = true
	}
	return set
}()

// literal returns the text of a word in quotes.
func literal(w *syntax.Word) (string, bool) {
	if len(w.Parts) != 1 {
		return "", false
	}
	switch q := w.Parts[0].(type) {
	case *syntax.SglQuoted:
		return q.Value, !q.Dollar
	case *syntax.DblQuoted:
		if len(q.Parts) == 1 {
			if l, is := q.Parts[0].(*syntax.Lit); is {
				return l.Value, true
			}
		}
	}
	return "", false
}

// mayBeOption reports whether an argument may begin with a minus.
func mayBeOption(w *syntax.Word) bool {
	text, quoted := literal(w)
	if !quoted {
		text = ""
		switch part := w.Parts[0].(type) {
		case *syntax.Lit:
			text = part.Value
		case *syntax.DblQuoted:
			if len(part.Parts) > 0 {
				if l, is := part.Parts[0].(*syntax.Lit); is {
					text = l.Value
				}
			}
		}
	}
	return text == "" || text[0] == '-' || text[0] == '\\'
}

func (c *confinement) read(args []*syntax.Word) {
	c.outside = true
	for i, a := range args {
		name := a.Lit()
		switch {
		case i == 0 && name == "-r":
		case isPlain(name):
			c.texts[name] = true
		default:
			c.open = true
		}
	}
	c.texts["REPLY"] = true
}

// operators are the binary operators of the command test.
var operators = map[string]bool{"=": true, "==": true, "!=": true, "-eq": true, "-ne": true, "-lt": true, "-le": true,
	"-gt": true, "-ge": true}

// isPlainTest reports whether the command test only compares: its -v evaluates an index.
func isPlainTest(args []*syntax.Word) bool {
	if n := len(args); n > 0 && args[n-1].Lit() == "]" {
		args = args[:n-1]
	}
	for len(args) > 0 && args[0].Lit() == "!" {
		args = args[1:]
	}
	for _, a := range args {
		for _, part := range a.Parts {
			switch part := part.(type) {
			case *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.ArithmExp:
			case *syntax.ParamExp:
				if part.Param == nil || part.Param.Value != "#" && part.Param.Value != "?" {
					return false // it may be several words
				}
			default:
				return false
			}
		}
		if q := soleParameter(a); q != nil && q.Index != nil || q != nil && q.Param != nil && q.Param.Value == "@" {
			return false
		}
	}
	switch len(args) {
	case 0, 1:
		return true
	case 2:
		op := args[0].Lit()
		return len(op) == 2 && op[0] == '-' && op != "-v" && op != "-R"
	case 3:
		return operators[args[1].Lit()]
	}
	return false
}
