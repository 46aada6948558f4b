package serve

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/xstate-engine/xstate/internal/parents"
)

// machineMemory returns how many bytes of memory the machine has, or the control group of this process (cgroup v2), if
// that may have less.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return usualMemory
	}
	least := int64(info.Totalram) * int64(info.Unit)
	groups, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		path, is := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !is {
			continue
		}
		for group := range parents.Up(path) {
			text, _ := os.ReadFile(filepath.Join("/sys/fs/cgroup", group, "memory.max")) // none at the root
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
				least = min(least, n)
			}
		}
	}
	return least
}

// freeMemory returns how many bytes of memory new programs could take without swapping, and how many the machine has.
// ok is false where that is not known.
func freeMemory() (free, all int64, ok bool) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, 0, false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan() && (free == 0 || all == 0); {
		name, rest, _ := strings.Cut(lines.Text(), ":")
		n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		switch name {
		case "MemTotal":
			all = n << 10
		case "MemAvailable":
			free = n << 10
		}
	}
	return free, all, free > 0 && all > 0
}
