package keeper

import "syscall"

// exit ends this process at once. The hooks that os.Exit runs first take a second if the race detector is on.
func exit(status int) {
	for {
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(status), 0, 0)
	}
}
