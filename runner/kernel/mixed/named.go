package mixed

import (
	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/languages"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// named is a language whose names lie in its space.
type named struct {
	kernel.Language
	space space
}

// Analyze returns the facts of a block with the engine's names, and a node for each handover before the others.
func (l named) Analyze(source []byte, dialect depgraph.Dialect) (*depgraph.Facts, error) {
	facts, err := l.Language.Analyze(source, dialect)
	if err != nil {
		return nil, err
	}
	return languages.InProgram(facts, string(l.space), l.Comments(facts)), nil
}

// Missing returns the engine's name of the variable whose absence made an execution fail.
func (l named) Missing(e *state.ExecError) string {
	if name := l.Language.Missing(e); name != "" {
		return l.space.out(name)
	}
	return ""
}
