package kernel

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

// ErrDied says that the process ended while it had something to do.
var ErrDied = errors.New("the kernel process died")

// Process is one interpreter process that speaks in frames. It answers one request at a time.
type Process struct {
	box     box
	in      io.WriteCloser // requests
	out     *bufio.Reader
	close   []io.Closer
	stderr  *tail
	printed printed
	calls   *callChannel // nil: the program makes none
	waited  chan struct{}
	exit    error
	full    string        // what the driver could not write because the disk is full; "" when it could
	bound   time.Duration // how long an interrupted kernel may take to answer before it is killed
}

// Command is what starts a process.
type Command struct {
	Args    []string // the program and its arguments
	Environ []string // NAME=value
	Folder  string   // in which the process runs; absolute
	Spool   string   // a folder for what the program prints
	Options any      // the first frame, which the driver expects
	Calls   bool     // the program may make calls
	OneCall bool     // it makes them on one connection, see callChannel
	// Sandbox is how the process is observed and bounded; nil: not at all.
	Sandbox *sandbox.Spec
	// Recording, see Launch
	Recording *Recording
	// Drive is the driver of an interpreter that cannot speak in frames; nil: the interpreter does. It runs in this
	// process, and ends when either side does.
	Drive func(p *Peer)
	// Door is the socket on which a template takes requests; nil: the process is none.
	Door *os.File
	// From is where the template takes requests that forks the process; nil: it starts by itself.
	From *os.File
	// Unhooked says that the driver sees no use of files by the interpreter itself: the sandbox alone does.
	Unhooked bool
}

// doorVar is the variable by which a template finds the socket on which it takes requests.
const doorVar = "XSTATE_TEMPLATE_FD"

// StartError says that a process did not start, or ended before it said hello.
type StartError struct {
	Err    error
	Stderr string // the end of what it said
}

func (e *StartError) Error() string { return strings.TrimSpace(fmt.Sprintf("%v %s", e.Err, e.Stderr)) }

func (e *StartError) Unwrap() error { return e.Err }

// Nameable fails for a folder whose name is not UTF-8: drivers in Python and Node get their folders in JSON, which has
// only characters.
func Nameable(folders ...string) error {
	for _, f := range folders {
		if !utf8.ValidString(f) {
			return &state.Error{Code: state.CodeInvalid, Hint: "rename it, or run the program elsewhere",
				Message: fmt.Sprintf("the folder %+q has a name that is not UTF-8, so no interpreter is started there",
					f)}
		}
	}
	return nil
}

// Said returns "; it said: " and the last line that a process put out which failed to start. If it printed nothing,
// that is ": " and the cause.
func Said(err error) string {
	if bad := (*StartError)(nil); errors.As(err, &bad) {
		if line := LastLine(bad.Stderr); line != "" {
			return "; it said: " + line
		}
	}
	if err != nil {
		return ": " + err.Error()
	}
	return ""
}

// StartProcess starts a process, sends it its options, and waits until it says hello. A process that does not come that
// far is a StartError.
func StartProcess(ctx context.Context, c Command) (*Process, error) {
	printed, err := newPrinted(c.Spool)
	if err != nil {
		return nil, err
	}
	reqR, reqW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start kernel: %w", err)
	}
	evR, evW, err := os.Pipe()
	if err != nil {
		reqR.Close()
		reqW.Close()
		return nil, fmt.Errorf("start kernel: %w", err)
	}
	p := &Process{
		in: reqW, out: bufio.NewReaderSize(evR, 1<<16), close: []io.Closer{reqW, evR}, stderr: &tail{},
		printed: printed, waited: make(chan struct{}), bound: 2 * time.Second,
	}
	cmd := &exec.Cmd{}
	if c.From == nil {
		cmd = exec.Command(c.Args[0], c.Args[1:]...)
	}
	cmd.Dir = c.Folder
	cmd.Env = append(c.Environ, "XSTATE_KERNEL_FDS=3,4,5,6,7")
	cmd.ExtraFiles = append([]*os.File{reqR, evW}, printed.files()...)
	if c.Calls {
		if p.calls, err = newCallChannel(c.OneCall); err != nil {
			p.discard(reqR, evW)
			return nil, err
		}
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", callsVar, 3+len(cmd.ExtraFiles)))
		cmd.ExtraFiles = append(cmd.ExtraFiles, p.calls.program)
	}
	if c.Door != nil {
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", doorVar, 3+len(cmd.ExtraFiles)))
		cmd.ExtraFiles = append(cmd.ExtraFiles, c.Door)
	}
	cmd.Stderr = p.stderr
	cmd.SysProcAttr = OwnGroup()
	cmd.WaitDelay = time.Second
	if c.From != nil {
		p.box, err = sandbox.Fork(c.From, cmd.ExtraFiles, *c.Sandbox)
	} else {
		p.box, err = startBox(cmd, c.Sandbox)
	}
	reqR.Close()
	evW.Close()
	if p.calls != nil {
		p.calls.program.Close()
	}
	if err != nil {
		p.discard()
		return nil, &StartError{Err: err}
	}
	if p.calls != nil {
		go p.calls.serve()
		go p.calls.number()
	}
	if c.Drive != nil {
		p.interpose(c.Drive, reqW, evR)
	}
	go func() {
		p.exit = p.box.Wait()
		p.Kill() // what the process started must not outlive it, nor hold its pipes open
		close(p.waited)
	}()
	stop := context.AfterFunc(ctx, p.Kill)
	defer stop()
	err = p.Send(c.Options)
	if err == nil {
		_, err = p.Receive()
	}
	if err != nil {
		p.Stop()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &StartError{Err: p.exit, Stderr: p.stderr.String()}
	}
	return p, nil
}

// discard closes what a process that did not start has, and more.
func (p *Process) discard(more ...io.Closer) {
	for _, c := range append(more, p.close...) {
		c.Close()
	}
	if p.calls != nil {
		p.calls.close()
	}
}

// Groups is the group of the process and of all that it started.
func (p *Process) Groups() []int { return []int{p.box.Pid()} }

// Listens reports whether the process has a port.
func (p *Process) Listens() bool {
	if p.calls == nil {
		return listens(p.box.Pid(), 0)
	}
	return listens(p.box.Pid(), p.calls.inode)
}

// Level is how far the process and those that it started are observed.
func (p *Process) Level() sandbox.Level { return p.box.Level() }

// Kill ends the process and all that it started, at once.
func (p *Process) Kill() { p.box.Kill() }

// Stop ends the process and reaps it. Its output can still be read.
func (p *Process) Stop() {
	p.discard()
	select {
	case <-p.waited:
	case <-time.After(500 * time.Millisecond):
	}
	p.Kill()
	<-p.waited
}

// Close ends the process and gives up what Stop leaves to be read.
func (p *Process) Close() {
	p.Stop()
	for _, f := range p.printed.files() {
		f.Close()
	}
}

// Exit waits until the process has ended, and says how.
func (p *Process) Exit() string {
	<-p.waited
	var status syscall.WaitStatus
	if exit := (*exec.ExitError)(nil); errors.As(p.exit, &exit) {
		status, _ = exit.Sys().(syscall.WaitStatus)
	} else if exit := (*sandbox.ExitError)(nil); errors.As(p.exit, &exit) {
		status = exit.Status
	}
	if status.Signaled() {
		return fmt.Sprintf("killed by signal %d (%s)", int(status.Signal()), status.Signal())
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}

// Send writes one frame without a body.
func (p *Process) Send(header any) error { return writeFrame(p.in, header, nil) }

// Receive waits for one frame and returns its header.
func (p *Process) Receive() (json.RawMessage, error) {
	text, _, err := readFrame(p.out)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDied, err)
	}
	return text, nil
}

// Events is who follows a request until it is answered. All calls come from the goroutine of Request.
type Events struct {
	Event func(header json.RawMessage, body []byte)
	Tick  func() // called once in Every; nil: never
	Every time.Duration
}

// Request sends one request and returns the fields and body of the reply. Events before it go to events. When ctx ends,
// the process is interrupted, and killed if it does not answer.
func (p *Process) Request(
	ctx context.Context, header any, body []byte, reply any, events Events,
) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	answered, interrupted := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		p.interrupt(answered)
		close(interrupted)
	})
	defer func() {
		close(answered)
		if !stop() {
			<-interrupted // a signal sent late would hit the next request
		}
	}()
	if err := writeFrame(p.in, header, body); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDied, err)
	}
	for {
		text, data, err := p.next(events)
		if err != nil {
			p.Kill()
			return nil, p.died(err)
		}
		if bytes.HasPrefix(text, []byte(`{"ev": "full"`)) {
			var ev struct{ What string }
			_ = json.Unmarshal(text, &ev)
			p.full = cmp.Or(ev.What, "keep what the program does")
			continue
		}
		if bytes.HasPrefix(text, []byte(`{"ev": "reply"`)) {
			return data, decodeReply(text, reply)
		}
		if events.Event != nil {
			events.Event(text, data)
		}
	}
}

// next waits for a frame, and looks after the rest meanwhile.
func (p *Process) next(events Events) (header json.RawMessage, body []byte, err error) {
	if events.Tick == nil || p.out.Buffered() > 0 {
		return readFrame(p.out)
	}
	came := make(chan struct{})
	go func() {
		header, body, err = readFrame(p.out)
		close(came)
	}()
	tick := time.NewTicker(events.Every)
	defer tick.Stop()
	for {
		select {
		case <-came:
			return header, body, err
		case <-tick.C:
			events.Tick()
		}
	}
}

// died is the error of a process that ended. A full disk on which the driver could not write its own files is no
// failure of the program.
func (p *Process) died(err error) error {
	if p.full != "" {
		return state.DiskFull(p.full, syscall.ENOSPC)
	}
	return fmt.Errorf("%w: %w", ErrDied, err)
}

// decodeReply reads a reply. One that reports a fault of the driver is an error.
func decodeReply(text json.RawMessage, reply any) error {
	var status struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
		Trace string `json:"trace"`
	}
	if err := json.Unmarshal(text, &status); err != nil {
		return fmt.Errorf("reply of the kernel: %w", err)
	}
	if !status.OK && status.Error != "" {
		return fmt.Errorf("kernel: %s\n%s", status.Error, status.Trace)
	}
	if reply == nil {
		return nil
	}
	if err := json.Unmarshal(text, reply); err != nil {
		return fmt.Errorf("reply of the kernel: %w", err)
	}
	return nil
}

// interrupt sends an interrupt three times and then kills: a program may catch the interrupt.
func (p *Process) interrupt(answered <-chan struct{}) {
	for range 3 {
		_ = syscall.Kill(p.box.Pid(), syscall.SIGINT)
		select {
		case <-answered:
			return
		case <-p.waited:
			return
		case <-time.After(p.bound / 3):
		}
	}
	p.Kill()
}

// Watch keeps the files of the output streams within bounds until done is closed. It looks at them once in every; a
// shorter interval costs more.
func (p *Process) Watch(every time.Duration, done <-chan struct{}) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		p.printed.keepWithin()
	}
}

// Begin forgets what was printed before the node that is about to run.
func (p *Process) Begin() { p.printed.begin() }

// Printed takes an output that the process has sent, in an event whose body is text, or display data in JSON.
func (p *Process) Printed(header json.RawMessage, body []byte, sink Sink) {
	var ev struct {
		Shared bool   `json:"shared"` // the text of the process's own code
		Upto   int64  `json:"upto"`
		Only   string `json:"only"` // show or record; "": both
		output.Output
	}
	if json.Unmarshal(header, &ev) != nil {
		return
	}
	if slices.Contains(streamNames[:], ev.Kind) {
		p.printed.came(ev.Kind, ev.Shared, ev.Upto, body, sink)
		return
	}
	if ev.Kind != "clear" && json.Unmarshal(body, &ev.Data) != nil {
		return
	}
	if sink.Show != nil && ev.Only != "record" {
		sink.Show(ev.Output)
	}
	if ev.Only != "show" {
		sink.Record(ev.Output)
	}
}

// Unsent takes what a dead interpreter had printed and not sent.
func (p *Process) Unsent(sink Sink) { p.printed.rest(sink) }

// HasOpen reports whether the process has a file mapped, or open otherwise than for writing only.
func (p *Process) HasOpen(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	proc := fmt.Sprintf("/proc/%d/", p.box.Pid())
	fds, _ := os.ReadDir(proc + "fd")
	for _, fd := range fds {
		if open, err := os.Stat(proc + "fd/" + fd.Name()); err != nil || !os.SameFile(info, open) {
			continue
		}
		data, _ := os.ReadFile(proc + "fdinfo/" + fd.Name())
		_, text, _ := strings.Cut(string(data), "flags:")
		var flags int
		if _, err := fmt.Sscanf(text, "%o", &flags); err == nil && flags&syscall.O_ACCMODE != syscall.O_WRONLY {
			return true
		}
	}
	maps, _ := os.ReadFile(proc + "maps")
	return bytes.Contains(maps, []byte(" "+path+"\n"))
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if n := len(t.text) - 8192; n > 0 {
		t.text = t.text[n:]
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// LastLine returns the last line of what a process printed, which usually has its error.
func LastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
