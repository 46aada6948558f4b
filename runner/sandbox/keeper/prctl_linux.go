package keeper

import "syscall"

// Constants that package syscall does not have. This package does without golang.org/x/sys, see doc.go.
const (
	prSetName           = 15
	prSetDumpable       = 4
	prSetNoNewPrivs     = 38
	prSetChildSubreaper = 36

	setModeFilter = 1
	newListener   = 1 << 3
	waitKillable  = 1 << 5
)

func prctl(option, argument uintptr) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, option, argument, 0, 0, 0, 0)
	return errno
}

func asError(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}
