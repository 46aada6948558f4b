package bash

import (
	"regexp"
	"strings"

	"github.com/xstate-engine/xstate/patch/syntax"
	shell "mvdan.cc/sh/v3/syntax"
)

// bindings returns the names that a text of Bash binds and uses. The name of a function or command ends in "()".
func bindings(code string) *syntax.Bindings {
	w := &names{Names: syntax.NewNames()}
	list, _ := parse([]byte(code))
	for _, s := range list {
		shell.Walk(s, w.visit)
	}
	return w.All()
}

// names collects names from the tree of a shell script.
type names struct {
	*syntax.Names // Inner counts functions and subshells

	path []shell.Node // the node and those around it
}

// visit is called before the children of a node, and with nil after them.
func (w *names) visit(n shell.Node) bool {
	if n == nil {
		last := w.path[len(w.path)-1]
		w.path = w.path[:len(w.path)-1]
		w.leave(last)
		return true
	}
	w.path = append(w.path, n)
	switch n := n.(type) {
	case *shell.FuncDecl:
		w.Bind(n.Name.Value + "()")
		if w.Inner == 0 {
			w.Defines[n.Name.Value+"()"] = true
			w.Has(n.Name.Value + "()")
		}
		w.Inner++
	case *shell.Subshell, *shell.CmdSubst, *shell.ProcSubst:
		w.Inner++
	case *shell.ParamExp:
		if n.Param != nil {
			w.use(n.Param.Value)
		}
	case *shell.CallExpr:
		if len(n.Args) > 0 {
			w.call(n)
		}
	case *shell.WordIter:
		w.assign(n.Name.Value)
	case *shell.Word:
		if w.counts() {
			w.use(n.Lit())
		}
	}
	return true
}

func (w *names) leave(n shell.Node) {
	switch n := n.(type) {
	case *shell.FuncDecl, *shell.Subshell, *shell.CmdSubst, *shell.ProcSubst:
		w.Inner--
	case *shell.Assign:
		w.assigned(n)
	case *shell.BinaryArithm:
		switch n.Op {
		case shell.Assgn, shell.AddAssgn, shell.SubAssgn, shell.MulAssgn, shell.QuoAssgn, shell.RemAssgn,
			shell.AndAssgn,
			shell.OrAssgn, shell.XorAssgn, shell.ShlAssgn, shell.ShrAssgn:
			w.arithmetic(n.X)
		}
	case *shell.UnaryArithm:
		if n.Op == shell.Inc || n.Op == shell.Dec {
			w.arithmetic(n.X)
		}
	}
}

func (w *names) arithmetic(x shell.ArithmExpr) {
	if word, ok := x.(*shell.Word); ok {
		w.assign(word.Lit())
	}
}

// counts reports whether the word that is visited is an operand of arithmetic.
func (w *names) counts() bool {
	if len(w.path) < 2 {
		return false
	}
	switch w.path[len(w.path)-2].(type) {
	case *shell.BinaryArithm, *shell.UnaryArithm, *shell.ParenArithm, *shell.ArithmExp, *shell.ArithmCmd,
		*shell.CStyleLoop,
		*shell.LetClause:
		return true
	}
	return false
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (w *names) use(name string) {
	if !plainName.MatchString(strings.TrimSuffix(name, "()")) {
		return
	}
	w.Use(name)
}

func (w *names) assign(name string) {
	if !plainName.MatchString(name) {
		return
	}
	w.Bind(name)
	if w.Inner == 0 {
		w.Assigns[name] = true
		w.Has(name)
	}
}

// assigned binds the name of an assignment. One before a command is for that command alone.
func (w *names) assigned(a *shell.Assign) {
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	switch up := w.path[len(w.path)-1].(type) {
	case *shell.CallExpr:
		if len(up.Args) > 0 {
			return
		}
	case *shell.DeclClause:
		if v := up.Variant.Value; a.Naked && (v == "export" || v == "readonly") {
			w.use(name)
			return
		}
	}
	if a.Index != nil || a.Append {
		w.use(name)
		if a.Index != nil && w.Inner == 0 {
			w.Changes[name] = true
			return
		}
	}
	w.assign(name)
}

// call records the command of a call, and the names that a builtin binds.
func (w *names) call(c *shell.CallExpr) {
	command := c.Args[0].Lit()
	w.use(command + "()")
	var words []string
	for _, a := range c.Args[1:] {
		words = append(words, a.Lit())
	}
	switch command {
	case "read", "mapfile", "readarray":
		for _, word := range words {
			w.assign(word)
		}
	case "unset":
		for _, word := range words {
			w.use(word)
			if w.Inner == 0 && plainName.MatchString(word) {
				w.Changes[word] = true
			}
		}
	case "printf":
		if len(words) > 1 && words[0] == "-v" {
			w.assign(words[1])
		}
	case "getopts":
		if len(words) > 1 {
			w.assign(words[1])
		}
	}
}

// builtins has the names that unrelated code has in common.
var builtins = syntax.Words(`HOME PATH PWD USER IFS RANDOM SECONDS LINENO BASH_SOURCE FUNCNAME REPLY OLDPWD
	echo() printf() cd() set() shopt()
	export() read() test() exit() return() source() eval() exec() trap() wait() kill() local() declare() unset() true()
	false() pwd() ls() cat() grep() sed() awk() sort() uniq() head() tail() wc() cut() tr() mkdir() rm() cp() mv()
	touch() find() xargs() date() sleep() basename() dirname() tee() env() which() command() curl() wget() tar() git()
	make() python() python3() node() npm() chmod() ln() seq() mktemp() diff() sudo() apt() jq() expr()`)
