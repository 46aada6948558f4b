package runner

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/xstate-engine/xstate/state"
)

//go:embed kernel/xstate_kernel/*.py
var driver embed.FS

const driverRoot = "kernel/xstate_kernel"

// driverDigest names the driver by content; it is part of every key, for what a trace records depends on it.
var driverDigest = func() state.Digest {
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
}()

// installDriver writes the driver into the store, once for each version of it, and returns the folder to import it from.
// On disk, unlike in a pipe, its compiled form is kept and its frames can be told from the program's.
func installDriver(storeDir string) (string, error) {
	folder := filepath.Join(storeDir, "kernel", string(driverDigest[:16]))
	done := filepath.Join(folder, "complete")
	if _, err := os.Stat(done); err == nil {
		return folder, nil
	}
	target := filepath.Join(folder, "xstate_kernel")
	if err := os.MkdirAll(target, 0o755); err != nil {
		return "", fmt.Errorf("install kernel driver: %w", err)
	}
	err := fs.WalkDir(driver, driverRoot, func(path string, d fs.DirEntry, err error) error {
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
		err = os.WriteFile(done, nil, 0o644)
	}
	if err != nil {
		return "", fmt.Errorf("install kernel driver: %w", err)
	}
	return folder, nil
}
