package depgraph

import (
	"fmt"

	"github.com/xstate-engine/xstate/internal/lang"
)

// Analyser reads the texts of a language.
type Analyser struct {
	// Analyze returns the facts of a block, and Outline the outline of a block or file. An error is a *SyntaxError.
	Analyze func(src []byte, dialect Dialect) (*Facts, error)
	Outline func(src []byte, dialect Dialect) (*Outline, error)
	// Statements is Analyze with a node for each statement. If it is nil, Analyze is as fine as a question about a name
	// needs.
	Statements func(src []byte, dialect Dialect) (*Facts, error)
	// Comments returns the comments of the code of facts in order.
	Comments func(f *Facts) []string
}

// analysers are those of the languages by name. The packages of languages fill it when the program starts.
var analysers = map[string]Analyser{}

// Register adds the analyser of a language, by the name of its row in package lang. Only init functions may call it. It
// panics if there is no such row, or an analyser already.
func Register(language string, a Analyser) {
	if v, ok := lang.Of(Dialect(language)); !ok || v.Language.Name != language {
		panic("depgraph: internal error: no language has the name " + language)
	}
	if _, twice := analysers[language]; twice {
		panic("depgraph: internal error: two analysers of " + language)
	}
	analysers[language] = a
}

// AnalyserOf returns the analyser of the language of a dialect, and the space of its names in programs.
func AnalyserOf(dialect Dialect) (a Analyser, space string, err error) {
	v, ok := lang.Of(dialect)
	if ok {
		a, ok = analysers[v.Language.Name]
	}
	if !ok {
		return a, "", fmt.Errorf("no analyser reads the dialect %q", dialect)
	}
	return a, v.Language.Space, nil
}
