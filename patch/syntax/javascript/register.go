package javascript

import (
	"regexp"

	"github.com/xstate-engine/xstate/depgraph/javascript/jstree"
	"github.com/xstate-engine/xstate/patch/syntax"
)

// A script and a module have one syntax. TypeScript and TSX differ only in what they take for a type or an element.
func init() {
	script := newSyntax(jstree.JavaScript)
	syntax.Register(syntax.JavaScript, script)
	syntax.Register(syntax.Module, script)
	syntax.Register(syntax.TypeScript, newSyntax(jstree.TypeScript))
	syntax.Register(syntax.TSX, newSyntax(jstree.TSX))
}

func newSyntax(l jstree.Language) *syntax.Syntax {
	return &syntax.Syntax{Builtin: builtins,
		Statements: func(code []byte) ([]syntax.Statement, bool) { return statements(code, l) },
		Bindings:   func(code string) *syntax.Bindings { return bindings(code, l) },
		Quoted:     func(code []byte, at int) bool { return quoted(code, at, l) },
		Head: regexp.MustCompile(`^(?:export[ \t]+)?(?:default[ \t]+)?(?:declare[ \t]+)?(?:abstract[ \t]+)?` +
			`(?:(?:async[ \t]+)?function\b[ \t]*\*?|class|interface|enum|namespace|type)[ \t]*([\pL_$][\pL\pN_$]*)`),
		Follows: regexp.MustCompile(`^(?:[\])}.?:&|*/%<>=,]|(?:else|catch|finally)\b)`),
		Imports: regexp.MustCompile(`^import\b`)}
}
