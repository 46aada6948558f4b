package serve

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// surroundings describes what a process passes on to the programs that it starts, besides folder and environment: the
// mask of permissions, limits, priority, and on Linux the privileges, processors and namespaces. A server runs programs
// with its own, and exports telemetry as its own environment says, so it carries out the calls of processes that have
// the same.
func surroundings() string {
	var b strings.Builder
	mask := syscall.Umask(0o077)
	syscall.Umask(mask)
	fmt.Fprintf(&b, "umask %03o\n", mask)
	for _, limit := range []struct {
		name string
		of   int
	}{
		{"cpu", syscall.RLIMIT_CPU}, {"file size", syscall.RLIMIT_FSIZE}, {"data", syscall.RLIMIT_DATA},
		{"stack", syscall.RLIMIT_STACK}, {"memory", syscall.RLIMIT_AS}, {"open files", syscall.RLIMIT_NOFILE},
		{"core", syscall.RLIMIT_CORE},
	} {
		var is syscall.Rlimit
		if syscall.Getrlimit(limit.of, &is) == nil {
			if limit.name == "open files" {
				is.Cur = is.Max // Go raises it for itself
			}
			fmt.Fprintf(&b, "%s %d %d\n", limit.name, is.Cur, is.Max)
		}
	}
	if nice, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); err == nil {
		fmt.Fprintf(&b, "priority %d\n", nice)
	}
	if groups, err := os.Getgroups(); err == nil {
		fmt.Fprintf(&b, "groups %d %d\n", os.Getegid(), groups)
	}
	if info, err := os.Stat("/"); err == nil {
		if sys, ok := info.Sys().(*syscall.Stat_t); ok {
			fmt.Fprintf(&b, "root %d %d\n", sys.Dev, sys.Ino)
		}
	}
	for _, pair := range slices.Sorted(slices.Values(os.Environ())) {
		if strings.HasPrefix(pair, "OTEL_") {
			fmt.Fprintln(&b, pair)
		}
	}
	if runtime.GOOS == "linux" {
		status, _ := os.ReadFile("/proc/self/status")
		for line := range strings.Lines(string(status)) {
			name, _, _ := strings.Cut(line, ":")
			switch name {
			case "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Cpus_allowed_list":
				b.WriteString(line)
			}
		}
		for _, space := range []string{"cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"} {
			name, _ := os.Readlink("/proc/self/ns/" + space)
			fmt.Fprintf(&b, "%s\n", name)
		}
	}
	return b.String()
}
