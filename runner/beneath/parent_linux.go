package beneath

import (
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// folderFlags opens a folder to reach what is in it, which takes no permission to list it.
const folderFlags = unix.O_PATH

// haveOpenat2 is asked once. A container may refuse the call with any error.
var haveOpenat2 = sync.OnceValue(func() bool {
	fd, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC})
	if err == nil {
		_ = unix.Close(fd)
	}
	return err == nil
})

// descendAtOnce is descend in one call. can is false where the system has none.
func descendAtOnce(dir int, name string) (fd int, err error, can bool) {
	if !haveOpenat2() {
		return -1, nil, false
	}
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	for range 100 { // EAGAIN: something was renamed meanwhile
		fd, err = unix.Openat2(dir, name, &how)
		if err != unix.EAGAIN && err != unix.EINTR {
			break
		}
	}
	return fd, err, true
}

// chmod sets the permissions of a file that is not a link. Before Linux 6.6 no call does that by name, so the file is
// opened, without any right to its content, and reached through the folder of the process's descriptors.
func chmod(dir int, name string, mode uint32) error {
	err := unix.Fchmodat(dir, name, mode, unix.AT_SYMLINK_NOFOLLOW)
	if err != unix.EOPNOTSUPP && err != unix.ENOSYS && err != unix.EPERM {
		return err
	}
	fd, bad := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if bad != nil {
		return bad
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if bad := unix.Fstat(fd, &st); bad != nil {
		return bad
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return unix.ELOOP
	}
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode)
}
