package patch

import (
	"maps"
	"slices"
	"strings"
)

// indentMap maps the indentation of lines in a patch to that of the same lines in the text.
type indentMap map[string]string

func marginOf(line string) string {
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

func blankLine(line string) bool { return strings.TrimSpace(line) == "" }

// indentMapOf compares lines of a patch with the lines of the text that they matched. ok is false if one indentation
// maps to two, or two to one. Then the nesting of the lines differs, not only their indentation.
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

// indent gives a new line of the patch its indentation in the text. If a known line has the same indentation, it uses
// that line's. Otherwise it uses the deepest known line that is less deep and adds the difference. For a line less deep
// than all known ones, it removes the difference from the shallowest.
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

// inUnits writes deeper spaces as tabs if spaces in was correspond to tabs in is.
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
