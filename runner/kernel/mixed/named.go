package mixed

import (
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// named is a language whose names lie in its space.
type named struct {
	kernel.Language
	space space
}

// Missing returns the engine's name of the variable whose absence made an execution fail.
func (l named) Missing(e *state.ExecError) string {
	if name := l.Language.Missing(e); name != "" {
		return l.space.out(name)
	}
	return ""
}
