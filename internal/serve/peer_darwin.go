package serve

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// checkPeer fails unless the process at the other end of a connection is one of this user.
func checkPeer(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Xucred
	if bad := raw.Control(func(fd uintptr) {
		peer, err = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	}); bad != nil {
		return bad
	}
	if err == nil && int(peer.Uid) != os.Geteuid() {
		err = fmt.Errorf("a process of user %d is at the other end", peer.Uid)
	}
	return err
}
