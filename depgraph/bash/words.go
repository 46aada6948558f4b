package bash

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/xstate-engine/xstate/depgraph"
)

// literalWord returns the text of a word that has no expansion.
func literalWord(word *syntax.Word) (text string, ok bool) {
	if word == nil {
		return "", false
	}
	text, rest := literalPrefix(word.Parts, false)
	return text, len(rest) == 0
}

// literalPrefix returns the text of the parts before the first expansion, and the parts from it on.
func literalPrefix(parts []syntax.WordPart, quoted bool) (string, []syntax.WordPart) {
	var b strings.Builder
	for i, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescaped(part.Value, quoted))
		case *syntax.SglQuoted:
			if part.Dollar && strings.Contains(part.Value, `\`) {
				return b.String(), parts[i:]
			}
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			text, rest := literalPrefix(part.Parts, true)
			b.WriteString(text)
			if len(rest) > 0 {
				return b.String(), parts[i:]
			}
		default:
			return b.String(), parts[i:]
		}
	}
	return b.String(), nil
}

// unescaped drops the backslashes of a literal. In double quotes, a backslash stays before most characters.
func unescaped(s string, quoted bool) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\\n", s[i+1]) >= 0) {
			if i++; s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// args walks words that are split and may be patterns of files.
func (w *walker) args(list []*syntax.Word) {
	for _, word := range list {
		w.arg(word)
	}
}

func (w *walker) arg(word *syntax.Word) {
	if word == nil {
		return
	}
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(strings.ReplaceAll(part.Value, `\[`, ""), "*?[") && part.Value != "[" {
				w.effect(depgraph.EffectFile, "glob", "", depgraph.AnyFile, depgraph.Reads)
			}
		case *syntax.ExtGlob:
			w.effect(depgraph.EffectFile, "glob", "", depgraph.AnyFile, depgraph.Reads)
		case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ArithmExp:
			w.use("IFS")
		}
	}
	w.word(word)
}

// words walks words that are not split, such as patterns.
func (w *walker) words(list []*syntax.Word) {
	for _, word := range list {
		w.word(word)
	}
}

func (w *walker) word(word *syntax.Word) {
	if word != nil {
		w.parts(word.Parts)
	}
}

func (w *walker) parts(parts []syntax.WordPart) {
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			w.tilde(part.Value)
		case *syntax.DblQuoted:
			w.quoted(part.Parts)
		case *syntax.ParamExp:
			w.parameter(part)
		case *syntax.CmdSubst:
			w.substitution(part)
		case *syntax.ProcSubst:
			w.effect(depgraph.EffectSubprocess, part.Op.String(), "", "", depgraph.Updates)
			w.inSubshell(func() { w.stmts(part.Stmts) })
		case *syntax.ArithmExp:
			w.arithm(part.X)
		case *syntax.BraceExp:
			w.words(part.Elems)
		case *syntax.ExtGlob:
			w.patternText(part.Pattern.Value)
		}
	}
}

// patternText walks the text of an extended pattern, which the parser does not look into.
func (w *walker) patternText(text string) {
	if !strings.ContainsAny(text, "$`") {
		return
	}
	word, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Document(strings.NewReader(text))
	if err != nil {
		w.dyn("pattern", true)
		return
	}
	w.word(word)
}

func (w *walker) substitution(c *syntax.CmdSubst) {
	if c.TempFile || c.ReplyVar { // ${ x=1; } does not start a subshell
		w.branch(func() { w.stmts(c.Stmts) })
		return
	}
	w.inSubshell(func() { w.stmts(c.Stmts) })
}

func (w *walker) quoted(parts []syntax.WordPart) {
	for _, part := range parts {
		if _, lit := part.(*syntax.Lit); !lit {
			w.parts([]syntax.WordPart{part})
		}
	}
}

// tilde notes what the expansion of tildes reads.
func (w *walker) tilde(text string) {
	if !strings.Contains(text, "~") {
		return
	}
	w.use("HOME")
	if strings.Contains(text, "~+") {
		w.use("PWD")
	}
	if strings.Contains(text, "~-") {
		w.use("OLDPWD")
	}
}

func (w *walker) parameter(p *syntax.ParamExp) {
	if p.Param == nil {
		w.dyn("expansion", true)
		return
	}
	name := p.Param.Value
	assigns := p.Exp != nil && (p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull)
	switch {
	case p.Names != 0:
		w.dyn("${!prefix*}", false)
	default:
		w.use(name)
		if p.Excl && !isKeys(p.Index) {
			w.dyn("${!name}", assigns)
		}
	}
	if name == "*" || p.Names != 0 || isKeys(p.Index) {
		w.use("IFS")
	}
	if p.Index != nil && !isKeys(p.Index) {
		w.arithm(p.Index) // that of an associative array is a text: then what is taken for names is too much
	}
	if p.Slice != nil {
		w.arithm(p.Slice.Offset)
		w.arithm(p.Slice.Length)
	}
	if p.Repl != nil {
		w.word(p.Repl.Orig)
		w.word(p.Repl.With)
	}
	if p.Exp != nil {
		w.branch(func() {
			w.word(p.Exp.Word)
			if assigns && !p.Excl {
				w.assign(name)
			}
		})
		if op, _ := literalWord(p.Exp.Word); p.Exp.Op == syntax.OtherParamOps && op == "P" {
			w.dyn("${name@P}", true)
		}
	}
}

// isKeys reports whether an index means all elements.
func isKeys(x syntax.ArithmExpr) bool {
	word, ok := x.(*syntax.Word)
	return ok && (word.Lit() == "@" || word.Lit() == "*")
}

func (w *walker) test(x syntax.TestExpr) {
	switch x := x.(type) {
	case *syntax.BinaryTest:
		w.test(x.X)
		switch x.Op {
		case syntax.AndTest, syntax.OrTest:
			w.branch(func() { w.test(x.Y) })
			return
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			w.compared(x.X)
			w.compared(x.Y)
		case syntax.TsReMatch:
			w.branch(func() { w.assign("BASH_REMATCH") })
		case syntax.TsNewer, syntax.TsOlder, syntax.TsDevIno:
			w.effect(depgraph.EffectFile, "test "+x.Op.String(), "", depgraph.AnyFile, depgraph.Reads)
		}
		w.test(x.Y)
	case *syntax.UnaryTest:
		w.test(x.X)
		word, _ := x.X.(*syntax.Word)
		w.unaryTest(x.Op.String(), word)
	case *syntax.ParenTest:
		w.test(x.X)
	case *syntax.Word:
		w.word(x)
	}
}

func (w *walker) compared(x syntax.TestExpr) {
	if word, ok := x.(*syntax.Word); ok {
		w.arithmWord(word)
	}
}

// unaryTest notes what a test reads: of a file, or whether a name has a value.
func (w *walker) unaryTest(op string, word *syntax.Word) {
	text, literal := literalWord(word)
	switch op {
	case "-v", "-R":
		name, index, _ := strings.Cut(text, "[")
		if !literal {
			w.dyn("test "+op, false)
			return
		}
		w.use(name)
		w.expression(strings.TrimSuffix(index, "]"))
	case "-o":
		w.effect(EffectOption, "test -o", text, keyOptions, depgraph.Reads)
	case "-z", "-n", "!", "(", "-t":
	default:
		w.file("test "+op, text, literal, depgraph.Reads)
	}
}

// file notes the use of a file.
func (w *walker) file(what, name string, literal bool, mode depgraph.Mode) {
	switch {
	case !literal && mode == depgraph.Reads:
		w.effect(depgraph.EffectFile, what, "", depgraph.AnyFile, depgraph.Reads)
	case !literal:
		w.effect(depgraph.EffectFile, what, "", depgraph.AnyFile, depgraph.Updates)
	case name == "/dev/null" || name == "-" || name == "/dev/stdin" || name == "/dev/stdout" || name == "/dev/stderr":
	case strings.HasPrefix(name, "/dev/tcp/") || strings.HasPrefix(name, "/dev/udp/"):
		w.effect(depgraph.EffectNetwork, what, name, "", depgraph.Updates)
	default:
		w.effect(depgraph.EffectFile, what, name, depgraph.Key("file:"+path.Clean(name)), mode)
	}
}
