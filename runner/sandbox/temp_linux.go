package sandbox

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// temporary makes the folder for temporary files of the boxes of one workspace, and returns it. The folder of the
// system is not allowed: other programs keep files and sockets there. The name is the same each time, because programs
// look at TMPDIR, and a changed value would make them run again.
func temporary(workspace string) (string, error) {
	parent, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return "", fmt.Errorf("find the folder for temporary files: %w", err)
	}
	hash := sha256.Sum256([]byte(workspace))
	folder := filepath.Join(parent, fmt.Sprintf("xstate-%d-%x", os.Getuid(), hash[:6]))
	if err := os.Mkdir(folder, 0o700); err == nil {
		return folder, nil
	}
	info, err := os.Lstat(folder)
	if err == nil && info.IsDir() {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) == os.Getuid() {
			return folder, os.Chmod(folder, 0o700)
		}
	}
	return os.MkdirTemp(parent, "xstate-") // somebody else has taken the name
}
