package serve

import "golang.org/x/sys/unix"

// machineMemory returns how many bytes of memory the machine has.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return usualMemory
	}
	return int64(info.Totalram) * int64(info.Unit)
}
