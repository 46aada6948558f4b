package kernel

import (
	"cmp"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/parents"
)

// Getenv returns the value of a variable in an environment (NAME=value); "" if it has none. The last pair counts, as in
// package os/exec.
func Getenv(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(environ[i], name); ok && strings.HasPrefix(value, "=") {
			return value[1:]
		}
	}
	return ""
}

// Environ returns the environment of a program, from one as NAME=value. It is the same in every language, as child
// processes may be in another. Hashes of strings are the same in every process of Python, so that sets have one order.
// Figures are drawn into memory unless the user chose where.
func Environ(lines []string) map[string]string {
	environ := map[string]string{}
	for _, line := range lines {
		if name, value, ok := strings.Cut(line, "="); ok && name != "" && !strings.HasPrefix(name, "XSTATE_") {
			environ[name] = value
		}
	}
	environ["PYTHONHASHSEED"] = "0"
	delete(environ, "PYTHONSAFEPATH")
	delete(environ, "PYTHONSTARTUP")
	environ["MPLBACKEND"] = cmp.Or(environ["MPLBACKEND"], "Agg")
	return environ
}

// EnvironLines returns an environment as NAME=value, sorted.
func EnvironLines(environ map[string]string) []string {
	lines := make([]string, 0, len(environ))
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		lines = append(lines, name+"="+environ[name])
	}
	return lines
}

// LookPath is exec.LookPath with a search path that need not be that of this process. It takes absolute folders only,
// and none that lies in a folder that a program in bounds may write: what is there may be the program's.
func LookPath(name, path string, written ...string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		return exec.LookPath(name)
	}
	for _, folder := range filepath.SplitList(path) {
		real, err := filepath.EvalSymlinks(folder)
		if !filepath.IsAbs(folder) || err != nil || parents.AnyHolds(written, real) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return found, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// debugged are the words of XSTATE_DEBUG, separated by commas.
var debugged = strings.Split(os.Getenv("XSTATE_DEBUG"), ",")

// Debugged reports whether XSTATE_DEBUG has a word: "key" prints the text that is hashed into keys, "kernel" requests
// to the kernel, "walk" leaves the walk of package python in Python, "check" and "proofs" are for its pure readers, and
// "templates" forks every interpreter.
func Debugged(word string) bool { return slices.Contains(debugged, word) }
