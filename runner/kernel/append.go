package kernel

import (
	"os"

	"golang.org/x/sys/unix"
)

// setAppend makes each write to an open file go to its end.
func setAppend(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	bad := raw.Control(func(fd uintptr) {
		var flags int
		if flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0); err == nil {
			_, err = unix.FcntlInt(fd, unix.F_SETFL, flags|unix.O_APPEND)
		}
	})
	if bad != nil {
		return bad
	}
	return err
}
