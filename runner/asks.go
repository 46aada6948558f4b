package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/runner/machine"
	"github.com/xstate-engine/xstate/runner/remote"
	"github.com/xstate-engine/xstate/state"
)

// factsOf returns the facts that an execution of a node may ask for, if it read these keys: by the text of the node, by
// functions of the program, which it may call, and by modules of the workspace.
func (e *Engine) factsOf(n *node, reads []state.Access) (found machine.Fact) {
	if n.unit.space() == "sh" || len(n.facts.Dynamic) > 0 {
		return machine.All
	}
	if found = e.textFacts(n); n.inert() {
		return 0
	}
	found |= e.functionFacts()
	modules := false
	for _, a := range reads {
		_, plain := a.Key.Cut()
		switch space := plain.Space(); {
		case space == "program" || plain == envOfChildren: // any program may ask for anything
			return machine.All
		case space == "held" || space == "file" && isSource(plain.Name()):
			modules = true
		}
		if e.isElsewhere(plain) {
			found |= machine.Place
		}
	}
	if modules {
		found |= e.moduleFacts()
	}
	return found
}

// ofAnotherMachine reports whether a trace came in an archive and may depend on the machine that it was made on, which
// may differ from this one.
func (e *Engine) ofAnotherMachine(n *node, t *state.Trace) bool {
	return t.Tier != state.TierOwn && !t.Here && e.factsOf(n, t.Reads) != 0
}

// isElsewhere reports whether a key has a path whose meaning depends on where the program runs: "../x", or one below
// the home. Those of the interpreter are named as such, and those of the system are the same everywhere.
func (e *Engine) isElsewhere(k depgraph.Key) bool {
	switch k.Space() {
	case "file", "stat", "dir", "link", "mode", "inode", "list":
	default:
		return false
	}
	path := k.Name()
	if !filepath.IsAbs(path) {
		return !filepath.IsLocal(path) && path != "."
	}
	if portable, ok := e.shared.tools.Portable(path); ok && portable != path {
		return false
	}
	return !slices.ContainsFunc(systemFolders, func(f string) bool {
		return (path == f || strings.HasPrefix(path, f+"/")) && !strings.HasPrefix(e.cfg.Workspace+"/", f+"/")
	})
}

var systemFolders = []string{"/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/dev", "/proc", "/sys"}

// textFacts are those of the node's own text.
func (e *Engine) textFacts(n *node) machine.Fact {
	found, known := e.shared.facts[n.code]
	if known {
		return found
	}
	text := string(n.source())
	found = machine.In(text)
	for _, path := range e.shared.roots.Paths() { // of this machine, and of another that has it by chance
		if strings.Contains(text, path) {
			found |= machine.Place
		}
	}
	e.shared.facts[n.code] = found
	return found
}

// functionFacts are those of all statements of the program that have functions in them.
func (e *Engine) functionFacts() (found machine.Fact) {
	if e.shared.functions != nil {
		return *e.shared.functions
	}
	for _, n := range e.shared.program {
		text := string(n.source())
		if slices.ContainsFunc([]string{"def ", "class ", "lambda", "=>", "function"}, func(s string) bool {
			return strings.Contains(text, s)
		}) {
			found |= e.textFacts(n)
		}
	}
	e.shared.functions = &found
	return found
}

// Bounds of the sources of a workspace that are looked at. Beyond, they may ask for any fact.
const (
	mostSources     = 500
	mostSourceBytes = 8 << 20
)

// moduleFacts are those of all sources in the workspace.
func (e *Engine) moduleFacts() machine.Fact {
	if e.shared.modules != nil {
		return *e.shared.modules
	}
	found, err := sourceFacts(e.cfg.Workspace)
	if err != nil {
		found = machine.All
	}
	e.shared.modules = &found
	return found
}

// errMany reports that a folder has more sources than are looked at.
var errMany = errors.New("there are too many sources")

// sourceFacts are those of all sources in a folder.
func sourceFacts(path string) (found machine.Fact, err error) {
	folder, err := beneath.Open(path)
	if err != nil {
		return 0, err
	}
	defer folder.Close()
	files, bytes := 0, 0
	err = folder.Walk(func(name string, info *beneath.Info, err error) error {
		switch base := filepath.Base(name); {
		case err != nil:
			return err
		case info.Mode.IsDir() && (base == "node_modules" || strings.HasPrefix(base, ".")):
			return fs.SkipDir
		case !info.Mode.IsRegular() || !isSource(name):
			return nil
		}
		text, err := folder.ReadFile(name)
		if files, bytes = files+1, bytes+len(text); files > mostSources || bytes > mostSourceBytes {
			return errMany
		}
		found |= machine.In(string(text))
		return err
	})
	return found, err
}

// isSource reports whether a file has code of a language.
func isSource(path string) bool {
	switch filepath.Ext(path) {
	case ".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts":
		return true
	}
	return false
}

// machineFacts are the facts of this machine, as a fingerprint has them.
func (e *Engine) machineFacts(kinds machine.Fact) string {
	var b strings.Builder
	for _, kind := range machine.Kinds {
		if kinds&kind == 0 {
			continue
		}
		text, known := e.shared.machine[kind]
		if !known {
			roots := e.cfg.Roots
			text = machine.Describe(kind, machine.Folders{Home: roots[remote.RootHome],
				Workspace: roots[remote.RootWorkspace], Prefix: roots[remote.RootPrefix], Base: roots[remote.RootBase],
				Interpreter: e.cfg.Interpreter})
			e.shared.machine[kind] = text
		}
		fmt.Fprintf(&b, "fact %d %q\n", kind, text)
	}
	return b.String()
}
