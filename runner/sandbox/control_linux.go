package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// refusal says that the keeper cannot do what it is asked.
type refusal struct {
	step string
	err  error
}

func (r *refusal) Error() string { return fmt.Sprintf("start in a sandbox: %s: %v", r.step, r.err) }

func (r *refusal) Unwrap() error { return r.err }

// receiveMessage takes a message from a socket, and what comes with it.
func receiveMessage(f *os.File, data, rights []byte) (n, m int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	e := raw.Read(func(fd uintptr) bool {
		n, m, _, _, err = unix.Recvmsg(int(fd), data, rights, unix.MSG_CMSG_CLOEXEC)
		return err != unix.EAGAIN && err != unix.EINTR
	})
	if e != nil {
		err = e
	}
	return n, m, err
}

// passed returns the descriptor that came with a message.
func passed(rights []byte) (fd int, ok bool) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) == 0 {
		return -1, false
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return -1, false
	}
	return fds[0], true
}
