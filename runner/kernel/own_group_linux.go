package kernel

import "syscall"

// OwnGroup makes a process the first of a new group, which dies with this process.
func OwnGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
