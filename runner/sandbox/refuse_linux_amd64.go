package sandbox

import "golang.org/x/sys/unix"

// ownRefused are refused calls that this processor alone has.
var ownRefused = []int{unix.SYS_IOPERM, unix.SYS_IOPL, unix.SYS_USELIB, unix.SYS__SYSCTL, unix.SYS_CREATE_MODULE}
