package javascript

import (
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	js "github.com/xstate-engine/xstate/depgraph/javascript/jstree"
)

// chain is a dotted name in the source that may be an effect or a dynamic construct.
type chain struct {
	at     uint32 // the node
	root   int32  // the symbol of the leftmost name; noIndex if the leftmost part is not a name
	dotted string
	how    access
	silent bool // at is not a node
}

// noteChain adds the effects and dynamic constructs that a chain is.
func (w *walker) noteChain(c chain) {
	full, ok := w.fullName(c)
	if !ok {
		return
	}
	if what := w.dynamicChain(c, full); what != "" {
		w.dynamic(what, c.at)
	}
	if kind, ok := w.effectOf(c, full); ok {
		e := depgraph.Effect{
			Kind: kind, What: strings.TrimPrefix(c.dotted, "."), Arg: w.effectArgument(c, kind),
			Line: w.line(w.nodes[c.at].Start), Later: w.later(),
		}
		if name, value, found := strings.Cut(full, "process.env."); found && name == "" {
			e.Arg, _, _ = strings.Cut(value, ".")
			e.What = "process.env"
		}
		e.Key, e.Mode = accessOf(e, full, c.how)
		if !slices.Contains(w.now.Effects, e) {
			w.now.Effects = append(w.now.Effects, e)
		}
	}
}

// fullName returns a chain with its root spelled out. ok is false if the root is a name of the program's own.
func (w *walker) fullName(c chain) (full string, ok bool) {
	if c.root == noIndex {
		return c.dotted, true
	}
	root, rest, _ := strings.Cut(c.dotted, ".")
	switch s := &w.syms[c.root]; {
	case s.alias != "":
		root = s.alias
	case s.scope != 0:
		return "", false
	case s.how == undeclared && commonModules[root] != "":
		root = commonModules[root]
	case s.how != undeclared && s.how != byImport:
		return "", false
	}
	if rest == "" {
		return root, true
	}
	return root + "." + rest, true
}

func (w *walker) dynamicChain(c chain, full string) string {
	switch {
	case isGlobalObject(full):
		return "globalThis" // it goes where the text does not show
	case full == "eval":
		return "eval"
	case c.how == called || c.how == constructed:
		if what := dynamicCalls[full]; what != "" {
			return what
		}
		if (full == "setTimeout" || full == "setInterval") && !c.silent {
			if arg := w.argument(w.callOf(c), 0); arg != 0 &&
				(w.kind(arg) == js.String || w.kind(arg) == js.TemplateString) {
				return full
			}
		}
	}
	return ""
}

// effectOf classifies the use of a dotted name.
func (w *walker) effectOf(c chain, full string) (depgraph.EffectKind, bool) {
	for prefix := full; ; {
		if kind, ok := effectValues[prefix]; ok {
			return kind, true
		}
		if kind, ok := effectModules[prefix]; ok && (c.how == called || c.how == constructed) {
			return kind, true
		}
		n := strings.LastIndexByte(prefix, '.')
		if n < 0 {
			break
		}
		prefix = prefix[:n]
	}
	if c.how != called && c.how != constructed {
		return "", false
	}
	if full == "Date" && (c.how == called || w.argument(w.callOf(c), 0) == 0) {
		return depgraph.EffectClock, true
	}
	kind, ok := effectCalls[full]
	return kind, ok
}

// accessOf returns the key that an effect accesses, and how. Clock, network, processes and input have no key, because
// no order of nodes makes them repeatable.
func accessOf(e depgraph.Effect, full string, how access) (depgraph.Key, depgraph.Mode) {
	last := full[strings.LastIndexByte(full, '.')+1:]
	switch e.Kind {
	case depgraph.EffectFile:
		return fileAccess(last, e.Arg)
	case depgraph.EffectEnviron:
		if e.Arg == "" {
			return depgraph.AnyEnv, depgraph.Updates
		}
		if how == assigned || how == deleted {
			return depgraph.Key("env:" + e.Arg), depgraph.Updates
		}
		return depgraph.Key("env:" + e.Arg), depgraph.Reads
	case depgraph.EffectCwd:
		if last == "chdir" {
			return "cwd:", depgraph.Updates
		}
		return "cwd:", depgraph.Reads
	case depgraph.EffectRandom:
		source, _, _ := strings.Cut(full, ".")
		return depgraph.Key("rng:" + source), depgraph.Updates
	}
	return "", depgraph.Updates
}

// fileAccess returns how a function accesses the file named by its first argument. name is "" if the text does not show
// it.
func fileAccess(function, name string) (depgraph.Key, depgraph.Mode) {
	key := depgraph.AnyFile
	if name != "" {
		key = depgraph.Key("file:" + name)
	}
	switch function = strings.TrimSuffix(function, "Sync"); {
	case strings.HasPrefix(function, "read"), slices.Contains([]string{"exists", "stat", "lstat", "access", "opendir",
		"realpath", "createReadStream", "statfs", "glob", "pathExists"}, function):
		return key, depgraph.Reads
	case name != "" && (strings.HasPrefix(function, "write") || strings.HasPrefix(function, "output")):
		return key, depgraph.Writes
	}
	return key, depgraph.Updates
}

// effectArgument returns the string literal that a call begins with.
func (w *walker) effectArgument(c chain, kind depgraph.EffectKind) string {
	if kind == depgraph.EffectEnviron {
		return ""
	}
	arg := w.argument(w.callOf(c), 0)
	if arg == 0 {
		return ""
	}
	text, _ := w.literal(arg)
	return text
}

// callOf returns the call or the new expression that a chain is the function of, or 0.
func (w *walker) callOf(c chain) uint32 {
	switch {
	case c.silent || c.how != called && c.how != constructed:
		return 0
	case c.at > 1 && w.kind(c.at-1) == js.Token && w.kind(c.at-2) == js.NewExpression:
		return c.at - 2
	}
	return c.at - 1
}

// argument returns argument n of a call, or 0.
func (w *walker) argument(call uint32, n int) uint32 {
	if k := w.kind(call); k != js.CallExpression && k != js.NewExpression {
		return 0
	}
	args := w.field(call, js.FieldArguments)
	if args == 0 || w.kind(args) != js.Arguments {
		return 0
	}
	for c := args + 1; c < w.end(args); c = w.next(c) {
		if w.kind(c) == js.Token {
			continue
		}
		if n == 0 {
			return c
		}
		n--
	}
	return 0
}

// literal returns the value of a string literal, or of a template without values. ok is false if more is needed than to
// remove the quotes.
func (w *walker) literal(i uint32) (text string, ok bool) {
	if k := w.kind(i); k != js.String && (k != js.TemplateString || w.end(i) > i+1) {
		return "", false
	}
	text = w.src(i)
	if len(text) < 2 || strings.Contains(text, `\`) {
		return "", false
	}
	return text[1 : len(text)-1], true
}

// dynamic marks the current statement.
func (w *walker) dynamic(what string, i uint32) {
	d := depgraph.Dynamic{What: what, Line: w.line(w.nodes[i].Start), Later: w.later(), Reads: true, Binds: true}
	if what == "import" || what == "require" { // a module does not see the names of the program
		d.Reads, d.Binds = false, false
	}
	if !slices.Contains(w.now.Dynamic, d) {
		w.now.Dynamic = append(w.now.Dynamic, d)
	}
}

// access says what an expression does with a member or a name.
type access uint8

const (
	read access = iota
	called
	constructed
	assigned
	deleted
)
