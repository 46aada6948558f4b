package kernel

import (
	"os/exec"
	"path/filepath"
	"strings"
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

// LookPath is exec.LookPath with a search path that need not be that of this process. It takes absolute folders only.
func LookPath(name, path string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		return exec.LookPath(name)
	}
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return found, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}
