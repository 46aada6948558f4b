package keeper

import (
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"unsafe"
)

func init() {
	if len(os.Args) == 2 && os.Args[0] == Name {
		// The system starts threads that the runtime needs from a template thread, which the filter does not reach.
		runtime.LockOSThread()
		keep()
	}
}

// keeper is the state of a keeper. One thread launches the interpreter; talk and reap do the rest.
type keeper struct {
	control  int
	setup    Setup
	tracer   int // the process that traces the box; 0: none
	calls    int // the tracer's socket
	filtered chan filtered
	started  chan started
	runs     atomic.Bool // the interpreter has started
}

// filtered is what became of the filter: its listener, or why there is none.
type filtered struct {
	listener int
	killable bool
	err      error
}

// started is what became of the interpreter.
type started struct {
	pid int
	err error
}

func keep() {
	number, err := strconv.Atoi(os.Args[1])
	if err != nil {
		exit(125)
	}
	// Both channels have room, so that the main thread does not wait: each change of threads takes time.
	k := &keeper{control: number, filtered: make(chan filtered, 1), started: make(chan started, 1)}
	syscall.CloseOnExec(number)
	name := append([]byte(Name), 0)
	prctl(prSetName, uintptr(unsafe.Pointer(&name[0])))
	prctl(prSetChildSubreaper, 1)
	if !k.receiveSetup() {
		exit(125)
	}
	go k.launch()
	k.talk()
}

// launch puts bounds and filter on a new thread, and starts the interpreter from it. That thread is not the first one:
// a signal to a process is checked against the bounds of its first thread, so the box cannot signal the keeper.
func (k *keeper) launch() {
	runtime.LockOSThread()
	if k.setup.Trace {
		var err error
		if k.tracer, k.calls, err = startTracer(); err != nil {
			k.fail("filter", err)
		}
	}
	if err := restrict(&k.setup); err != nil {
		k.fail("restrict", err)
	}
	aim(k.setup.Filter, syscall.Gettid())
	f := k.filter()
	k.filtered <- f
	if f.err == nil && !k.setup.Probe {
		k.started <- k.start()
	}
	select {} // the interpreter dies with this thread
}

// aim replaces Thread in a filter by the number of a thread. The constant of an instruction is its last field.
func aim(filter []byte, tid int) {
	for i := 0; i+8 <= len(filter); i += 8 {
		if k := (*uint32)(unsafe.Pointer(&filter[i+4])); *k == Thread {
			*k = uint32(tid)
		}
	}
}

func (k *keeper) receiveSetup() bool {
	head := make([]byte, 4)
	if !k.read(head) {
		return false
	}
	data := make([]byte, length(head))
	return k.read(data) && k.setup.decode(data)
}

func (k *keeper) read(p []byte) bool {
	for len(p) > 0 {
		n, err := syscall.Read(k.control, p)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return false
		}
		p = p[n:]
	}
	return true
}

// send sends a reply, and a descriptor if it is not negative.
func (k *keeper) send(r Reply, fd int) bool {
	var rights []byte
	if fd >= 0 {
		rights = syscall.UnixRights(fd)
	}
	return syscall.Sendmsg(k.control, framed(r.encode()), rights, nil, 0) == nil
}

func (k *keeper) fail(step string, err error) {
	if failed, ok := err.(stepError); ok {
		step, err = failed.step, failed.err
	}
	number, _ := err.(syscall.Errno)
	k.send(Reply{Step: step, Errno: int(number)}, -1)
	exit(125)
}

// filter puts the filter on this thread. An older system does not know every flag.
func (k *keeper) filter() filtered {
	if len(k.setup.Filter) == 0 {
		return filtered{listener: -1}
	}
	if errno := prctl(prSetNoNewPrivs, 1); errno != 0 {
		return filtered{listener: -1, err: errno}
	}
	if k.setup.Trace {
		return k.traced()
	}
	if !k.setup.Listen {
		_, errno := seccomp(k.setup.Filter, 0)
		return filtered{listener: -1, err: asError(errno)}
	}
	fd, errno := seccomp(k.setup.Filter, newListener|waitKillable)
	killable := errno == 0
	if errno == syscall.EINVAL {
		fd, errno = seccomp(k.setup.Filter, newListener)
	}
	if errno != 0 {
		return filtered{listener: -1, err: errno}
	}
	return filtered{listener: fd, killable: killable}
}

// traced puts on a filter that stops for the tracer.
func (k *keeper) traced() filtered {
	asTraced(k.setup.Filter)
	if _, errno := seccomp(k.setup.Filter, 0); errno != 0 {
		return filtered{listener: -1, err: errno}
	}
	if !isTraced() {
		return filtered{listener: -1, err: syscall.ENOSYS}
	}
	return filtered{listener: k.calls, killable: true}
}

// start starts the interpreter from this thread.
func (k *keeper) start() started {
	files := make([]uintptr, k.setup.Files)
	for i := range files {
		files[i] = uintptr(i)
	}
	closeOnExec(k.setup.Files)
	pid, err := syscall.ForkExec(k.setup.Path, k.setup.Args, &syscall.ProcAttr{
		Dir: k.setup.Dir, Env: k.setup.Env, Files: files,
		Sys: &syscall.SysProcAttr{Setpgid: k.setup.Group, Pdeathsig: syscall.SIGKILL},
	})
	if err == nil {
		prctl(prSetDumpable, 0) // the programs of the box do not look into the keeper
	}
	return started{pid, err}
}

// talk speaks with the engine and follows the interpreter. It runs on threads without filter: a filter may ask the
// engine about calls that send.
func (k *keeper) talk() {
	f := <-k.filtered
	if f.err != nil {
		k.fail("filter", f.err)
	}
	if !k.send(Reply{Killable: f.killable, Tracer: k.tracer}, f.listener) || k.setup.Probe {
		exit(0)
	}
	if f.listener >= 0 {
		syscall.Close(f.listener)
	}
	go func() {
		for b := make([]byte, 1); k.read(b); {
		}
		endAll() // the engine is gone, or wants the end
		if !k.runs.Load() {
			exit(125) // what is on the way to the interpreter may wait for an answer of the engine, and ends with this
		}
	}()
	s := <-k.started
	if s.err != nil {
		k.fail("start", s.err)
	}
	k.runs.Store(true)
	k.release()
	if !k.send(Reply{Pid: s.pid}, -1) {
		endAll() // the engine went before the interpreter came
	}
	end(reap(s.pid))
}

// release gives up what is the interpreter's: a pipe that the keeper held would never end.
func (k *keeper) release() {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	for fd := 0; fd < k.setup.Files; fd++ {
		if fd < 3 && err == nil {
			_ = syscall.Dup3(null, fd, 0)
		} else if fd != k.control {
			syscall.Close(fd)
		}
	}
	if err == nil && null >= k.setup.Files {
		syscall.Close(null)
	}
}

// reap waits for the interpreter, then ends what it left. It returns how the interpreter ended.
func reap(pid int) syscall.WaitStatus {
	var status, s syscall.WaitStatus
	ended, options := false, 0
	for {
		got, err := syscall.Wait4(-1, &s, options, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return status // no processes are left
		}
		switch {
		case got == pid:
			status, ended, options = s, true, syscall.WNOHANG
		case got == 0: // some have not ended
			endAll()
			options = 0
		case ended:
			options = syscall.WNOHANG
		}
	}
}

// endAll kills all processes below this one. It stops each before it looks for its children, so that none are added
// meanwhile. It finds a missed process when its parent has died: then it is a child of the keeper.
func endAll() {
	for _, pid := range Descendants(os.Getpid(), func(pid int) { syscall.Kill(pid, syscall.SIGSTOP) }) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// end ends this process in the way in which another one ended.
func end(status syscall.WaitStatus) {
	if status.Signaled() {
		none := syscall.Rlimit{}
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &none)
		// The runtime of Go handles most signals. The default is put back by the call itself.
		var action [4]uint64
		syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(status.Signal()),
			uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
		// The signal goes to this thread: then it has ended the process before the call returns.
		runtime.LockOSThread()
		syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(syscall.Gettid()),
			uintptr(status.Signal()))
		exit(128 + int(status.Signal()))
	}
	exit(status.ExitStatus())
}

// closeOnExec keeps descriptors from a number on from the program: this process may have inherited some from whatever
// started the engine.
func closeOnExec(first int) {
	const sysCloseRange, onExec = 436, 4
	if _, _, errno := syscall.RawSyscall(sysCloseRange, uintptr(first), 1<<32-1, onExec); errno == 0 {
		return
	}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if fd := number(e.Name()); fd >= first {
			syscall.CloseOnExec(fd)
		}
	}
}

// seccomp puts a filter on this thread.
func seccomp(filter []byte, flags uintptr) (int, syscall.Errno) {
	program := struct {
		length uint16
		first  *byte
	}{uint16(len(filter) / 8), &filter[0]}
	fd, _, errno := syscall.RawSyscall(sysSeccomp, setModeFilter, flags, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	return int(fd), errno
}
