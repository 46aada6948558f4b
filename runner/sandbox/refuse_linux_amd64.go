package sandbox

import "golang.org/x/sys/unix"

// ownRefused are refused calls that this processor alone has.
var ownRefused = []int{unix.SYS_IOPERM, unix.SYS_IOPL, unix.SYS_USELIB, unix.SYS__SYSCTL, unix.SYS_CREATE_MODULE}

var ownModes = []struct{ number, arg int }{
	{unix.SYS_OPEN, 2}, {unix.SYS_CREAT, 1}, {unix.SYS_MKNOD, 1}, {unix.SYS_CHMOD, 1},
}
