package python

import (
	"context"
	"embed"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/runner/kernel"
)

// The folder native has the loops of the driver's walk in C, which take a tenth of the time. They are compiled once for
// each version of the driver, in its folder, by the compiler of the system, and serve every CPython from 3.10 on that
// has the stable ABI. Invariant: a walk in C and one in Python write the same bytes, report the same ordinals and call
// the same values unchanged (testdata/native.py compares them on random values), so results serve both.
//
// Failure: without a compiler, if it fails, in an interpreter of another layout, and with XSTATE_DEBUG=walk, the loops
// are those in Python. The compiler comes from the system's folders alone, and gets a fixed environment: a program
// cannot choose what becomes code of the kernel. On macOS there is none: to ask for it there opens a dialog.
//
//go:embed native
var nativeSource embed.FS

// compilerPaths are where the compiler of the system is.
var compilerPaths = []string{"/usr/bin/cc", "/usr/local/bin/cc", "/usr/bin/gcc", "/usr/bin/clang"}

// Compiler returns the compiler of the system that compiles the walk, or "" if the walk is in Python.
var Compiler = sync.OnceValue(func() string {
	if runtime.GOOS != "linux" || kernel.Debugged("walk") {
		return ""
	}
	for _, path := range compilerPaths {
		if isFile(path) {
			return path
		}
	}
	return ""
})

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// compileTime bounds the compiler, which takes half a second.
const compileTime = time.Minute

// compileNative compiles the walk into the folder of the driver's package. It reports whether that worked.
func compileNative(compiler, target, scratch string) bool {
	source := filepath.Join(scratch, "native")
	defer os.RemoveAll(source)
	if os.CopyFS(scratch, nativeSource) != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), compileTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, compiler,
		"-O2", "-shared", "-fPIC", "-fvisibility=hidden", "walk.c", "-o", "walk.so")
	cmd.Dir, cmd.Env = source, []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TMPDIR=" + source}
	return cmd.Run() == nil && os.Rename(filepath.Join(source, "walk.so"), filepath.Join(target, nativeName)) == nil
}

// nativeName is what an import of xstate_kernel._native finds, in interpreters with the stable ABI alone.
const nativeName = "_native.abi3.so"
