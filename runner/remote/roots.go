package remote

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Names of roots: the user's home, the folder of the program, and those of the interpreter's environment and of the
// interpreter.
const (
	RootHome      = "home"
	RootWorkspace = "workspace"
	RootPrefix    = "prefix"
	RootBase      = "base"
)

// RootNames are the names of all roots.
var RootNames = []string{RootHome, RootWorkspace, RootPrefix, RootBase}

// Roots are the folders of this machine that a record must not name, by their names in records. A path is absolute.
type Roots struct {
	roots []root // the longest path first: one may lie in another
}

type root struct{ mark, path string }

// NewRoots returns roots from RootNames to paths. An empty path, and that of the root folder, are left out.
func NewRoots(paths map[string]string) *Roots {
	r := &Roots{}
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		if path := strings.TrimRight(paths[name], "/"); path != "" {
			r.roots = append(r.roots, root{"{" + name + "}", path})
		}
	}
	slices.SortStableFunc(r.roots, func(a, b root) int { return cmp.Compare(len(b.path), len(a.path)) })
	return r
}

// Portable returns a text with marks in place of the paths of roots. ok is false if it has a mark already: it would
// come back as another text.
func (r *Roots) Portable(text string) (portable string, ok bool) {
	if hasMark(text) {
		return "", false
	}
	for _, x := range r.roots {
		text = replacePath(text, x.path, x.mark)
	}
	return text, true
}

// Local is the inverse of Portable. ok is false where the text has the mark of a root that is not known here.
func (r *Roots) Local(text string) (local string, ok bool) {
	for _, x := range r.roots {
		text = strings.ReplaceAll(text, x.mark, x.path)
	}
	return text, !hasMark(text)
}

// hasMark reports whether a text has the mark of a root on any machine.
func hasMark(text string) bool {
	return slices.ContainsFunc(RootNames, func(name string) bool { return strings.Contains(text, "{"+name+"}") })
}

// replacePath replaces a path that is whole or begins a longer one: "/home/ann" not in "/home/anna", and
// not in "/srv/home/ann".
func replacePath(text, path, mark string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, path)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		end := i + len(path)
		whole := (i == 0 || !inPath(text[i-1])) && (end == len(text) || text[end] == '/' || !inPath(text[end]))
		b.WriteString(text[:i])
		if whole {
			b.WriteString(mark)
		} else {
			b.WriteString(path)
		}
		text = text[end:]
	}
}

// inPath reports whether a character is probably a part of the name of a file or folder.
func inPath(c byte) bool {
	return c == '/' || c == '.' || c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' ||
		c >= 'A' && c <= 'Z' || c >= 0x80
}

// Paths are the paths of the roots that say something of the machine: neither those of the system.
func (r *Roots) Paths() (paths []string) {
	for _, x := range r.roots {
		if x.path != "/usr" && x.path != "/usr/local" {
			paths = append(paths, x.path)
		}
	}
	return paths
}
