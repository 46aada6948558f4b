//go:build !linux

package kernel

import "syscall"

// OwnGroup makes a process the first of a new group. If this process is killed, the kernel ends when it next reads its
// requests: only Linux notifies it at once.
func OwnGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
