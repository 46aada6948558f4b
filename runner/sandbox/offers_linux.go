package sandbox

import (
	"os"
	"os/exec"
	"syscall"

	"github.com/xstate-engine/xstate/runner/sandbox/keeper"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC

// Capabilities that a keeper needs to make namespaces as an ordinary user.
var keeperCapabilities = []uintptr{unix.CAP_SETPCAP, unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN}

func offered() (o Offers) {
	if version, err := landlock.LandlockGetABIVersion(); err == nil && version > 0 {
		o.Landlock = version
	}
	o.Namespaces = canUnshare(false)
	if !o.Namespaces {
		o.User = canUnshare(true)
		o.Namespaces = o.User
	}
	o.Sockets = canTakeSockets()
	return o
}

// canUnshare tries in a child process: a thread of this one could be its first, which must keep its view. Some systems
// allow a namespace of users and then no mount in it; to unshare here includes a mount. The process is a keeper without
// a control socket, which ends at once: a program from the search path cannot be trusted.
func canUnshare(asUserToo bool) bool {
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{keeper.Name, ""},
		Env: []string{"GOGC=off", keeper.Processors}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: namespaces}
	if asUserToo {
		asUser(cmd.SysProcAttr)
	}
	if cmd.Start() != nil {
		return false
	}
	_ = cmd.Wait() // it never has what a keeper needs
	return true
}

// asUser makes a process start in a namespace of users in which it keeps its ids, with the capabilities of a keeper.
func asUser(attr *syscall.SysProcAttr) {
	attr.Cloneflags |= syscall.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	attr.AmbientCaps = keeperCapabilities
}

// canTakeSockets takes a descriptor of this process, which shows that no outer filter forbids the call.
func canTakeSockets() bool {
	p, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return false
	}
	defer unix.Close(p)
	fd, err := unix.PidfdGetfd(p, p, 0)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
}
