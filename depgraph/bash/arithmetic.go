package bash

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arithm walks an arithmetic expression, where a word is a variable. An expression that fails ends the command and not
// the program, so nothing that it binds is certain.
func (w *walker) arithm(x syntax.ArithmExpr) { w.branch(func() { w.arithmetic(x) }) }

func (w *walker) arithmetic(x syntax.ArithmExpr) {
	switch x := x.(type) {
	case *syntax.BinaryArithm:
		if isAssignment(x.Op) {
			w.arithmetic(x.Y)
			w.assigned(x.X, x.Op != syntax.Assgn)
			return
		}
		w.arithmetic(x.X)
		w.arithmetic(x.Y)
	case *syntax.UnaryArithm:
		if x.Op == syntax.Inc || x.Op == syntax.Dec {
			w.assigned(x.X, true)
			return
		}
		w.arithmetic(x.X)
	case *syntax.ParenArithm:
		w.arithmetic(x.X)
	case *syntax.Word:
		w.arithmWord(x)
	}
}

func isAssignment(op syntax.BinAritOperator) bool {
	switch op {
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn,
		syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn, syntax.AndBoolAssgn,
		syntax.OrBoolAssgn, syntax.XorBoolAssgn, syntax.PowAssgn:
		return true
	}
	return false
}

// arithmWord walks an operand. Its text is an expression once it is expanded, so $a$b may be any name.
func (w *walker) arithmWord(x *syntax.Word) {
	if text, literal := literalWord(x); literal {
		w.expression(text)
		return
	}
	parts := x.Parts
	if q, ok := parts[0].(*syntax.DblQuoted); ok && len(parts) == 1 {
		parts = q.Parts
	}
	letters := false
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.ParamExp:
			if p := part.Param; p != nil && isName(p.Value) {
				w.number(p.Value)
			}
		case *syntax.Lit:
			letters = letters || strings.Trim(part.Value, "0123456789#xX+-*/%<>=!&|^~?:,() \t\n") != ""
		}
	}
	w.quoted(parts)
	if letters && len(parts) > 1 {
		w.dyn("arithmetic", true)
	}
}

// number notes a variable whose value is an expression, see Needs.
func (w *walker) number(name string) {
	w.use(name)
	w.numbers[name] = true
}

// assigned notes the assignment to what is left of an operator. updates: the value before counts.
func (w *walker) assigned(x syntax.ArithmExpr, updates bool) {
	word, ok := x.(*syntax.Word)
	if !ok {
		w.arithmetic(x)
		w.dyn("arithmetic", true)
		return
	}
	text, literal := literalWord(word)
	switch {
	case literal && isName(text) && updates:
		w.number(text)
		w.change(text)
	case literal && isName(text):
		w.assign(text)
	default:
		if name, index, ok := element(word); ok {
			w.number(name)
			w.arithm(index)
			w.change(name)
			return
		}
		w.word(word)
		w.dyn("arithmetic", true)
	}
}

// element returns the name and the index of an operand such as a[1].
func element(word *syntax.Word) (name string, index syntax.ArithmExpr, ok bool) {
	if len(word.Parts) != 1 {
		return "", nil, false
	}
	p, ok := word.Parts[0].(*syntax.ParamExp)
	if !ok || p.Index == nil || p.Param == nil || p.Dollar.IsValid() {
		return "", nil, false
	}
	return p.Param.Value, p.Index, true
}

var (
	wordInExpression  = regexp.MustCompile(`[0-9]+#?\w*|[A-Za-z_]\w*`)
	assignsExpression = regexp.MustCompile(`\+\+|--|(^|[^=!<>])=($|[^=])|<<=|>>=`)
)

// expression notes the names in the text of an expression.
func (w *walker) expression(text string) {
	if strings.ContainsAny(text, "$`") {
		w.dyn("arithmetic", true)
	}
	assigns := assignsExpression.MatchString(text)
	for _, name := range wordInExpression.FindAllString(text, -1) {
		if !isName(name) {
			continue
		}
		if w.number(name); assigns {
			w.branch(func() { w.change(name) })
		}
	}
}
