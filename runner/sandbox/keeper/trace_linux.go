package keeper

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// This file follows a box by ptrace where the system gives no listener. The tracer is a separate process, because it
// waits for all that it traces, which a library in a user's process must not. It hands each call to the engine in the
// form of the listener, so the engine's supervisor does not know the difference.
//
//	engine ---- keeper ---- interpreter ---- children
//	   |          |              |
//	   |        tracer . . . . . . . .  (traces)
//	   +-- calls --+
//
// The tracer traces the keeper's main thread, which has the filter, until that has started the interpreter. Processes
// that the interpreter starts are traced from their first instruction. When the tracer dies, the system kills what it
// traces. A process that asks not to be traced (CLONE_UNTRACED) does nothing unseen: the filter fails its calls with
// ENOSYS.

// tracerName is argument zero of a tracer. Argument one is the thread of the keeper.
const tracerName = "xstate-tracer"

// Constants that package syscall does not have.
const (
	prSetPtracer = 0x59616d61

	ptraceSeize          = 0x4206
	ptraceListen         = 0x4208
	ptraceGetSyscallInfo = 0x420e

	eventVforkDone = 5
	eventSeccomp   = 7
	eventStop      = 128

	optionSeccomp  = 1 << eventSeccomp
	optionExitKill = 1 << 20

	waitAll = 0x40000000 // __WALL

	retUserNotif = 0x7fc00000
	retTrace     = 0x7ff00000

	continueCall = 1 // SECCOMP_USER_NOTIF_FLAG_CONTINUE
)

// tracedCall and tracedAnswer are struct seccomp_notif and struct seccomp_notif_resp.
type tracedCall struct {
	id    uint64
	pid   uint32
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

type tracedAnswer struct {
	id    uint64
	value int64
	errno int32 // negative
	flags uint32
}

// tracePath is looked up by the keeper to see whether its calls reach the tracer, which answers traceErrno. An outer
// filter that has a listener is asked in the place of the tracer.
const (
	tracePath  = "/.xstate/trace"
	traceErrno = syscall.EXFULL
)

func init() {
	if len(os.Args) == 2 && os.Args[0] == tracerName {
		runtime.LockOSThread() // a tracee obeys one thread only
		thread, err := strconv.Atoi(os.Args[1])
		if err != nil {
			exit(125)
		}
		t := &tracer{calls: 3, keeper: thread}
		exit(t.trace())
	}
}

// startTracer starts a tracer that traces this thread. It returns its process, and the socket on which it hands over
// calls.
func startTracer() (pid, calls int, err error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, -1, err
	}
	defer syscall.Close(pair[1])
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, -1, err
	}
	defer syscall.Close(null)
	pid, err = syscall.ForkExec("/proc/self/exe", []string{tracerName, strconv.Itoa(syscall.Gettid())},
		&syscall.ProcAttr{
			Files: []uintptr{uintptr(null), uintptr(null), uintptr(null), uintptr(pair[1])},
			Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
		})
	if err != nil {
		return 0, -1, err
	}
	prctl(prSetPtracer, uintptr(pid)) // Yama lets only an ancestor trace otherwise
	var answer [1]byte
	if _, err := syscall.Write(pair[0], answer[:]); err != nil {
		return 0, -1, err
	}
	if n, err := syscall.Read(pair[0], answer[:]); err != nil || n == 0 {
		return 0, -1, syscall.EPIPE
	}
	if answer[0] != 0 {
		return 0, -1, syscall.Errno(answer[0])
	}
	return pid, pair[0], nil
}

// asTraced makes a filter stop for the tracer instead of asking a listener.
func asTraced(filter []byte) {
	for i := 0; i+8 <= len(filter); i += 8 {
		code := *(*uint16)(unsafe.Pointer(&filter[i]))
		value := (*uint32)(unsafe.Pointer(&filter[i+4]))
		if code == syscall.BPF_RET|syscall.BPF_K && *value == retUserNotif {
			*value = retTrace
		}
	}
}

// isTraced says whether a call of this thread reaches the tracer.
func isTraced() bool {
	path := append([]byte(tracePath), 0)
	at := -100 // AT_FDCWD
	_, _, errno := syscall.RawSyscall6(syscall.SYS_FACCESSAT, uintptr(at),
		uintptr(unsafe.Pointer(&path[0])), 0, 0, 0, 0)
	return errno == traceErrno
}

// tracer is the state of a tracer.
type tracer struct {
	calls  int // the socket to the engine; the keeper has its other end first
	keeper int // the keeper's main thread
	tested bool
}

// trace follows the box until nothing of it is left.
func (t *tracer) trace() int {
	var b [1]byte
	if n, err := syscall.Read(t.calls, b[:]); err != nil || n == 0 {
		return 125
	}
	options := optionSeccomp | optionExitKill | syscall.PTRACE_O_TRACEFORK | syscall.PTRACE_O_TRACEVFORK |
		syscall.PTRACE_O_TRACECLONE | syscall.PTRACE_O_TRACEEXEC | syscall.PTRACE_O_TRACEVFORKDONE
	b[0] = byte(ptrace(ptraceSeize, t.keeper, 0, uintptr(options)))
	if _, err := syscall.Write(t.calls, b[:]); err != nil || b[0] != 0 {
		return 125
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, waitAll, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 0
		case status.Stopped() && !t.stopped(pid, status):
			return 1
		}
	}
}

// stopped lets a thread continue. It returns false if the engine is gone.
func (t *tracer) stopped(pid int, status syscall.WaitStatus) bool {
	signal := status.StopSignal()
	switch event := int(status) >> 16; {
	case event == eventSeccomp:
		if !t.ask(pid) {
			return false
		}
		ptrace(syscall.PTRACE_CONT, pid, 0, 0)
	case event == eventVforkDone && pid == t.keeper:
		ptrace(syscall.PTRACE_DETACH, pid, 0, 0)
	case event == eventStop && (signal == syscall.SIGSTOP || signal == syscall.SIGTSTP || signal == syscall.SIGTTIN ||
		signal == syscall.SIGTTOU):
		ptrace(ptraceListen, pid, 0, 0) // it stays stopped until SIGCONT
	case event != 0:
		ptrace(syscall.PTRACE_CONT, pid, 0, 0)
	default:
		ptrace(syscall.PTRACE_CONT, pid, 0, uintptr(signal))
	}
	return true
}

// ask hands the call for which a thread stopped to the engine, and does what it answers. A thread that was killed
// meanwhile fails each request, and its number is not used again before the tracer has waited for it.
func (t *tracer) ask(pid int) bool {
	var info struct { // struct ptrace_syscall_info
		op       uint8
		_        [3]uint8
		arch     uint32
		ip, _    uint64
		nr       uint64
		args     [6]uint64
		data     uint32
		reserved uint32
	}
	if ptrace(ptraceGetSyscallInfo, pid, unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info))) != 0 {
		return true
	}
	if !t.tested && pid == t.keeper && info.nr == syscall.SYS_FACCESSAT {
		t.tested = true
		skip(pid, -int64(traceErrno))
		return true
	}
	call := tracedCall{pid: uint32(pid), nr: int32(info.nr), arch: info.arch, ip: info.ip, args: info.args}
	if !t.write(unsafe.Slice((*byte)(unsafe.Pointer(&call)), unsafe.Sizeof(call))) {
		return false
	}
	var answer tracedAnswer
	if !t.read(unsafe.Slice((*byte)(unsafe.Pointer(&answer)), unsafe.Sizeof(answer))) {
		return false
	}
	switch {
	case answer.flags&continueCall != 0:
	case answer.errno != 0:
		skip(pid, int64(answer.errno))
	default:
		skip(pid, answer.value)
	}
	return true
}

func (t *tracer) write(p []byte) bool {
	for {
		n, err := syscall.Write(t.calls, p)
		if err != syscall.EINTR {
			return err == nil && n == len(p)
		}
	}
}

func (t *tracer) read(p []byte) bool {
	for {
		n, err := syscall.Read(t.calls, p)
		if err != syscall.EINTR {
			return err == nil && n == len(p)
		}
	}
}

func ptrace(request, pid int, address, data uintptr) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, uintptr(request), uintptr(pid), address, data, 0, 0)
	return errno
}
