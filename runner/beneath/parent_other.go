//go:build !linux

package beneath

import "golang.org/x/sys/unix"

// folderFlags opens a folder. It takes the permission to list it.
const folderFlags = unix.O_RDONLY

// descendAtOnce says that the system has no call for it.
func descendAtOnce(dir int, name string) (fd int, err error, can bool) { return -1, nil, false }

// chmod sets the permissions of a file that is not a link.
func chmod(dir int, name string, mode uint32) error {
	return unix.Fchmodat(dir, name, mode, unix.AT_SYMLINK_NOFOLLOW)
}
