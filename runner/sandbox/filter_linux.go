package sandbox

import (
	"encoding/binary"
	"github.com/xstate-engine/xstate/runner/sandbox/keeper"
	"slices"

	"golang.org/x/sys/unix"
)

// Where a filter finds the parts of a call: struct seccomp_data. Words are little endian on all processors that a box
// supports.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// loadArg loads the low word of an argument.
func loadArg(i int) unix.SockFilter { return load(offArgs + 8*uint32(i)) }

// jump skips yes instructions where the comparison holds, and no where not.
func jump(how uint16, k uint32, yes, no int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | how | unix.BPF_K, K: k, Jt: uint8(yes), Jf: uint8(no)}
}

func equal(k uint32, yes, no int) unix.SockFilter { return jump(unix.BPF_JEQ, k, yes, no) }

func giveBack(k uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k}
}

func giveError(errno unix.Errno) unix.SockFilter {
	return giveBack(unix.SECCOMP_RET_ERRNO | uint32(errno))
}

// onCall applies instructions to one call. They end in a return; the word of the call's number is loaded before and
// need not be after.
func onCall(number int, body ...unix.SockFilter) []unix.SockFilter {
	return append([]unix.SockFilter{equal(uint32(number), 0, len(body))}, body...)
}

// noListener refuses a listener to the processes of a traced box, with the error that they get in any other box: where
// two filters do not agree, the system asks a listener and not the tracer.
func noListener() []unix.SockFilter {
	return onCall(unix.SYS_SECCOMP, loadArg(0), equal(unix.SECCOMP_SET_MODE_FILTER, 0, 3),
		loadArg(1), jump(unix.BPF_JSET, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, 0, 1), giveError(unix.EBUSY),
		giveBack(unix.SECCOMP_RET_ALLOW))
}

// hottest are asked first: a program makes these calls most.
var hottest = []int{unix.SYS_OPENAT, unix.SYS_READLINKAT}

// filter is the program by which the system decides about each call of a box. ask is the action for calls that the
// supervisor sees. First come the instructions of the bounds; each of these returns or leaves the number loaded.
// Processes of the box cannot signal the keeper: without it, nothing would end the processes that they leave.
func filter(ask uint32, keeperPid int, bounds []unix.SockFilter) []unix.SockFilter {
	allow := giveBack(unix.SECCOMP_RET_ALLOW)
	p := []unix.SockFilter{load(offArch), equal(ownArchitecture, 1, 0), giveBack(ask), load(offNumber)}
	if secondNumbers != 0 {
		p = append(p, jump(unix.BPF_JGE, secondNumbers, 0, 1), giveBack(ask))
	}
	p = append(p, bounds...)
	for _, number := range []int{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER} {
		p = append(p, onCall(number, giveError(unix.ENOSYS))...)
	}
	// A question about an open file has an empty path. It is by far the most frequent one, so it passes.
	for _, stat := range []struct{ number, flags int }{{statAt, 3}, {unix.SYS_STATX, 2}} {
		if stat.number == statAt && len(bounds) == 0 {
			p = append(p, equal(statAt, 0, 3), loadArg(0), equal(Unasked, 0, 1), allow, load(offNumber))
		}
		p = append(p, onCall(stat.number, loadArg(stat.flags), equal(unix.AT_EMPTY_PATH, 0, 3),
			loadArg(0), jump(unix.BPF_JSET, 1<<31, 1, 0), allow, giveBack(ask))...)
	}
	p = append(p, onCall(unix.SYS_SENDTO, loadArg(4), equal(0, 0, 2),
		load(offArgs+8*4+4), equal(0, 1, 0), giveBack(ask), allow)...)
	p = append(p, onCall(unix.SYS_CLONE, loadArg(0), jump(unix.BPF_JSET, unix.CLONE_THREAD, 0, 1),
		allow, giveBack(ask))...)
	for _, number := range []int{unix.SYS_SHMGET, unix.SYS_SEMGET, unix.SYS_MSGGET} {
		p = append(p, onCall(number, loadArg(0), equal(0, 0, 1), allow, giveBack(ask))...) // IPC_PRIVATE
	}
	for _, number := range []int{unix.SYS_KILL, unix.SYS_TKILL} { // signal 0 only asks whether there is a process
		p = append(p, onCall(number, loadArg(1), equal(0, 0, 1), allow, loadArg(0), equal(uint32(keeperPid), 1, 0),
			equal(keeper.Thread, 0, 1), giveError(unix.EPERM), allow)...)
	}
	for _, number := range []int{unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO,
		unix.SYS_PIDFD_OPEN} {
		p = append(p, onCall(number, loadArg(0), equal(uint32(keeperPid), 1, 0),
			equal(keeper.Thread, 0, 1), giveError(unix.EPERM), allow)...)
	}
	done := []int{statAt, unix.SYS_STATX, unix.SYS_SENDTO, unix.SYS_CLONE, unix.SYS_SHMGET, unix.SYS_SEMGET,
		unix.SYS_MSGGET}
	for _, number := range inOrder() {
		if !slices.Contains(done, number) {
			p = append(p, onCall(number, giveBack(ask))...)
		}
	}
	return append(p, allow)
}

// inOrder are the numbers of all calls that the supervisor sees.
func inOrder() []int {
	numbers := slices.Clone(hottest)
	for number, s := range shapes {
		if s.act != actNone && !slices.Contains(hottest, number) {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// encode puts a filter in the form in which the system reads it.
func encode(program []unix.SockFilter) []byte {
	data := make([]byte, 0, 8*len(program))
	for _, i := range program {
		data = binary.LittleEndian.AppendUint16(data, i.Code)
		data = append(data, i.Jt, i.Jf)
		data = binary.LittleEndian.AppendUint32(data, i.K)
	}
	return data
}
