package python

import (
	"context"
	"encoding/json"

	"github.com/xstate-engine/xstate/runner/kernel"
)

// Available says where the modules of an interpreter come from.
type Available struct {
	Modules  map[string]string `json:"modules"` // top-level name → standard, own (the workspace), installed or missing
	Builtins []string          `json:"builtins"`
}

// askAvailable looks for modules as an import would, and imports none of them.
const askAvailable = `import sys
own, path = sys.argv[1], [p for p in sys.path if p]
import builtins, json
from importlib.machinery import PathFinder
def where(name):
    if name in sys.builtin_module_names or name in sys.stdlib_module_names:
        return "standard"
    if PathFinder.find_spec(name, [own]):
        return "own"
    try:
        found = PathFinder.find_spec(name, path) or next(
            filter(None, (f.find_spec(name, None) for f in sys.meta_path if hasattr(f, "find_spec"))), None)
    except Exception:
        return "installed"  # something is there
    return "installed" if found else "missing"
print(json.dumps({"modules": {n: where(n) for n in sys.argv[2:]}, "builtins": dir(builtins)}))`

// Available asks the interpreter that a search leads to where top-level modules come from, for a program in its folder.
// It executes nothing of the program.
func (i Interpreter) Available(ctx context.Context, s kernel.Search, modules []string) (*Available, error) {
	own := s.Folder
	s.Folder = "/"
	answer, err := s.Probe(i.Path, append([]string{"-c", askAvailable, own}, modules...)...).Answer(ctx)
	found := &Available{}
	if err == nil {
		err = json.Unmarshal([]byte(answer), found)
	}
	if err != nil {
		return nil, broken(i.Path, err)
	}
	return found, nil
}
