package kernel

import (
	"slices"
	"strings"
)

// within reports whether a path is a folder or lies in it.
func within(path, folder string) bool {
	return strings.HasPrefix(path, folder) && (len(path) == len(folder) || path[len(folder)] == '/' || folder == "/")
}

// inside reports whether a path is one of the folders or lies in one.
func inside(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return within(path, folder) })
}
