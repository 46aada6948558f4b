package serve

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// checkPeer returns the process at the other end of a connection. It fails unless that is one of this user.
func checkPeer(c *net.UnixConn) (pid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *unix.Xucred
	if bad := raw.Control(func(fd uintptr) {
		peer, err = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		pid, _ = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	}); bad != nil {
		return 0, bad
	}
	if err != nil {
		return 0, err
	}
	if int(peer.Uid) != os.Geteuid() {
		return 0, fmt.Errorf("a process of user %d is at the other end", peer.Uid)
	}
	return pid, nil
}
