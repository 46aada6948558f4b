package runner

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/xstate-engine/xstate/state"
)

//go:embed kernel/xstate_kernel/*.py
var driver embed.FS

const driverRoot = "kernel/xstate_kernel"

// driverDigest names the driver by content; it is part of every key, for what a trace records depends on it.
var driverDigest = sync.OnceValue(func() state.Digest {
	var text []byte
	entries, err := driver.ReadDir(driverRoot)
	if err != nil {
		panic("runner: internal error: " + err.Error())
	}
	for _, e := range entries {
		data, err := driver.ReadFile(driverRoot + "/" + e.Name())
		if err != nil {
			panic("runner: internal error: " + err.Error())
		}
		text = fmt.Appendf(text, "%s %d\n", e.Name(), len(data))
		text = append(text, data...)
	}
	return state.DigestOf(text)
})

// installDriver writes the driver to disk, once for each version of it, and returns the folder to import it from: in the
// user's cache, so that its compiled form serves every store, else in the store. On disk, unlike in a pipe, its frames
// can be told from the program's.
func installDriver(storeDir string) (string, error) {
	if cache := userCache(); cache != "" {
		if folder, err := installDriverIn(cache); err == nil {
			return folder, nil
		}
	}
	return installDriverIn(storeDir)
}

// userCache is the folder for what serves every store of a user; "" when there is none.
func userCache() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "xstate")
}

func installDriverIn(dir string) (string, error) {
	final := filepath.Join(dir, "kernel-"+string(driverDigest()[:16]))
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("install kernel driver: %w", err)
	}
	folder, err := os.MkdirTemp(dir, "new-")
	if err != nil {
		return "", fmt.Errorf("install kernel driver: %w", err)
	}
	defer os.RemoveAll(folder)
	target := filepath.Join(folder, "xstate_kernel")
	if err := os.Mkdir(target, 0o755); err != nil {
		return "", fmt.Errorf("install kernel driver: %w", err)
	}
	err = fs.WalkDir(driver, driverRoot, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := driver.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(target, d.Name()), data, 0o644)
	})
	if err == nil {
		err = os.Chmod(folder, 0o755)
	}
	if err == nil {
		err = os.Rename(folder, final)
	}
	if _, there := os.Stat(final); err != nil && there != nil { // unless another process was faster
		return "", fmt.Errorf("install kernel driver: %w", err)
	}
	return final, nil
}
