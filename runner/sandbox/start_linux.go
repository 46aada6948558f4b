package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/xstate-engine/xstate/runner/sandbox/keeper"
	"github.com/xstate-engine/xstate/runner/sandbox/proxy"
	"golang.org/x/sys/unix"
)

// Box is an interpreter with all processes that it starts.
type Box struct {
	spec     Spec
	level    Level
	degraded []string
	bounds   *enforcement
	recorder *recorder // nil: the box is bounded, or not recorded
	cmd      *exec.Cmd // the keeper; without one, the interpreter
	kept     bool      // there is a keeper
	forked   bool      // a template forked the interpreter, so cmd is nil
	pid      int
	program  string
	control  *os.File
	unread   []byte        // unread part of the keeper's replies
	super    *supervisor   // nil: the box is not observed
	ended    atomic.Bool   // the interpreter has been reaped
	followed chan struct{} // closed when nothing of the box is left
	once     sync.Once
	exit     error
}

// Start starts a command in a box: its program, arguments, environment, folder, files, and whether it has its own
// process group. Nothing else of the command is used. Where the system does not offer the level that s asks for, the
// level is lower: see Level.
func Start(cmd *exec.Cmd, s Spec) (*Box, error) {
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	for _, level := range []Level{LevelCalls, LevelTrace} {
		if s.Observe != "" && s.Observe != level {
			continue
		}
		b, err := start(cmd, s, level)
		if refused := (*refusal)(nil); !errors.As(err, &refused) || refused.step != "filter" {
			return b, err
		}
	}
	b, err := start(cmd, s, LevelHooks)
	if refused := (*refusal)(nil); errors.As(err, &refused) && refused.step == "keeper" && s.Bounds == nil {
		return plainly(cmd, s)
	}
	return b, err
}

// start starts a command below a keeper.
func start(cmd *exec.Cmd, s Spec, level Level) (*Box, error) {
	b := &Box{spec: s, level: level, kept: true, program: cmd.Path}
	bounds, err := enforce(s, level)
	if err != nil {
		return nil, err
	}
	b.bounds, b.degraded = &bounds, bounds.degraded
	if b.recorder, err = newRecorder(s, level == LevelHooks); err != nil {
		return nil, err
	}
	if bounds.launch != nil {
		if cmd, err = bounds.launch.wrap(cmd, &bounds.guard.allowed); err != nil {
			bounds.close()
			return nil, err
		}
	}
	theirs, err := b.startKeeper(cmd)
	if err != nil {
		b.recorder.close()
		bounds.close()
		return nil, err
	}
	theirs.Close()
	if err := b.setUp(cmd); err != nil {
		b.recorder.close()
		b.control.Close()
		_ = b.cmd.Process.Kill()
		_ = b.cmd.Wait()
		bounds.close()
		b.endRest()
		return nil, err
	}
	return b, nil
}

// startKeeper starts this program again, as the keeper. It passes the files of the command, which the interpreter
// inherits, and behind them the control socket.
func (b *Box) startKeeper(cmd *exec.Cmd) (theirs *os.File, err error) {
	if theirs, err = b.openControl(); err != nil {
		return nil, err
	}
	b.cmd = &exec.Cmd{
		// The program may have been replaced meanwhile: this path leads to the one that runs.
		Path: "/proc/self/exe", Args: []string{keeper.Name, strconv.Itoa(3 + len(cmd.ExtraFiles))},
		Env:   []string{"GOGC=off", keeper.Processors},
		Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr, WaitDelay: cmd.WaitDelay,
		ExtraFiles:  append(append([]*os.File(nil), cmd.ExtraFiles...), theirs),
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if b.bounds != nil {
		b.bounds.prepare(b.cmd)
	}
	if err := b.cmd.Start(); err != nil {
		b.control.Close()
		theirs.Close()
		return nil, &refusal{"keeper", err}
	}
	return theirs, nil
}

// setUp sends the keeper the command to start, takes the listener, starts the supervisor, and takes the interpreter's
// number.
func (b *Box) setUp(cmd *exec.Cmd) error {
	bounds := b.bounds
	setup := keeper.Setup{
		Path: cmd.Path, Args: cmd.Args, Env: b.recorder.environ(bounds.environ(cmd.Environ(), b.spec), b.spec),
		Dir:   cmd.Dir,
		Files: 3 + len(cmd.ExtraFiles),
		Group: cmd.SysProcAttr != nil && cmd.SysProcAttr.Setpgid, Bounds: bounds.setup(),
	}
	if b.level != LevelHooks {
		setup.Listen, setup.Trace = b.level == LevelCalls, b.level == LevelTrace
		if setup.Trace {
			bounds.filter = append(noListener(), bounds.filter...)
		}
		setup.Filter = encode(filter(unix.SECCOMP_RET_USER_NOTIF, b.cmd.Process.Pid, bounds.filter))
	} else if bounds.filter != nil {
		setup.Filter = encode(filter(unix.SECCOMP_RET_ALLOW, b.cmd.Process.Pid, bounds.filter))
	}
	listener, tracer, err := b.install(setup)
	if err == nil {
		err = bounds.installed()
	}
	if err != nil {
		return err
	}
	bounds.attach(b.cmd.Process.Pid)
	if listener >= 0 {
		var calls callers = traced(listener)
		if b.level == LevelCalls {
			calls = newListener(listener)
		}
		b.observe(calls, b.cmd.Process.Pid, tracer)
	}
	r, _, err := b.receive()
	if err != nil {
		return err
	}
	b.pid = r.Pid
	if bounds.launch != nil {
		if b.pid, err = bounds.launch.started(); err != nil {
			return err
		}
		if b.super != nil {
			b.super.launched(b.pid)
		}
	}
	bounds.started(b.Kill)
	b.follow()
	return nil
}

// openControl makes the control socket. The keeper gets theirs.
func (b *Box) openControl() (theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, &refusal{"keeper", err}
	}
	// Only this side has the runtime's poller: to wait for a message, or for the end of the keeper, takes no thread.
	_ = unix.SetNonblock(pair[0], true)
	b.control = os.NewFile(uintptr(pair[0]), "control")
	return os.NewFile(uintptr(pair[1]), "control"), nil
}

// observe starts the supervisor of what a keeper starts.
func (b *Box) observe(calls callers, keeperPid, tracer int) {
	var g *guard
	if b.bounds != nil {
		g = b.bounds.guard
	}
	b.super = newSupervisor(b.spec, calls, g, keeperPid)
	b.super.tracer, b.super.recorder = tracer, b.recorder
	go b.super.serve()
}

// follow waits for the end of the keeper, beside its caller. If it was killed, it left processes, which may hold the
// pipes that Wait reads.
func (b *Box) follow() {
	b.followed = make(chan struct{})
	go func() {
		defer close(b.followed)
		said, _ := io.ReadAll(io.LimitReader(b.control, 4))
		b.ended.Store(true)
		if b.forked {
			b.exit = exitOf(said)
		}
		b.endRest()
	}()
}

// endRest ends what a keeper left.
func (b *Box) endRest() {
	switch {
	case b.super != nil:
		b.super.endRest()
	case b.pid != 0:
		_ = syscall.Kill(-b.pid, syscall.SIGKILL) // without observation only the orphans of the group are known
	}
}

// install sends a setup. It returns the listener, or the socket of the tracer and its process; -1: there is none.
func (b *Box) install(setup keeper.Setup) (listener, tracer int, err error) {
	if _, err := b.control.Write(setup.Encode()); err != nil {
		return -1, 0, &refusal{"keeper", err}
	}
	r, listener, err := b.receive()
	if err == nil && listener >= 0 && !r.Killable {
		b.degraded = append(b.degraded, "signals interrupt observed calls")
	}
	return listener, r.Tracer, err
}

// receive reads one reply of the keeper, and a descriptor if it comes with one.
func (b *Box) receive() (r keeper.Reply, fd int, err error) {
	fd = -1
	data, rights := make([]byte, 4096), make([]byte, unix.CmsgSpace(4))
	for {
		rest, ok := r.Decode(b.unread)
		if ok {
			b.unread = rest
			return r, fd, refused(r, b.program)
		}
		n, m, err := receiveMessage(b.control, data, rights)
		if err == nil && n == 0 {
			err = errors.New("it ended")
		}
		if err != nil {
			return r, fd, &refusal{"keeper", err}
		}
		b.unread = append(b.unread, data[:n]...)
		if came, ok := passed(rights[:m]); ok {
			fd = came
		}
	}
}

// refused is the error in a reply.
func refused(r keeper.Reply, path string) error {
	switch r.Step {
	case "":
		return nil
	case "start":
		return &os.PathError{Op: "fork/exec", Path: path, Err: syscall.Errno(r.Errno)}
	}
	return &refusal{r.Step, syscall.Errno(r.Errno)}
}

// plainly starts a command without a keeper.
func plainly(cmd *exec.Cmd, s Spec) (*Box, error) {
	b := &Box{spec: s, level: LevelHooks, cmd: cmd, degraded: []string{"orphans are not ended"}}
	var err error
	if b.recorder, err = newRecorder(s, true); err != nil {
		return nil, err
	}
	cmd.Env = b.recorder.environ(cmd.Environ(), s)
	if err := cmd.Start(); err != nil {
		b.recorder.close()
		return nil, err
	}
	b.pid = cmd.Process.Pid
	return b, nil
}

// Pid is the process id of the interpreter.
func (b *Box) Pid() int { return b.pid }

// Level is how far the box is observed.
func (b *Box) Level() Level { return b.level }

// Degraded names what of the bounds, and of the observation, the system does not offer.
func (b *Box) Degraded() []string { return b.degraded }

// Wait waits until all processes of the box have ended. Its error is that of (*exec.Cmd).Wait of the interpreter.
func (b *Box) Wait() error {
	b.once.Do(func() {
		if !b.forked {
			b.exit = b.cmd.Wait()
			b.ended.Store(true)
		}
		if b.kept {
			<-b.followed
			b.control.Close()
		}
		b.recorder.close()
		if b.bounds != nil {
			b.bounds.close()
		}
	})
	return b.exit
}

// Kill ends every process of the box at once.
func (b *Box) Kill() {
	if b.ended.Load() {
		return // the number may be another process' by now
	}
	_ = syscall.Kill(b.pid, syscall.SIGKILL)
	_ = syscall.Kill(-b.pid, syscall.SIGKILL)
	if b.kept {
		if raw, err := b.control.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
		}
	}
}

// Exceeded says which limit ended the box; nil: none did.
func (b *Box) Exceeded() *Denial {
	if b.bounds == nil || b.bounds.guard == nil {
		return nil
	}
	return b.bounds.guard.watch.why()
}

// Handle says what answers the requests of the box from now on, if they are recorded; nil: they are refused.
func (b *Box) Handle(h proxy.Handler) {
	if b.recorder != nil {
		b.recorder.proxy.Handle(h)
	} else if b.spec.Record != nil && b.bounds != nil && b.bounds.proxy != nil {
		b.bounds.proxy.Handle(h)
	}
}

// Take returns what was done between the marks of a node. It waits for the second mark. If all processes end before,
// it returns what was seen, and ErrEnded. A box that is not observed has empty reports.
func (b *Box) Take(ctx context.Context, node int) (Report, error) {
	if b.super == nil {
		r := newNotes(node).report
		if b.recorder != nil {
			b.recorder.take(&r)
		}
		return r, nil
	}
	stop := context.AfterFunc(ctx, b.super.wake)
	defer stop()
	return b.super.take(node, ctx.Err)
}

// Probe reports the level that this machine offers, and why no better one.
func Probe() (Level, string) { return probe() }

var probe = sync.OnceValues(func() (Level, string) {
	reason := ""
	for _, level := range []Level{LevelCalls, LevelTrace} {
		err := probeLevel(level)
		if err == nil {
			return level, reason
		}
		reason = err.Error()
	}
	return LevelHooks, reason
})

func probeLevel(level Level) error {
	b := &Box{level: level, kept: true}
	theirs, err := b.startKeeper(&exec.Cmd{})
	if err != nil {
		return err
	}
	theirs.Close()
	listener, _, err := b.install(keeper.Setup{
		Probe: true, Listen: level == LevelCalls, Trace: level == LevelTrace,
		Filter: encode(filter(unix.SECCOMP_RET_USER_NOTIF, b.cmd.Process.Pid, nil)),
	})
	if listener >= 0 {
		unix.Close(listener)
	}
	b.control.Close()
	_ = b.cmd.Wait()
	return err
}
