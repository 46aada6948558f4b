package kernel

import "syscall"

// socketPair returns two ends of a local socket, which processes inherit only if they are given one.
func socketPair(kind int) (pair [2]int, err error) {
	syscall.ForkLock.RLock() // else a process that is started now inherits both ends
	defer syscall.ForkLock.RUnlock()
	if pair, err = syscall.Socketpair(syscall.AF_UNIX, kind, 0); err == nil {
		syscall.CloseOnExec(pair[0])
		syscall.CloseOnExec(pair[1])
	}
	return pair, err
}
