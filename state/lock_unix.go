//go:build unix && !solaris && !illumos && !aix

package state

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks f without waiting; the lock goes when f is closed.
func tryLock(f *os.File, exclusive bool) (bool, error) {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOLCK):
			return true, nil // a file system without locks: bbolt's own attempt decides
		default:
			return false, err
		}
	}
}
