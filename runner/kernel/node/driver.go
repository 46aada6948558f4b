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

// installDriver writes the driver to disk, once for each version of it, and returns the folder.
func installDriver(storeDir string) (string, error) {
	name := "node-kernel-" + string(driverDigest()[:16])
	return kernel.InstallDriver(storeDir, name, func(folder string) error {
		inner := filepath.Join(folder, driverRoot)
		err := os.Mkdir(inner, 0o755)
		if err == nil { // a package.json above must not make ES modules of the files
			err = os.WriteFile(filepath.Join(folder, "package.json"), []byte("{\"type\":\"commonjs\"}\n"), 0o644)
		}
		for _, f := range driverFiles() {
			if err == nil {
				err = os.WriteFile(filepath.Join(inner, f.name), f.text, 0o644)
			}
		}
		return err
	})
}
