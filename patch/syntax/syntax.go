package syntax

import (
	"regexp"

	"github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

// These are the dialects of a block. They equal those of the analysers, which this package may not import.
const (
	Python     = "python"     // plain Python
	IPython    = "ipython"    // Python with line magics, cell magics and shell escapes
	JavaScript = "javascript" // a script of JavaScript
	Module     = "esm"        // a module of JavaScript: strict, with import and export
	TypeScript = "typescript"
	TSX        = "tsx" // TypeScript with JSX
	Bash       = "bash"
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

// Of returns the syntax of a dialect. A block that names none is Python.
func Of(dialect string) *Syntax {
	switch dialect {
	case JavaScript, Module:
		return scriptSyntax
	case TypeScript:
		return typedSyntax
	case TSX:
		return tsxSyntax
	case Bash:
		return shellSyntax
	}
	return pythonSyntax
}

// Parses reports whether a text is of this syntax.
func (s *Syntax) Parses(code []byte) bool {
	_, broken := s.Statements(code)
	return !broken
}

// IsImport reports whether a statement imports.
func (s *Syntax) IsImport(code string) bool { return s.imports.MatchString(code) }

// Family returns one dialect for all dialects that a file may hold side by side, or that users mix up.
func Family(dialect string) string {
	switch dialect {
	case JavaScript, Module, TypeScript, TSX:
		return JavaScript
	case Bash:
		return Bash
	}
	return Python
}
