package depgraph

import (
	"slices"
	"strings"
)

const (
	anyVar  Key = "var:*"
	anyFile Key = "file:*"
	anyEnv  Key = "env:*"
)

// accesses is what a node is predicted to read and write at its place in the program.
type accesses struct {
	reads   map[Key]bool
	writes  map[Key]bool // may write
	certain map[Key]bool // of writes: writes without fail, or reads first, so that earlier writers do not show through
	binds   map[Key]bool // of writes: binds or unbinds a name, rather than changing its value
	fresh   []Key        // of reads: not yet followed to functions
	anyRead bool         // may read names that the text does not show
	anyBind bool         // may bind such names
}

func newAccesses() *accesses {
	return &accesses{reads: map[Key]bool{}, writes: map[Key]bool{}, certain: map[Key]bool{}, binds: map[Key]bool{}}
}

// execution adds what executing a node does at once.
func (a *accesses) execution(n *Node) {
	for _, name := range n.Uses {
		a.read(Var(name))
	}
	a.bind(n.Defines)
	a.bind(n.Deletes)
	for _, name := range n.Deletes {
		if a.reads[Var(name)] {
			a.certain[Var(name)] = true
		}
	}
	for _, name := range n.Certain {
		a.certain[Var(name)] = true
	}
	a.mutations(n.Mutates)
	for _, e := range n.Effects {
		if !e.Later {
			a.effect(e)
		}
	}
	for _, d := range n.Dynamic {
		if !d.Later {
			a.dynamic(d)
		}
	}
}

// call adds what calling the functions that a node made may do.
func (a *accesses) call(n *Node) {
	for _, name := range n.Later {
		a.read(Var(name))
	}
	a.bind(n.Rebinds)
	a.mutations(n.MutatesLater)
	for _, e := range n.Effects {
		if e.Later {
			a.effect(e)
		}
	}
	for _, d := range n.Dynamic {
		if d.Later {
			a.dynamic(d)
		}
	}
}

func (a *accesses) bind(names []string) {
	for _, name := range names {
		a.writes[Var(name)], a.binds[Var(name)] = true, true
	}
}

func (a *accesses) mutations(names []string) {
	for _, name := range names {
		a.both(Var(name))
	}
}

// both adds a read and a write of what was read.
func (a *accesses) both(k Key) {
	a.read(k)
	a.writes[k], a.certain[k] = true, true
}

func (a *accesses) read(k Key) {
	if !a.reads[k] {
		a.reads[k] = true
		a.fresh = append(a.fresh, k)
	}
}

// effect adds the keys of an effect. Clock, network, processes and input have none: no order makes them repeatable.
func (a *accesses) effect(e Effect) {
	last := e.What[strings.LastIndexByte(e.What, '.')+1:]
	switch e.Kind {
	case EffectFile:
		k := anyFile
		if e.Arg != "" {
			k = Key("file:" + e.Arg)
		}
		a.read("cwd:")
		switch {
		case readsFile(last):
			a.read(k)
		case k != anyFile && writesFile(last):
			a.writes[k], a.certain[k] = true, true
		default:
			a.both(k)
		}
	case EffectEnviron:
		k := anyEnv
		if name, _, _ := strings.Cut(e.Arg, "="); name != "" {
			k = Key("env:" + name)
		}
		if last == "getenv" {
			a.read(k)
		} else {
			a.both(k)
		}
	case EffectCwd:
		if strings.HasPrefix(last, "chdir") || last == "cd" || last == "fchdir" {
			a.both("cwd:")
		} else {
			a.read("cwd:")
		}
	case EffectRandom:
		source, _, _ := strings.Cut(e.What, ".")
		if source == "np" {
			source = "numpy"
		}
		a.both(Key("rng:" + source))
	}
}

func readsFile(function string) bool {
	return strings.HasPrefix(function, "read") || slices.Contains([]string{"exists", "is_file", "is_dir", "isfile", "isdir",
		"listdir", "scandir", "walk", "stat", "glob", "iglob", "rglob", "iterdir", "getsize", "getmtime", "load", "loadtxt",
		"genfromtxt", "fromfile", "imread"}, function)
}

func writesFile(function string) bool {
	return strings.HasPrefix(function, "to_") || strings.HasPrefix(function, "write") || strings.HasPrefix(function, "save")
}

// dynamic adds what a dynamic construct may touch.
func (a *accesses) dynamic(d Dynamic) {
	switch d.What {
	case "import *", "%pylab":
		a.anyBind = true
	case "query @", "dir", "get_type_hints", "eval_str", "annotation", "%who", "%who_ls", "%whos":
		a.anyRead = true
	default:
		a.anyRead, a.anyBind = true, true
	}
}

// sortedKeys returns the keys of a set, sorted, so that edges come in the same order every time.
func sortedKeys(set map[Key]bool) []Key {
	keys := make([]Key, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
