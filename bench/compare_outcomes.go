package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/state"
)

// leftoverSuffix ends the description of a value or file that the program no longer makes.
const leftoverSuffix = " is left"

// compareOutcomes returns where an outcome differs from the run from scratch. It counts separately the differences at
// what xstate marks as volatile. After a failed block nothing is compared, because strategies then stop differently.
// For a peer it compares the text that all tools display alike, and no names that begin with an underscore: marimo
// keeps these private to a cell, and IPython binds its own.
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
			return found, volatile // everything after it would differ as well
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

// byContent reports whether a digest names a value by content. 64 digits are a lineage digest (SHA-256), by content
// there are fewer; "" means that there is none.
func byContent(d state.Digest) bool { return d != "" && len(d) != 64 }

// keysOf returns the keys of both maps, sorted.
func keysOf[V any](a, b map[string]V) []string {
	both := maps.Clone(a)
	if both == nil {
		both = map[string]V{}
	}
	maps.Copy(both, b)
	return slices.Sorted(maps.Keys(both))
}
