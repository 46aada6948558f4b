package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
)

// Limits of an interpreter that reads a foreign value for a query.
const (
	foreignMemory = 4 << 30 // bytes
	foreignTime   = time.Minute
)

// ForForeignValue makes cfg one for an interpreter that loads a value of a foreign session for a question. The
// interpreter is bounded as strictly as there is, has no network, and sees an empty folder in place of the workspace:
// bytes that were made to harm find nothing to harm. Where the system cannot enforce that, the value is not shown.
func (cfg *Config) ForForeignValue(name string) error {
	cfg.Bounds = &sandbox.Bounds{Strict: true, Limits: sandbox.Limits{
		CPU: foreignTime, Wall: foreignTime, Memory: foreignMemory, Processes: 64, Output: 1 << 20,
	}}
	cfg.Workspace = filepath.Join(cfg.Scratch, "empty")
	cfg.File, cfg.Imports, cfg.Script = "", kernel.ImportBase{}, false
	cfg.Journal, cfg.Recording, cfg.Invocation = nil, nil, Invocation{}
	if err := os.Mkdir(cfg.Workspace, 0o700); err != nil {
		return fmt.Errorf("make a folder for a value: %w", err)
	}
	lacks := sandbox.Enforceable(sandbox.Spec{Folder: cfg.Workspace, Store: cfg.Store.Dir(), Bounds: cfg.Bounds})
	if len(lacks) == 0 {
		return nil
	}
	return &state.Error{
		Code: CodeForeignValue,
		Message: fmt.Sprintf("the value of %s is not shown: a value of a foreign store, and this system cannot bound "+
			"what loads it: %s", name, lacks[0].Message),
		Hint: "`xstate doctor` shows what is missing; if you know who made the archive, import it again with `--trust`",
	}
}

// trust returns on whose word the store has what the interpreter executes now. A crafted value can be equal by its
// digest and act otherwise, so a node executed beside one is foreign, too. A store without foreign results that has
// such a value is that of a replay, which is removed.
func (e *Engine) trust() state.Trust {
	if e.foreign && e.cfg.Store.Foreign() {
		return state.Trust{Tier: state.TierForeign}
	}
	return state.Trust{}
}
