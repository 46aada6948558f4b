package syntax

import (
	"regexp"

	"github.com/xstate-engine/xstate/depgraph/javascript/jstree"
	"github.com/xstate-engine/xstate/internal/lang"
)

// These are the dialects of a block, as package lang has them.
const (
	Python     = string(lang.Python)
	IPython    = string(lang.IPython)
	JavaScript = string(lang.JavaScript)
	Module     = string(lang.ESM)
	TypeScript = string(lang.TypeScript)
	TSX        = string(lang.TSX)
	Bash       = string(lang.Bash)
)

// Syntax is what this package knows of the language of a dialect.
type Syntax struct {
	Comment string // begins a comment that lasts to the end of its line
	Python  bool   // its dialects are Python and IPython

	// Statements returns the statements at the top level of a text, in order and without comments.
	Statements func(code []byte) (list []Statement, broken bool)
	// Bindings returns the names that a text binds and uses.
	Bindings func(code string) *Bindings
	// Quoted reports whether an offset is inside of a string. It is nil for Python, which Scanner knows.
	Quoted func(code []byte, at int) bool

	head    *regexp.Regexp // matches the line at which a definition begins; its group is the name
	follows *regexp.Regexp // matches a line that goes on with the statement before it
	imports *regexp.Regexp // matches a statement that imports
	Builtin map[string]bool
}

// These are the syntaxes. TypeScript and TSX differ only in what they take for a type or an element.
var (
	pythonSyntax = &Syntax{Comment: "#", Python: true, Statements: pythonStmts, Bindings: pythonBindings,
		head:    regexp.MustCompile(`^(?:async[ \t]+)?(?:def|class)[ \t]+([\pL_][\pL\pN_]*)`),
		follows: regexp.MustCompile(`^(?:[\])}]|(?:else|elif|except|finally)\b)`),
		imports: regexp.MustCompile(`^(?:import|from) `), Builtin: pythonBuiltins}
	scriptSyntax = newScriptSyntax(jstree.JavaScript)
	typedSyntax  = newScriptSyntax(jstree.TypeScript)
	tsxSyntax    = newScriptSyntax(jstree.TSX)
	shellSyntax  = &Syntax{Comment: "#", Statements: shellStmts, Bindings: shellBindings, Quoted: quotedInShell,
		head:    regexp.MustCompile(`^(?:function[ \t]+([^\s(){}<>|&;]+)|([^\s(){}<>|&;='"$#]+)[ \t]*\([ \t]*\))`),
		follows: regexp.MustCompile(`^(?:[)}]|(?:then|else|elif|fi|do|done|esac|in)\b|;;)`),
		imports: regexp.MustCompile(`^(?:source|\.)[ \t]`), Builtin: shellBuiltins}
)

func newScriptSyntax(l jstree.Language) *Syntax {
	return &Syntax{Comment: "//", Builtin: scriptBuiltins,
		Statements: func(code []byte) ([]Statement, bool) { return scriptStmts(code, l) },
		Bindings:   func(code string) *Bindings { return scriptBindings(code, l) },
		Quoted:     func(code []byte, at int) bool { return quotedInScript(code, at, l) },
		head: regexp.MustCompile(`^(?:export[ \t]+)?(?:default[ \t]+)?(?:declare[ \t]+)?(?:abstract[ \t]+)?` +
			`(?:(?:async[ \t]+)?function\b[ \t]*\*?|class|interface|enum|namespace|type)[ \t]*([\pL_$][\pL\pN_$]*)`),
		follows: regexp.MustCompile(`^(?:[\])}.?:&|*/%<>=,]|(?:else|catch|finally)\b)`),
		imports: regexp.MustCompile(`^import\b`)}
}

// syntaxes are those of the dialects.
var syntaxes = map[lang.Dialect]*Syntax{
	lang.Python: pythonSyntax, lang.IPython: pythonSyntax, lang.JavaScript: scriptSyntax, lang.ESM: scriptSyntax,
	lang.TypeScript: typedSyntax, lang.TSX: tsxSyntax, lang.Bash: shellSyntax,
}

// Of returns the syntax of a dialect; that of the default one if there is none.
func Of(dialect string) *Syntax {
	if v, ok := lang.Of(lang.Dialect(dialect)); ok && syntaxes[v.Dialect] != nil {
		return syntaxes[v.Dialect]
	}
	return syntaxes[lang.Default]
}

// Parses reports whether a text is of this syntax.
func (s *Syntax) Parses(code []byte) bool {
	_, broken := s.Statements(code)
	return !broken
}

// IsImport reports whether a statement imports.
func (s *Syntax) IsImport(code string) bool { return s.imports.MatchString(code) }

// Family returns the name of a dialect's language, whose dialects a file may hold side by side, or users mix up. It is
// the default language's if there is none.
func Family(dialect string) string {
	v, ok := lang.Of(lang.Dialect(dialect))
	if !ok {
		v, _ = lang.Of(lang.Default)
	}
	return v.Language.Name
}
