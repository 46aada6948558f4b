package main

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// many is how many keys of one group a block may read or write before they are one line. An import of pandas reads
// thirty variables of the environment; a block that asks for three by name is shown with the three.
const many = 5

// access is what one node of a block read or wrote.
type access struct {
	query.AccessView
	verb, from string
}

// accessRows lists what the nodes of a block read and wrote, and what they read that nothing defines. Unless whole is
// set, many keys of one group are one row.
func accessRows(nodes []query.NodeView, whole bool) (rows [][]string, builtins []string) {
	var list []access
	for _, n := range nodes {
		if n.Lost {
			rows = append(rows, []string{"  " + n.Name, "what it read and wrote is lost", "", ""})
		}
		for _, r := range n.Reads {
			switch {
			case r.Digest == "" && strings.HasSuffix(string(r.Key), ".return"): // the function went on
			case r.Digest == "" && r.Key.Space() == "var":
				builtins = appendNew(builtins, r.Key.Name())
			case r.By == "" && r.Key.Space() == "conf": // as the interpreter begins
			case r.Key.Space() == "call":
				id, text := calledText(r)
				rows = append(rows, []string{"  calls", id, text, ""})
			case countsCalls(r.Key) && !whole:
			case r.Digest != "" || plain(r.Key):
				list = append(list, access{r, "  reads", fromText(r)})
			}
		}
		for _, w := range n.Writes {
			if countsCalls(w.Key) && !whole {
				continue
			}
			list = append(list, access{w, "  writes", ""})
		}
	}
	return append(rows, folded(list, whole)...), builtins
}

// countsCalls says that a key is what the engine knows of earlier calls, which is for machines.
func countsCalls(k xstate.Key) bool {
	return k.Space() == "count" || k.Space() == "effect" || k.Space() == "scope"
}

// calledText returns the id of a call that was read, and the call with its result.
func calledText(r query.AccessView) (id, text string) {
	if r.Value == nil {
		return term.Short(r.Key.Name()), "its record is lost"
	}
	id, text, _ = strings.Cut(r.Value.Repr, ": ")
	return id, text
}

// folded makes a row of each access, and one row of each group of many.
func folded(list []access, whole bool) (rows [][]string) {
	groups := map[string][]string{} // the names of each
	for _, x := range list {
		g := x.verb + group(x.AccessView)
		groups[g] = appendNew(groups[g], x.Key.Name())
	}
	told := map[string]bool{}
	for _, x := range list {
		what := group(x.AccessView)
		g := x.verb + what
		if n := len(groups[g]); what == "" || whole || n <= many {
			rows = append(rows, []string{x.verb, string(x.Key), valueOr(x.Value, x.Digest), x.from})
		} else if !told[g] {
			told[g] = true
			rows = append(rows, []string{x.verb, fmt.Sprintf("%d %s", n, what), there(list, x.verb, what), ""})
		}
	}
	return rows
}

const (
	groupEnv     = "variables of the environment"
	groupOutside = "files and folders outside the workspace"
	groupMissing = "files that are not there"
	groupLoaded  = "libraries, which it loads"
)

// group returns the name of the group that a key is shown in. It is "" for a key with its own row, such as one that
// another node wrote.
func group(x query.AccessView) string {
	if x.By != "" {
		return ""
	}
	switch x.Key.Space() {
	case "env", "isset":
		return groupEnv
	case "load":
		return groupLoaded
	case "file", "dir", "stat", "mode", "time":
		if path.IsAbs(x.Key.Name()) {
			return groupOutside
		}
		if x.Digest == "" {
			return groupMissing
		}
	}
	return ""
}

// there names the variables of the environment that are set.
func there(list []access, verb, what string) string {
	var names []string
	for _, x := range list {
		if what == groupEnv && group(x.AccessView) == what && x.verb == verb && x.Digest != "" {
			names = appendNew(names, x.Key.Name())
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "set: " + strings.Join(names, ", ")
}

func appendNew(list []string, x string) []string {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

// plain reports whether the absence of a key is news to people. It is not for the state of generators and the like,
// which most nodes read and no node sets.
func plain(k xstate.Key) bool {
	switch k.Space() {
	case "file", "dir", "stat", "mode", "time", "env", "isset", "module":
		return true
	}
	return false
}

func fromText(r query.AccessView) string {
	switch {
	case r.By != "":
		return "from " + r.By
	case r.Digest != "":
		return "from the workspace"
	}
	return "not there"
}

func valueOr(v *state.ValueInfo, d xstate.Digest) string {
	if text := valueText(v); text != "" {
		return text
	}
	return term.Short(string(d))
}
