package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/xstate-engine/xstate/runner/beneath"
)

// Folders are the paths that a program can ask for. Interpreter is that of Python; "": none was found.
type Folders struct {
	Home, Workspace, Prefix, Base, Interpreter string
}

// Describe returns the facts of this machine of one kind, as one text.
func Describe(kind Fact, f Folders) string {
	var parts []string
	switch kind {
	case Place:
		parts = []string{f.Home, f.Workspace, f.Prefix, f.Base, f.Interpreter, os.TempDir()}
	case Zone:
		parts = []string{zone()}
	case User:
		if u, err := user.Current(); err == nil {
			parts = append(parts, u.Uid, u.Gid, u.Username)
		}
		parts = append(parts, fmt.Sprint(beneath.Umask()))
	case Host:
		host, _ := os.Hostname()
		release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
		parts = []string{host, string(release)}
		if cards, err := net.Interfaces(); err == nil {
			for _, c := range cards {
				parts = append(parts, c.HardwareAddr.String())
			}
		}
	case CPU:
		var files syscall.Rlimit
		_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) // zero, if it cannot be known
		parts = []string{fmt.Sprint(runtime.NumCPU(), files), memory()}
	case Build:
		parts = builds(f)
	}
	return strings.Join(parts, "\n")
}

// zone names the time zone of the system by the content of its file.
func zone() string {
	text, err := os.ReadFile("/etc/localtime")
	if err != nil || strings.HasSuffix(string(text), "\nUTC0\n") {
		return "UTC"
	}
	return sum(text)
}

// memory is the line of /proc/meminfo that says how much there is.
func memory() string {
	text, _ := os.ReadFile("/proc/meminfo")
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// builds are the digests of the interpreter's files.
func builds(f Folders) (digests []string) {
	files, _ := filepath.Glob(filepath.Join(f.Base, "lib", "libpython*.so*")) // the pattern is well-formed
	for _, file := range append(files, f.Interpreter) {
		if text, err := os.ReadFile(file); err == nil {
			digests = append(digests, sum(text))
		}
	}
	return digests
}

func sum(text []byte) string {
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:])
}
