package patch

import (
	"maps"
	"slices"
	"strings"
)

// margins says which white space the lines of a text begin with where those of a patch begin with another.
type indentMap map[string]string

func marginOf(line string) string {
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

func blankLine(line string) bool { return strings.TrimSpace(line) == "" }

// marginsOf compares lines of a patch with those they were found as. ok is false when one margin stands for two, or two for one: then
// the lines are not indented otherwise, but nested otherwise.
func indentMapOf(patch, text []string) (m indentMap, ok bool) {
	m = indentMap{}
	back := map[string]string{}
	for k := range patch {
		if blankLine(patch[k]) {
			continue
		}
		was, is := marginOf(patch[k]), marginOf(text[k])
		if known, seen := m[was]; seen && known != is {
			return nil, false
		}
		if known, seen := back[is]; seen && known != was {
			return nil, false
		}
		m[was], back[is] = is, was
	}
	return m, true
}

// indent gives a new line of the patch the margin that it has in the text: that of a line as deep; else that of the deepest
// line less deep, with what it has more; else, above all that is known, what the shallowest has less.
func (m indentMap) indent(line string) string {
	was := marginOf(line)
	if blankLine(line) {
		return line
	}
	if is, ok := m[was]; ok {
		return is + line[len(was):]
	}
	known := slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	for _, k := range known {
		if more, ok := strings.CutPrefix(was, k); ok {
			return m[k] + inUnits(more, k, m[k]) + line[len(was):]
		}
	}
	for _, k := range slices.Backward(known) {
		if less, ok := strings.CutPrefix(k, was); ok && strings.HasSuffix(m[k], less) {
			return strings.TrimSuffix(m[k], less) + line[len(was):]
		}
	}
	return line
}

// inUnits writes deeper spaces as tabs where the spaces of was stand for the tabs of is.
func inUnits(more, was, is string) string {
	if is == "" || strings.Trim(is, "\t") != "" || strings.Trim(was+more, " ") != "" || len(was)%len(is) != 0 {
		return more
	}
	unit := len(was) / len(is)
	if unit == 0 || len(more)%unit != 0 {
		return more
	}
	return strings.Repeat("\t", len(more)/unit)
}
