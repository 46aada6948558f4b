package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/state"
)

// left ends what is told of a value or file that stays from before, though the program makes it no more.
const leftoverSuffix = " is left"

// judge tells where an outcome differs from the run from scratch, and how many differences it left out because they are of what is
// marked as volatile. After a block that failed nothing is compared: what is done then is not the same for all. Files and values
// are compared only where no block failed. Of a peer the text is compared that all tools show alike, and no names that begin
// with an underscore: marimo keeps these to a cell, IPython binds its own.
func compareOutcomes(have, want *outcome, m *marks) (found []string, volatile int) {
	add := func(marked bool, format string, args ...any) {
		if marked {
			volatile++
		} else {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	for i := range want.blocks {
		marked := m != nil && m.blocks[i]
		x, y := have.blocks[i], want.blocks[i]
		switch {
		case i > want.stopped:
			return found, volatile
		case (i == have.stopped) != (i == want.stopped):
			add(marked, "block %d: status", i)
			return found, volatile // the rest follows from it
		case !have.peer && x.output != y.output || have.peer && x.text != y.text:
			add(marked, "block %d: output", i)
		case x.err != y.err:
			add(marked, "block %d: error", i)
		}
	}
	if want.stopped < len(want.blocks) {
		return found, volatile
	}
	for _, name := range keysOf(have.values, want.values) {
		if have.peer && strings.HasPrefix(name, "_") {
			continue
		}
		x, y := have.values[name], want.values[name]
		_, has := have.values[name]
		_, should := want.values[name]
		marked := m != nil && m.values["value "+name]
		switch {
		case !should:
			add(marked, "value %s"+leftoverSuffix, name)
		case !has || x != y && byContent(x) && byContent(y):
			add(marked, "value %s", name)
		}
	}
	for _, name := range keysOf(have.files, want.files) {
		marked, x := m != nil && m.values["file "+name], have.files[name]
		switch y, should := want.files[name]; {
		case !should && x != "":
			add(marked, "file %s"+leftoverSuffix, name)
		case x != y:
			add(marked, "file %s", name)
		}
	}
	return found, volatile
}

// byContent reports whether a digest names a value by what it holds, and not by what made it, or not at all.
func byContent(d state.Digest) bool { return d != "" && len(d) != 64 }

func keysOf[V any](a, b map[string]V) []string {
	both := maps.Clone(a)
	if both == nil {
		both = map[string]V{}
	}
	maps.Copy(both, b)
	return slices.Sorted(maps.Keys(both))
}
