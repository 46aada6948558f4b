package python

import (
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
)

// accessOf returns the key that an effect accesses, and how. Clock, network, processes and input have no key, because
// no order of nodes makes them repeatable.
func accessOf(e depgraph.Effect) (depgraph.Key, depgraph.Mode) {
	last := e.What[strings.LastIndexByte(e.What, '.')+1:]
	switch e.Kind {
	case depgraph.EffectFile:
		return fileAccess(last, e.Arg)
	case depgraph.EffectEnviron:
		key := depgraph.AnyEnv
		if name, _, _ := strings.Cut(e.Arg, "="); name != "" {
			key = depgraph.Key("env:" + name)
		}
		if last == "getenv" {
			return key, depgraph.Reads
		}
		return key, depgraph.Updates
	case depgraph.EffectCwd:
		if strings.HasPrefix(last, "chdir") || last == "cd" || last == "fchdir" {
			return "cwd:", depgraph.Updates
		}
		return "cwd:", depgraph.Reads
	case depgraph.EffectRandom:
		source, _, _ := strings.Cut(e.What, ".")
		if source == "np" {
			source = "numpy"
		}
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
	switch {
	case readsFile(function):
		return key, depgraph.Reads
	case name != "" && writesFile(function):
		return key, depgraph.Writes
	}
	return key, depgraph.Updates
}

func readsFile(function string) bool {
	return strings.HasPrefix(function, "read") ||
		slices.Contains([]string{"exists", "is_file", "is_dir", "isfile", "isdir",
			"listdir", "scandir", "walk", "stat", "glob", "iglob", "rglob", "iterdir", "getsize", "getmtime", "load",
			"loadtxt",
			"genfromtxt", "fromfile", "imread"}, function)
}

func writesFile(function string) bool {
	return strings.HasPrefix(function, "to_") || strings.HasPrefix(function, "write") ||
		strings.HasPrefix(function, "save")
}
