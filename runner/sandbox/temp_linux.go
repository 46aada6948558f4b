package sandbox

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// temporary makes the folder for temporary files of the boxes of one workspace, and the one for caches of libraries,
// and returns them. The folder of the system is not allowed: other programs keep files and sockets there. The names
// are the same each time, because programs look at TMPDIR, and a changed value would make them run again. The caches
// are beside the temporary files, which a program may list and remove.
func temporary(workspace string) (temp, caches string, err error) {
	temp = folderName(workspace)
	caches = temp + cachesSuffix
	if !makeOwn(temp) { // another user has taken the name
		if temp, err = os.MkdirTemp(filepath.Dir(temp), "xstate-"); err != nil {
			return "", "", fmt.Errorf("make the folder for temporary files: %w", err)
		}
	}
	if !makeOwn(caches) {
		caches = filepath.Join(temp, "caches")
		if err := os.Mkdir(caches, 0o700); err != nil && !os.IsExist(err) {
			return "", "", fmt.Errorf("make the folder for caches: %w", err)
		}
	}
	return temp, caches, nil
}

// cachesSuffix is what the folder for caches has behind the name of the one for temporary files.
const cachesSuffix = "-caches"

// folderName returns the name of the folder for temporary files of a workspace.
func folderName(workspace string) string {
	hash := sha256.Sum256([]byte(workspace))
	return filepath.Join(realPath(os.TempDir()), fmt.Sprintf("xstate-%d-%x", os.Getuid(), hash[:6]))
}

// realPath returns a path without symbolic links, as far as it exists.
func realPath(p string) string {
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	if parent := filepath.Dir(p); parent != p {
		return filepath.Join(realPath(parent), filepath.Base(p))
	}
	return p
}

// makeOwn makes a folder that only its user can use, or reports that another user has one of this name.
func makeOwn(folder string) bool {
	if err := os.Mkdir(folder, 0o700); err == nil {
		return true
	}
	info, err := os.Lstat(folder)
	if err != nil || !info.IsDir() {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid() && os.Chmod(folder, 0o700) == nil
}
