package python

import (
	"regexp"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// rules are the syntax of Python and of IPython.
var rules = &syntax.Syntax{Python: true, Statements: statements, Bindings: bindings, Builtin: builtins,
	Head:    regexp.MustCompile(`^(?:async[ \t]+)?(?:def|class)[ \t]+([\pL_][\pL\pN_]*)`),
	Follows: regexp.MustCompile(`^(?:[\])}]|(?:else|elif|except|finally)\b)`),
	Imports: regexp.MustCompile(`^(?:import|from) `)}

func init() {
	syntax.Register(syntax.Python, rules)
	syntax.Register(syntax.IPython, rules)
}
