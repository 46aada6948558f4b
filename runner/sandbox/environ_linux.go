package sandbox

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/parents"
)

// Environ returns the environment of the programs of a box with such bounds, from the one of its caller: the folder for
// temporary files is its own. So are folders for the caches of libraries, where the bounds do not let it write into the
// user's. Libraries would otherwise print warnings, and fill a cache with a name of chance for each interpreter.
//
//   - XDG_CACHE_HOME stays where the bounds allow something in the user's folder of caches: a model, say.
//   - MPLCONFIGDIR stays where matplotlib may write. It does not read the settings in a folder that it cannot write.
//
// Another user may have taken the names of these folders: then the box gets others.
func (s Spec) Environ(environ []string) []string {
	if s.Bounds == nil {
		return environ
	}
	temp := folderName(s.Folder)
	return s.environ(environ, temp, temp+cachesSuffix)
}

// environ is Environ with the folders for temporary files and for caches.
func (s Spec) environ(environ []string, temp, caches string) []string {
	home, config := valueOf(environ, "HOME"), valueOf(environ, "XDG_CONFIG_HOME")
	cache := valueOf(environ, "XDG_CACHE_HOME")
	matplotlib := valueOf(environ, "MPLCONFIGDIR")
	if cache == "" && filepath.IsAbs(home) {
		cache = filepath.Join(home, ".cache")
	}
	if config == "" && filepath.IsAbs(home) {
		config = filepath.Join(home, ".config")
	}
	if matplotlib == "" && config != "" {
		matplotlib = filepath.Join(config, "matplotlib")
	}
	environ = with(environ, "TMPDIR", temp)
	if !s.allowsBelow(cache) {
		environ = with(environ, "XDG_CACHE_HOME", caches)
	}
	if !s.allowsWrite(matplotlib) {
		environ = with(environ, "MPLCONFIGDIR", filepath.Join(caches, "matplotlib"))
	}
	return environ
}

// allowsBelow reports whether a box may read or write something in a folder.
func (s Spec) allowsBelow(folder string) bool {
	if !filepath.IsAbs(folder) {
		return false
	}
	real := realPath(folder)
	return parents.Holds(s.Folder, real) ||
		slices.ContainsFunc(slices.Concat(s.Bounds.Read, s.Bounds.Write), func(p string) bool {
			return parents.Holds(p, real) || parents.Holds(real, p)
		})
}

// allowsWrite reports whether a box may write into a folder.
func (s Spec) allowsWrite(folder string) bool {
	if !filepath.IsAbs(folder) {
		return false
	}
	real := realPath(folder)
	return parents.Holds(s.Folder, real) ||
		slices.ContainsFunc(s.Bounds.Write, func(p string) bool { return parents.Holds(p, real) })
}

// valueOf returns the value of a variable in an environment (NAME=value); "" if it has none. The last pair counts.
func valueOf(environ []string, name string) string {
	for _, pair := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}
