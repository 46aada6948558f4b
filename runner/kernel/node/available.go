package node

import (
	"context"
	"encoding/json"

	"github.com/xstate-engine/xstate/runner/kernel"
)

// askAvailable looks for packages as require would in a folder, and loads none of them. A package that offers nothing
// to require may offer something to import, so it counts as installed. Names of a folder of the workspace are looked up
// by require.resolve, too: they begin with a dot, and are not asked for. With -e, the modules of Node are globals, too.
const askAvailable = `const [folder, ...names] = process.argv.slice(1)
const { builtinModules, createRequire } = require('module')
const { resolve } = createRequire(folder + '/-')
const own = ['require', 'module', 'exports', '__filename', '__dirname', 'arguments', 'console', 'process', 'crypto',
  'tools', 'xstate'] // the last two are of package xstate
function where(name) {
  if (name.startsWith('node:') || builtinModules.includes(name)) return 'standard'
  try { resolve(name) } catch (e) { if (e.code === 'MODULE_NOT_FOUND') return 'missing' }
  return 'installed'
}
const builtins = new Set()
for (let o = globalThis; o; o = Object.getPrototypeOf(o)) Object.getOwnPropertyNames(o).forEach(n => builtins.add(n))
builtinModules.forEach(n => builtins.delete(n))
own.forEach(n => builtins.add(n))
const modules = Object.fromEntries(names.map(n => [n, where(n)]))
console.log(JSON.stringify({ modules, builtins: [...builtins] }))`

var _ kernel.Offering = Interpreter{}

// Available is that of kernel.Offering, for packages.
func (i Interpreter) Available(ctx context.Context, s kernel.Search, modules []string) (*kernel.Available, error) {
	ask := s.Probe(i.Path, append([]string{"-e", askAvailable, "--", s.Folder}, modules...)...)
	ask.Reads = append(ask.Reads, s.Folder)
	found := &kernel.Available{}
	answer, err := ask.Answer(ctx)
	if err == nil {
		err = json.Unmarshal([]byte(answer), found)
	}
	if err != nil {
		return nil, broken(i.Path, err)
	}
	return found, nil
}
