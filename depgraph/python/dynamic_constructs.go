package python

import (
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	p "github.com/xstate-engine/xstate/depgraph/python/pytree"
)

// dynamicCalls are functions that read or bind names that the text does not show.
var dynamicCalls = map[string]string{
	"eval": "eval", "exec": "exec", "globals": "globals", "__import__": "__import__", "execfile": "exec",
	"builtins.eval": "eval", "builtins.exec": "exec", "builtins.globals": "globals",
	"typing.get_type_hints": "get_type_hints", "runpy.run_path": "runpy", "runpy.run_module": "runpy",
	"sys._getframe": "sys._getframe", "inspect.currentframe": "inspect.currentframe", "inspect.stack": "inspect.stack",
	"code.interact": "code.interact", "get_ipython": "get_ipython", "IPython.get_ipython": "get_ipython",
	"timeit.timeit": "timeit", "timeit.repeat": "timeit", "contextvars.copy_context": "copy_context",
}

// scopeCalls read the names of the scope they are called in. Inside a function, that scope is not the namespace.
var scopeCalls = map[string]bool{"locals": true, "vars": true, "dir": true}

// dynamicValues are names that give access to a namespace without a call.
var dynamicValues = map[string]string{
	"sys.modules": "sys.modules", "__main__": "__main__", "__builtins__": "__builtins__",
}

// dynamicTails are attributes that give access to a namespace, or to what other code defined, on any object.
// patch.stopall of unittest.mock restores patched names in any module.
var dynamicTails = map[string]string{
	"f_globals":      "f_globals",
	"f_locals":       "f_locals",
	"__globals__":    "__globals__",
	"__subclasses__": "__subclasses__",
	"stopall":        "sys.modules",
}

func dynamicNames() []string {
	names := []string{
		"magic",
		"timeit",
		"getattr",
		"setattr",
		"delattr",
		"query",
		"eval",
		"get_annotations",
		"signature",
	}
	for _, t := range []map[string]string{dynamicCalls, dynamicValues, dynamicTails} {
		for dotted := range t {
			names = append(names, dotted[strings.LastIndexByte(dotted, '.')+1:])
		}
	}
	for name := range scopeCalls {
		names = append(names, name)
	}
	return names
}

// dynamicChain returns the dynamic construct that a chain is, or "".
func (w *walker) dynamicChain(c chain, dotted string) string {
	for prefix := dotted; prefix != ""; {
		if what, ok := dynamicValues[prefix]; ok {
			return what
		}
		n := strings.LastIndexByte(prefix, '.')
		if what, ok := dynamicTails[prefix[n+1:]]; ok && n >= 0 {
			return what
		}
		prefix = prefix[:max(n, 0)]
	}
	if !c.called {
		return ""
	}
	if what, ok := dynamicCalls[dotted]; ok {
		return what
	}
	call := c.tree - 1
	switch dotted {
	case "locals", "vars", "dir":
		if !c.inside && w.arguments(call) == 0 {
			return dotted
		}
	case "__xstate__.magic":
		if name := w.firstLiteral(call); dynamicMagics[name] {
			return "%" + name
		}
	case "__xstate__.timeit":
		if w.firstLiteral(call) != "" {
			return "%timeit"
		}
	case "getattr", "setattr", "delattr":
		if w.onModule(call) {
			return dotted
		}
	}
	// pandas looks up variables for the names after an @ in a query, and for all names in pd.eval. A computed text may
	// hold such names.
	if strings.HasSuffix(dotted, ".query") || strings.HasSuffix(dotted, ".eval") {
		args := w.next(w.child(call))
		first := args + 2 // after the bracket
		computed := w.sym(args) == p.ArgumentList && w.arguments(call) > 0 && w.sym(first) != p.String
		if computed || strings.Contains(w.src(args), "@") || dotted == "pd.eval" || dotted == "pandas.eval" {
			return "query @"
		}
	}
	if (strings.HasSuffix(dotted, "get_annotations") || strings.HasSuffix(dotted, "signature")) &&
		strings.Contains(w.src(w.next(w.child(call))), "eval_str") {
		return "eval_str"
	}
	return ""
}

// arguments counts the arguments of a call.
func (w *walker) arguments(call uint32) int {
	args := w.next(w.child(call))
	if w.sym(args) != p.ArgumentList {
		return 1
	}
	n := 0
	for c := w.child(args); c < w.end(args); c = w.next(c) {
		if s := w.sym(c); s != p.LeftParen && s != p.RightParen && s != p.Comma {
			n++
		}
	}
	return n
}

// onModule reports whether a getattr or setattr accesses a name that the block imports, with an attribute name that the
// text does not show.
func (w *walker) onModule(call uint32) bool {
	args := w.next(w.child(call))
	object := args + 2 // after the bracket
	if w.sym(args) != p.ArgumentList || object >= w.end(args) || w.sym(object) != p.Identifier {
		return false
	}
	id, ok := w.names.ids[w.src(object)]
	if !ok || w.names.kinds[id]&aliasName == 0 {
		return false
	}
	name := w.next(w.next(object))
	return name < w.end(args) && (w.sym(name) != p.String || w.next(name) != name+1)
}

// dynamic marks the current node.
func (w *walker) dynamic(what string, at uint32) {
	w.addDynamic(w.node, what, at, w.all[w.cur].timing)
}

func (w *walker) addDynamic(node int, what string, at uint32, t timing) {
	d := depgraph.Dynamic{What: what, Line: w.line(at), Later: t == later, Reads: true, Binds: true}
	switch what {
	case "import *", "%pylab":
		d.Reads = false
	case "query @", "dir", "get_type_hints", "eval_str", "annotation", "%who", "%who_ls", "%whos":
		d.Binds = false
	}
	n := &w.facts.Nodes[node]
	if !slices.Contains(n.Dynamic, d) {
		n.Dynamic = append(n.Dynamic, d)
	}
}
