package sandbox

import "golang.org/x/sys/unix"

// The system's name of this processor, and its numbers of the calls of a second kind: x32.
const (
	ownArchitecture = unix.AUDIT_ARCH_X86_64
	secondNumbers   = 0x40000000
)

// statAt is the call by which the C library asks about a path or an open file.
const statAt = unix.SYS_NEWFSTATAT

var ownShapes = map[int]shape{
	unix.SYS_NEWFSTATAT: at(actLook, 3),
	unix.SYS_OPEN:       plain(actOpen).withFlags(1),
	unix.SYS_CREAT:      plain(actCreate),
	unix.SYS_STAT:       plain(actLook),
	unix.SYS_LSTAT:      plain(actLook).link(),
	unix.SYS_ACCESS:     plain(actLook),
	unix.SYS_READLINK:   plain(actLook).link(),
	unix.SYS_UNLINK:     plain(actRemove).link(),
	unix.SYS_RMDIR:      plain(actRemove).link(),
	unix.SYS_MKDIR:      plain(actMake).link(),
	unix.SYS_MKNOD:      plain(actMake).link(),
	unix.SYS_RENAME:     two(actRename, -1, 0, -1, 1),
	unix.SYS_RENAMEAT:   two(actRename, 0, 1, 2, 3),
	unix.SYS_LINK:       two(actLink, -1, 0, -1, 1),
	unix.SYS_SYMLINK:    plain(actSymlink).target(-1, 1).link(),
	unix.SYS_CHMOD:      plain(actMode),
	unix.SYS_CHOWN:      plain(actMode),
	unix.SYS_LCHOWN:     plain(actMode).link(),
	unix.SYS_UTIME:      plain(actTime),
	unix.SYS_UTIMES:     plain(actTime),
	unix.SYS_FUTIMESAT:  at(actTime, -1),
	unix.SYS_GETDENTS:   bare(actList).file(),
	unix.SYS_FORK:       bare(actFork),
	unix.SYS_VFORK:      bare(actFork),
}
