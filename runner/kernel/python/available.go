package python

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"time"
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

// Available asks the interpreter where top-level modules come from, for a program in folder. It executes nothing of the
// program.
func (i Interpreter) Available(ctx context.Context, folder string, environ, modules []string) (*Available, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, i.Path, append([]string{"-c", askAvailable, folder}, modules...)...)
	cmd.Dir, cmd.Env = "/", environ
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	found := &Available{}
	err := cmd.Run()
	if err == nil {
		err = json.Unmarshal(stdout.Bytes(), found)
	}
	if err != nil {
		return nil, broken(i.Path, err, stderr.String())
	}
	return found, nil
}
