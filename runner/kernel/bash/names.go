package bash

import (
	"maps"
	"slices"
)

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// isPlain reports whether a name is that of a variable.
func isPlain(name string) bool {
	for _, c := range []byte(name) {
		if !isLetter(rune(c)) {
			return false
		}
	}
	return name != "" && name[0] > '9'
}

func isLetter(r rune) bool {
	return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}
