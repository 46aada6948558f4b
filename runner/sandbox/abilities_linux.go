package sandbox

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Probe returns what this system offers. It asks the system once.
func Probe() Abilities { return probed() }

var probed = sync.OnceValue(func() Abilities {
	a := Abilities{Root: os.Geteuid() == 0}
	if n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION); errno == 0 {
		a.Landlock = int(n)
	}
	notify := uint32(unix.SECCOMP_RET_USER_NOTIF)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&notify)))
	a.Filter = errno == 0
	_, err := unix.PidfdGetfd(-1, 0, 0)
	a.PidfdGetfd = err != unix.EPERM && err != unix.ENOSYS
	a.Namespaces, a.NoSpaces = namespaces(a.Root)
	a.Bwrap, _ = exec.LookPath("bwrap")
	if a.Observe = LevelCalls; !a.Filter {
		a.Observe, a.Why = LevelTrace, "the system does not offer to report system calls (seccomp user notification)"
	}
	return a
})

// namespaces tries to start a program in namespaces of its own.
func namespaces(root bool) (ok bool, why string) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Path, cmd.Args = "/bin/true", []string{"true"}
	flags := uintptr(syscall.CLONE_NEWNS | syscall.CLONE_NEWNET)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	if !root {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	if err := cmd.Run(); err != nil {
		return false, "this user may not make them (" + err.Error() + ")"
	}
	return true, ""
}
