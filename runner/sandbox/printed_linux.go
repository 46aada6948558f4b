package sandbox

import (
	"path/filepath"
	"unsafe"

	"github.com/xstate-engine/xstate/internal/parents"
	"golang.org/x/sys/unix"
)

// Descriptors 1 and 2 of a program are files in the spool. A program that opens one by path ("> /dev/stdout",
// /proc/self/fd/1) would truncate it, or write over its beginning, and lose what was printed before. On a terminal or a
// pipe it would lose nothing. So the supervisor opens the file itself, such that all goes to the end, and gives the
// program that descriptor.

// prints reports whether a call opens, to write to it, a file that takes what the program prints.
func (s *supervisor) prints(c *call) bool {
	if c.act != actOpen || c.flags&unix.O_ACCMODE == unix.O_RDONLY || !c.to.ok ||
		!parents.Holds(s.images.spool, c.to.path) {
		return false
	}
	name := filepath.Base(c.to.path)
	return name == "stdout" || name == "stderr"
}

// openToAppend answers such a call. It reports whether it could: else the call must be let through.
func (s *supervisor) openToAppend(c *call) bool {
	l, is := s.calls.(listener)
	if !is {
		return false
	}
	// The program may put a link in the place of a folder of the spool meanwhile: none is followed.
	ours, err := unix.Openat2(unix.AT_FDCWD, c.to.path, &unix.OpenHow{
		Flags: c.flags&unix.O_ACCMODE | unix.O_APPEND | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return false
	}
	defer unix.Close(ours)
	var file unix.Stat_t
	if err := unix.Fstat(ours, &file); err != nil || file.Mode&unix.S_IFMT != unix.S_IFREG || file.Nlink != 1 {
		return false
	}
	given := struct {
		id               uint64
		flags, fd        uint32
		number, newFlags uint32
	}{id: c.ID, fd: uint32(ours), newFlags: uint32(c.flags & unix.O_CLOEXEC)}
	number, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l), unix.SECCOMP_IOCTL_NOTIF_ADDFD,
		uintptr(unsafe.Pointer(&given)))
	if errno != 0 {
		return false
	}
	s.made, s.value = true, int64(number)
	return true
}
