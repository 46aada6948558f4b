package keeper

import "syscall"

// exit ends this process at once. What os.Exit does first takes a second where the race detector is on.
func exit(status int) {
	for {
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(status), 0, 0)
	}
}
