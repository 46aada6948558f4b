package sandbox

import "golang.org/x/sys/unix"

// A call of Linux that golang.org/x/sys does not name.
const sysFileGetattr = 468

// shapes are the calls that the supervisor sees, by number. All processors share those in common; each adds its own.
var shapes = table(map[int]shape{
	unix.SYS_OPENAT:            at(actOpen, 2),
	unix.SYS_OPENAT2:           at(actOpenHow, -1),
	unix.SYS_STATX:             at(actLook, 2),
	unix.SYS_FACCESSAT:         at(actLook, -1),
	unix.SYS_FACCESSAT2:        at(actLook, 3),
	unix.SYS_READLINKAT:        at(actLook, -1).link(),
	unix.SYS_STATFS:            plain(actLook),
	unix.SYS_CHDIR:             plain(actLook),
	unix.SYS_INOTIFY_ADD_WATCH: at(actLook, -1).inotify(),
	unix.SYS_FANOTIFY_MARK:     {act: actLook, folder: 3, path: 4, folder2: -1, path2: -1, flags: -1},
	unix.SYS_NAME_TO_HANDLE_AT: at(actLook, 4).link(),
	unix.SYS_GETXATTR:          plain(actLook),
	unix.SYS_LGETXATTR:         plain(actLook).link(),
	unix.SYS_LISTXATTR:         plain(actLook),
	unix.SYS_LLISTXATTR:        plain(actLook).link(),
	unix.SYS_GETXATTRAT:        at(actLook, 2),
	unix.SYS_LISTXATTRAT:       at(actLook, 2),
	sysFileGetattr:             at(actLook, 4),

	unix.SYS_EXECVE:   plain(actExec),
	unix.SYS_EXECVEAT: at(actExec, 4),

	unix.SYS_GETDENTS64: bare(actList).file(),

	unix.SYS_MKDIRAT:   at(actMake, -1).link(),
	unix.SYS_MKNODAT:   at(actMake, -1).link(),
	unix.SYS_UNLINKAT:  at(actRemove, -1).link(),
	unix.SYS_RENAMEAT2: two(actRename, 0, 1, 2, 3).withFlags(4),
	unix.SYS_LINKAT:    two(actLink, 0, 1, 2, 3).withFlags(4),
	unix.SYS_SYMLINKAT: at(actSymlink, -1).target(1, 2).link(),

	unix.SYS_TRUNCATE:      plain(actTruncate),
	unix.SYS_FCHMODAT:      at(actMode, -1),
	unix.SYS_FCHMODAT2:     at(actMode, 3),
	unix.SYS_FCHMOD:        bare(actMode).file(),
	unix.SYS_FCHOWNAT:      at(actMode, 4),
	unix.SYS_FCHOWN:        bare(actMode).file(),
	unix.SYS_SETXATTR:      plain(actMode),
	unix.SYS_LSETXATTR:     plain(actMode).link(),
	unix.SYS_FSETXATTR:     bare(actMode).file(),
	unix.SYS_REMOVEXATTR:   plain(actMode),
	unix.SYS_LREMOVEXATTR:  plain(actMode).link(),
	unix.SYS_FREMOVEXATTR:  bare(actMode).file(),
	unix.SYS_SETXATTRAT:    at(actMode, 2),
	unix.SYS_REMOVEXATTRAT: at(actMode, 2),
	unix.SYS_FILE_SETATTR:  at(actMode, 4),
	unix.SYS_UTIMENSAT:     at(actTime, 3),

	unix.SYS_CHROOT:            plain(actChroot),
	unix.SYS_PIVOT_ROOT:        bare(actMount),
	unix.SYS_MOUNT:             bare(actMount),
	unix.SYS_UMOUNT2:           bare(actMount),
	unix.SYS_MOVE_MOUNT:        bare(actMount),
	unix.SYS_OPEN_TREE:         at(actLook, 2),
	unix.SYS_OPEN_TREE_ATTR:    at(actLook, 2),
	unix.SYS_FSMOUNT:           bare(actMount),
	unix.SYS_OPEN_BY_HANDLE_AT: bare(actHandle),

	unix.SYS_CONNECT: bare(actConnect),
	unix.SYS_BIND:    bare(actBind),
	unix.SYS_LISTEN:  bare(actListen),
	unix.SYS_SENDTO:  bare(actConnect),

	unix.SYS_SHMGET:  bare(actShared),
	unix.SYS_SEMGET:  bare(actShared),
	unix.SYS_MSGGET:  bare(actShared),
	unix.SYS_MQ_OPEN: bare(actShared),

	unix.SYS_CLONE:  bare(actFork),
	unix.SYS_CLONE3: bare(actFork),
})

// table puts the shapes that all processors have and those of this one where their numbers are.
func table(common map[int]shape) *[512]shape {
	var t [512]shape
	for number, s := range common {
		t[number] = s
	}
	for number, s := range ownShapes {
		t[number] = s
	}
	return &t
}
