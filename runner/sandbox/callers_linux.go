package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification and response are struct seccomp_notif and seccomp_notif_resp.
type notification struct {
	ID     uint64
	Tid    uint32
	Flags  uint32
	Number int32
	Arch   uint32
	IP     uint64
	Args   [6]uint64
}

type response struct {
	ID    uint64
	Value int64
	Error int32
	Flags uint32
}

// callers is where the calls of a box come from: each waits for an answer.
type callers interface {
	// receive waits for a call. It is false when no process is left.
	receive(*notification) bool
	// valid reports whether the caller still waits: then what was read belongs to it, and to no later process.
	valid(*notification) bool
	answer(*response)
	close()
}

// listener is the listener of a filter.
type listener int

func newListener(fd int) listener {
	// Since Linux 6.6 the caller and this thread can share a processor, which halves the time of a call.
	_, _, _ = unix.RawSyscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS,
		unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	return listener(fd)
}

func (l listener) receive(n *notification) bool {
	for {
		*n = notification{}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l), unix.SECCOMP_IOCTL_NOTIF_RECV,
			uintptr(unsafe.Pointer(n)))
		switch errno {
		case 0:
			return true
		case unix.EINTR, unix.ENOENT:
			// A caller was killed, or all have ended.
			if l.hungUp() {
				return false
			}
		default:
			return false
		}
	}
}

// hungUp reports whether no process has the filter any more.
func (l listener) hungUp() bool {
	p := []unix.PollFd{{Fd: int32(l), Events: unix.POLLIN}}
	n, err := unix.Poll(p, 0)
	return err == nil && n > 0 && p[0].Revents&unix.POLLHUP != 0
}

func (l listener) valid(n *notification) bool {
	return ioctl(int(l), unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.ID)) == 0
}

func (l listener) answer(r *response) {
	ioctl(int(l), unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(r))
}

func (l listener) close() { unix.Close(int(l)) }

func ioctl(fd int, request uint, p unsafe.Pointer) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(p))
	return errno
}

// traced is the socket on which the tracer of a keeper hands over calls. It has one at a time.
type traced int

func (t traced) receive(n *notification) bool {
	*n = notification{}
	for {
		got, err := unix.Read(int(t), unsafe.Slice((*byte)(unsafe.Pointer(n)), unsafe.Sizeof(*n)))
		if err != unix.EINTR {
			return err == nil && got == int(unsafe.Sizeof(*n))
		}
	}
}

// valid is true: the number of a caller is not used again before the tracer has waited for it.
func (traced) valid(*notification) bool { return true }

func (t traced) answer(r *response) {
	for {
		_, err := unix.Write(int(t), unsafe.Slice((*byte)(unsafe.Pointer(r)), unsafe.Sizeof(*r)))
		if err != unix.EINTR {
			return // a tracer that is gone is seen by receive
		}
	}
}

func (t traced) close() { unix.Close(int(t)) }
