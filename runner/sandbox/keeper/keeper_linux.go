package keeper

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// Constants that package syscall does not have. This package does without golang.org/x/sys, see doc.go.
const (
	prSetName           = 15
	prSetDumpable       = 4
	prSetNoNewPrivs     = 38
	prSetChildSubreaper = 36

	setModeFilter = 1
	newListener   = 1 << 3
	waitKillable  = 1 << 5
)

func init() {
	if len(os.Args) == 2 && os.Args[0] == Name {
		// The system starts threads that the runtime needs from a template thread, which the filter does not reach.
		runtime.LockOSThread()
		keep()
	}
}

// keeper is the state of a keeper. The main thread does what needs the filter; talk and reap do the rest.
type keeper struct {
	control int
	setup   Setup
	tracer  int // the process that traces the box; 0: none
	calls   int // the tracer's socket
}

func keep() {
	number, err := strconv.Atoi(os.Args[1])
	if err != nil {
		os.Exit(125)
	}
	k := &keeper{control: number}
	syscall.CloseOnExec(number)
	name := append([]byte(Name), 0)
	prctl(prSetName, uintptr(unsafe.Pointer(&name[0])))
	prctl(prSetChildSubreaper, 1)
	if !k.receiveSetup() {
		os.Exit(125)
	}
	if k.setup.Trace {
		var err error
		if k.tracer, k.calls, err = startTracer(); err != nil {
			k.fail("filter", err)
		}
	}
	if err := restrict(&k.setup); err != nil {
		k.fail("restrict", err)
	}
	// An unfiltered thread sends: a filter may ask the engine about calls that send.
	filtered, sent := make(chan filterResult), make(chan bool)
	go func() { sent <- k.announce(<-filtered) }()
	result := k.filter()
	filtered <- result
	if !<-sent || k.setup.Probe {
		os.Exit(0)
	}
	k.run()
}

// receiveSetup reads the length of the setup, four bytes, and the setup.
func (k *keeper) receiveSetup() bool {
	var head [4]byte
	if !k.read(head[:]) {
		return false
	}
	data := make([]byte, uint32(head[0])|uint32(head[1])<<8|uint32(head[2])<<16|uint32(head[3])<<24)
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
	return syscall.Sendmsg(k.control, r.encode(), rights, nil, 0) == nil
}

func (k *keeper) fail(step string, err error) {
	number, _ := err.(syscall.Errno)
	k.send(Reply{Step: step, Errno: int(number)}, -1)
	os.Exit(125)
}

// filterResult is what became of the filter: its listener, or why there is none.
type filterResult struct {
	listener int
	killable bool
	err      error
}

// filter puts the filter on this thread. An older system does not know every flag.
func (k *keeper) filter() filterResult {
	if len(k.setup.Filter) == 0 {
		return filterResult{listener: -1}
	}
	if errno := prctl(prSetNoNewPrivs, 1); errno != 0 {
		return filterResult{listener: -1, err: errno}
	}
	if k.setup.Trace {
		return k.traced()
	}
	if !k.setup.Listen {
		_, errno := seccomp(k.setup.Filter, 0)
		return filterResult{listener: -1, err: asError(errno)}
	}
	fd, errno := seccomp(k.setup.Filter, newListener|waitKillable)
	killable := errno == 0
	if errno == syscall.EINVAL {
		fd, errno = seccomp(k.setup.Filter, newListener)
	}
	if errno != 0 {
		return filterResult{listener: -1, err: errno}
	}
	return filterResult{listener: fd, killable: killable}
}

// traced puts on a filter that stops for the tracer.
func (k *keeper) traced() filterResult {
	asTraced(k.setup.Filter)
	if _, errno := seccomp(k.setup.Filter, 0); errno != 0 {
		return filterResult{listener: -1, err: errno}
	}
	if !isTraced() {
		return filterResult{listener: -1, err: syscall.ENOSYS}
	}
	return filterResult{listener: k.calls, killable: true}
}

// announce sends the listener, and waits until the supervisor listens.
func (k *keeper) announce(r filterResult) bool {
	if r.err != nil {
		k.fail("filter", r.err)
	}
	if !k.send(Reply{Killable: r.killable, Tracer: k.tracer}, r.listener) {
		return false
	}
	if r.listener >= 0 {
		syscall.Close(r.listener)
	}
	var begin [1]byte
	return k.read(begin[:])
}

// run starts the interpreter from this thread, and follows it. It does not return.
func (k *keeper) run() {
	files := make([]uintptr, k.setup.Files)
	for i := range files {
		files[i] = uintptr(i)
	}
	pid, err := syscall.ForkExec(k.setup.Path, k.setup.Args, &syscall.ProcAttr{
		Dir: k.setup.Dir, Env: k.setup.Env, Files: files,
		Sys: &syscall.SysProcAttr{Setpgid: k.setup.Group, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		done := make(chan bool)
		go func() { k.fail("start", err); done <- true }()
		<-done
	}
	prctl(prSetDumpable, 0) // the programs of the box do not look into the keeper
	go k.follow(pid)
	select {}
}

// follow runs on other threads than run.
func (k *keeper) follow(pid int) {
	k.release()
	if !k.send(Reply{Pid: pid}, -1) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	go func() {
		var b [1]byte
		for k.read(b[:]) {
		}
		endAll(os.Getpid()) // the engine is gone, or wants the end
	}()
	end(reap(pid))
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
	ended := false
	for {
		got, err := syscall.Wait4(-1, &s, 0, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return status // there are no processes left
		}
		if got == pid {
			status, ended = s, true
		}
		if ended {
			endAll(os.Getpid())
		}
	}
}

// endAll kills all processes below a process. It stops each before it looks for its children, so that none are added
// meanwhile. What was missed is found when its parent has died: then it is a child of the keeper.
func endAll(of int) {
	for _, pid := range Descendants(of, func(pid int) { syscall.Kill(pid, syscall.SIGSTOP) }) {
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
		syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(syscall.Gettid()), uintptr(status.Signal()))
		os.Exit(128 + int(status.Signal()))
	}
	os.Exit(status.ExitStatus())
}

func prctl(option, argument uintptr) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, option, argument, 0, 0, 0, 0)
	return errno
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

func asError(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}
