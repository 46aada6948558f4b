package syntax

import (
	"regexp"

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
	Comment string // begins a comment that lasts to the end of its line; set by Register
	Python  bool   // its dialects are Python and IPython

	// Statements returns the statements at the top level of a text, in order and without comments.
	Statements func(code []byte) (list []Statement, broken bool)
	// Bindings returns the names that a text binds and uses.
	Bindings func(code string) *Bindings
	// Quoted reports whether an offset is inside of a string. It is nil for Python, which Scanner knows.
	Quoted func(code []byte, at int) bool

	Head    *regexp.Regexp  // matches the line at which a definition begins; its group is the name
	Follows *regexp.Regexp  // matches a line that continues the statement before it
	Imports *regexp.Regexp  // matches a statement that imports
	Builtin map[string]bool // names that unrelated code has in common
}

// syntaxes are those of the dialects. The packages of languages fill it when the program starts.
var syntaxes = map[string]*Syntax{}

// Register adds the syntax of a dialect. Only init functions may call it. It panics if package lang has no such
// dialect, or there is a syntax already.
func Register(dialect string, s *Syntax) {
	v, ok := lang.Of(lang.Dialect(dialect))
	if !ok || string(v.Dialect) != dialect || syntaxes[dialect] != nil {
		panic("syntax: internal error: there is no dialect " + dialect + ", or it has a syntax already")
	}
	s.Comment = v.Language.Comment
	syntaxes[dialect] = s
}

// Of returns the syntax of a dialect; that of the default one if there is none.
func Of(dialect string) *Syntax {
	if v, ok := lang.Of(lang.Dialect(dialect)); ok && syntaxes[string(v.Dialect)] != nil {
		return syntaxes[string(v.Dialect)]
	}
	return syntaxes[string(lang.Default)]
}

// Parses reports whether a text is of this syntax.
func (s *Syntax) Parses(code []byte) bool {
	_, broken := s.Statements(code)
	return !broken
}

// IsImport reports whether a statement imports.
func (s *Syntax) IsImport(code string) bool { return s.Imports.MatchString(code) }

// Family returns the name of a dialect's language, whose dialects a file may hold side by side, or users mix up. It is
// the default language's if there is none.
func Family(dialect string) string {
	v, ok := lang.Of(lang.Dialect(dialect))
	if !ok {
		v, _ = lang.Of(lang.Default)
	}
	return v.Language.Name
}
