package parents

import (
	"path/filepath"
	"slices"
	"strings"
)

// Below returns the path from a folder to what lies in it, "." for the folder itself, and "" for what lies elsewhere.
// It goes by names alone, of which either both are absolute or none is.
func Below(folder, path string) string {
	if rel, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return ""
}

// Holds reports whether a path is a folder or lies in it. Both are absolute and clean: it only compares, because a
// supervisor asks for each call of a program. Nothing lies in "".
func Holds(folder, path string) bool {
	return folder == "/" ||
		folder != "" && strings.HasPrefix(path, folder) && (len(path) == len(folder) || path[len(folder)] == '/')
}

// AnyHolds reports whether one of some folders holds a path.
func AnyHolds(folders []string, path string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return Holds(folder, path) })
}
