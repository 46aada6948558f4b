package python

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/xstate-engine/xstate/runner/kernel"
)

// The driver is a Python package with packages inside. The prefix all: takes in files such as __init__.py; driverFiles
// leaves out what is not source.
//
//go:embed all:xstate_kernel
var driver embed.FS

const driverRoot = "xstate_kernel"

// driverFiles returns the sources of the driver, by their path in it, in the order of the paths.
var driverFiles = sync.OnceValue(func() []driverFile {
	var files []driverFile
	err := fs.WalkDir(driver, driverRoot, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".py" {
			return err
		}
		data, err := driver.ReadFile(path)
		files = append(files, driverFile{path: strings.TrimPrefix(path, driverRoot+"/"), text: data})
		return err
	})
	return must(files, err)
})

// driverFile is one source file of the driver.
type driverFile struct {
	path string
	text []byte
}

// driverDigest names the driver by content. The folder that it is installed in has this name. Each start of a process
// needs it, so the files are not copied: half a megabyte takes longer to allocate than to hash.
var driverDigest = sync.OnceValue(func() string {
	sum, buffer := sha256.New(), make([]byte, 32<<10)
	add := func(files embed.FS, path, head string) error {
		f, err := files.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		fmt.Fprint(sum, head)
		_, err = io.CopyBuffer(sum, f, buffer)
		return err
	}
	err := fs.WalkDir(driver, driverRoot, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".py" {
			return err
		}
		name, size := strings.TrimPrefix(path, driverRoot+"/"), must(d.Info()).Size()
		return add(driver, path, fmt.Sprintf("%s %d\n", name, size))
	})
	for _, f := range must(nativeSource.ReadDir("native")) {
		err = errors.Join(err, add(nativeSource, "native/"+f.Name(), f.Name()+"\n"))
	}
	return must(hex.EncodeToString(sum.Sum(nil)), err)
})

func must[T any](v T, err error) T {
	if err != nil {
		panic("python: internal error: " + err.Error())
	}
	return v
}

// driverName begins the name of the folder of the driver. The modules warnings and logging take a file whose path has
// both words for the machinery of imports, and leave its frames out when they look for the caller of a function.
const driverName = "kernel-importlib_bootstrap-"

// installDriver writes the driver to disk, once for each version of it, and returns the folder to import it from. The
// driver lies on disk because the code of a file can be distinguished from the program's, and code from a pipe cannot.
// In the user's cache its compiled form serves every store.
func installDriver(storeDir string) (string, error) {
	compiler := Compiler()
	name := driverName + driverDigest()[:16]
	if compiler != "" {
		name += "-native"
	}
	return kernel.InstallDriver(storeDir, name, func(folder string) error {
		target := filepath.Join(folder, "xstate_kernel")
		for _, f := range driverFiles() {
			path := filepath.Join(target, f.path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(path, f.text, 0o644); err != nil {
				return err
			}
		}
		if compiler != "" {
			_ = compileNative(compiler, target, folder) // else the loops are those in Python, and nothing tries again
		}
		return nil
	})
}

// Walk says whether the walk is in C, and if not, why.
func Walk() string {
	compiler := Compiler()
	switch cache := kernel.UserCache(); {
	case kernel.Debugged("walk"):
		return "Python: by XSTATE_DEBUG"
	case compiler == "":
		return "Python: there is no C compiler in " + strings.Join(compilerPaths, ", ")
	case cache == "":
		return "C, compiled by " + compiler
	default:
		if folder, err := installDriver(cache); err != nil || !isFile(filepath.Join(folder, driverRoot, nativeName)) {
			return "Python: " + compiler + " could not compile it"
		}
		return "C, compiled by " + compiler
	}
}
