package python

import (
	"context"
	"encoding/json"

	"github.com/xstate-engine/xstate/runner/kernel"
)

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

// ownNames are names that programs have here beside builtins.
var ownNames = []string{"__file__", "__builtins__", "__annotations__", "get_ipython", "display", "exit", "quit",
	"__xstate__"}

// Available is that of kernel.Offering, for top-level modules.
func (i Interpreter) Available(ctx context.Context, s kernel.Search, modules []string) (*kernel.Available, error) {
	own := s.Folder
	s.Folder = "/"
	answer, err := s.Probe(i.Path, append([]string{"-c", askAvailable, own}, modules...)...).Answer(ctx)
	found := &kernel.Available{}
	if err == nil {
		err = json.Unmarshal([]byte(answer), found)
	}
	if err != nil {
		return nil, broken(i.Path, err)
	}
	found.Builtins = append(found.Builtins, ownNames...)
	found.Modules["xstate"] = "standard" // programs are offered it
	return found, nil
}
