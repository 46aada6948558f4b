package node

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

//go:embed xstate_kernel/*.js
var driver embed.FS

const driverRoot = "xstate_kernel"

// driverFile is one source file of the driver.
type driverFile struct {
	name string
	text []byte
}

// driverFiles returns the sources of the driver, in the order of their names.
var driverFiles = sync.OnceValue(func() []driverFile {
	entries, err := fs.ReadDir(driver, driverRoot)
	if err != nil {
		panic("node: internal error: " + err.Error())
	}
	var files []driverFile
	for _, e := range entries {
		text, err := driver.ReadFile(driverRoot + "/" + e.Name())
		if err != nil {
			panic("node: internal error: " + err.Error())
		}
		files = append(files, driverFile{e.Name(), text})
	}
	return files
})

// driverDigest names the driver by content. The folder that it is installed in has this name.
var driverDigest = sync.OnceValue(func() state.Digest {
	var text []byte
	for _, f := range driverFiles() {
		text = fmt.Appendf(text, "%s %d\n", f.name, len(f.text))
		text = append(text, f.text...)
	}
	return state.DigestOf(text)
})

// installDriver writes the driver to disk, once for each version of it: in the user's cache, or else in the store. It
// returns the folder.
func installDriver(storeDir string) (string, error) {
	if cache := kernel.UserCache(); cache != "" {
		if folder, err := installDriverIn(cache); err == nil {
			return folder, nil
		}
	}
	return installDriverIn(storeDir)
}

func installDriverIn(dir string) (string, error) {
	final := filepath.Join(dir, "node-kernel-"+string(driverDigest()[:16]))
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
	inner := filepath.Join(folder, driverRoot)
	if err = os.Mkdir(inner, 0o755); err == nil { // a package.json above must not make ES modules of the files
		err = os.WriteFile(filepath.Join(folder, "package.json"), []byte("{\"type\":\"commonjs\"}\n"), 0o644)
	}
	for _, f := range driverFiles() {
		if err == nil {
			err = os.WriteFile(filepath.Join(inner, f.name), f.text, 0o644)
		}
	}
	if err == nil {
		err = os.Chmod(folder, 0o755)
	}
	if err == nil {
		err = os.Rename(folder, final)
	}
	if _, there := os.Stat(final); err != nil && there != nil { // unless another process installed it meanwhile
		return "", fmt.Errorf("install kernel driver: %w", err)
	}
	return final, nil
}
