package sandbox

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/xstate-engine/xstate/runner/sandbox/keeper"
	"golang.org/x/sys/unix"
)

// Fork starts an interpreter in a box without bounds. A template forks it, which waits at the other end of door, and
// forks a keeper for it first; see package python. The interpreter gets files, in their order. It fails with
// errors.ErrUnsupported where a filter is in the way.
func Fork(door *os.File, files []*os.File, s Spec) (*Box, error) {
	b := &Box{spec: s, level: LevelCalls, kept: true, forked: true}
	theirs, err := b.openControl()
	if err != nil {
		return nil, err
	}
	rights := []int{int(theirs.Fd())}
	for _, f := range files {
		rights = append(rights, int(f.Fd()))
	}
	// The keeper puts its own number into the filter.
	program := encode(filter(unix.SECCOMP_RET_USER_NOTIF, keeper.Thread, nil))
	err = unix.Sendmsg(int(door.Fd()), program, unix.UnixRights(rights...), nil, unix.MSG_NOSIGNAL)
	theirs.Close()
	listener := -1
	var keeperPid int
	if err == nil {
		keeperPid, listener, err = b.begun()
	}
	if err != nil {
		b.control.Close()
		return nil, &refusal{"keeper", err}
	}
	b.observe(newListener(listener), keeperPid, 0)
	b.follow()
	return b, nil
}

// begun takes the first message of a forked interpreter: see Begun in runner/kernel/python/native/template.h.
func (b *Box) begun() (keeperPid, listener int, err error) {
	data, rights := make([]byte, 16), make([]byte, unix.CmsgSpace(4))
	n, m, err := receiveMessage(b.control, data, rights)
	if err == nil && n < len(data) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, -1, err
	}
	number := func(i int) int { return int(int32(binary.LittleEndian.Uint32(data[4*i:]))) }
	if e := number(2); e != 0 {
		return 0, -1, errors.Join(errors.ErrUnsupported, syscall.Errno(e))
	}
	listener, ok := passed(rights[:m])
	if !ok {
		return 0, -1, errors.New("the listener did not come")
	}
	if b.pid = number(1); number(3) == 0 {
		b.degraded = append(b.degraded, "signals interrupt observed calls")
	}
	return number(0), listener, nil
}
