package kernel

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Peer connects a driver that runs in this process to the engine, with which it exchanges frames, and to the
// interpreter, with which it speaks as it likes.
type Peer struct {
	To   *os.File // the interpreter reads it
	From *os.File // what the interpreter writes

	process  *Process
	requests *bufio.Reader
	events   io.Writer
	close    []io.Closer
}

// interpose puts a driver between the engine and the interpreter, whose ends of pipes it takes over.
func (p *Process) interpose(drive func(*Peer), to, from *os.File) {
	requests, in := io.Pipe()
	out, events := io.Pipe()
	p.in, p.out, p.close = in, bufio.NewReaderSize(out, 1<<16), []io.Closer{in, out}
	peer := &Peer{To: to, From: from, process: p, requests: bufio.NewReaderSize(requests, 1<<16), events: events,
		close: []io.Closer{requests, events, to, from}}
	go func() {
		drive(peer)
		for _, c := range peer.close {
			c.Close()
		}
	}()
	go func() { // what the interpreter started may hold its end of the pipe
		<-p.waited
		_ = from.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	}()
}

// Receive waits for a request.
func (p *Peer) Receive() (header json.RawMessage, body []byte, err error) {
	return readFrame(p.requests)
}

// Send sends an event, or with the name "reply" the answer to a request. fields is an object in JSON.
func (p *Peer) Send(event string, fields any, body []byte) error {
	text, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("encode frame: %w", err)
	}
	header := fmt.Appendf(nil, `{"ev": %q`, event)
	if text = bytes.TrimPrefix(text, []byte("{")); len(text) > 1 {
		header = append(header, ',')
	}
	return writeText(p.events, append(header, text...), body)
}

// Pid is the interpreter's process.
func (p *Peer) Pid() int { return p.process.box.Pid() }

// Exited waits until the interpreter has ended, and returns its exit code, or the signal that ended it: SIGKILL where
// neither is known.
func (p *Peer) Exited() (code int, by syscall.Signal) {
	<-p.process.waited
	var exit *exec.ExitError
	switch {
	case p.process.exit == nil:
		return 0, 0
	case !errors.As(p.process.exit, &exit):
		return 0, syscall.SIGKILL
	case exit.Exited():
		return exit.ExitCode(), 0
	}
	status, _ := exit.Sys().(syscall.WaitStatus)
	return 0, status.Signal()
}
