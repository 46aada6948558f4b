package state

import (
	"path/filepath"
	"strings"
)

// IsPlainPath reports whether a path with slashes stays in its folder, and names nothing hidden, as are the store and
// the hooks of a repository, and no settings of xstate.
func IsPlainPath(name string) bool {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || strings.EqualFold(part, "xstate.toml") {
			return false
		}
	}
	return true
}

// symlink begins what a trace has for a symbolic link; see basestate.Symlink.
const symlink = "symlink:"

// StaysInside reports whether all files that a trace writes are plain ones of its workspace. A run that reuses a trace
// writes them without the program.
func (t *Trace) StaysInside() bool {
	for _, w := range t.Writes {
		switch w.Key.Space() {
		case "file", "mode", "stat", "dir":
			if target, is := strings.CutPrefix(string(w.Digest), symlink); !IsPlainPath(w.Key.Name()) ||
				is && !IsPlainPath(target) {
				return false
			}
		case "link": // by the name of the file that it is linked to
			if !IsPlainPath(w.Key.Name()) || w.Digest != Absent && !IsPlainPath(string(w.Digest)) {
				return false
			}
		}
	}
	return true
}
