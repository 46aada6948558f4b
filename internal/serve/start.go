package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// readyVariable says where a server that was started in the background reports that it listens: a descriptor.
const readyVariable = "XSTATE_SERVE_READY"

// startTime bounds how long the start of a server may take.
const startTime = 10 * time.Second

// longestLog is where the log of servers begins anew.
const longestLog = 1 << 20

// Start starts a server of the store in dir in the background, with the arguments of xstate, and waits until it
// listens. It does no harm if another process does the same, or a server is there.
func Start(ctx context.Context, dir string, environ []string, args ...string) (*Client, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, noServer(dir, err)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, noServer(dir, err)
	}
	log, err := openLog(dir)
	if err != nil {
		return nil, noServer(dir, err)
	}
	defer log.Close()
	ready, ended, err := os.Pipe()
	if err != nil {
		return nil, noServer(dir, err)
	}
	defer ready.Close()
	cmd := exec.Command(program, args...)
	cmd.Args[0] = "xstate"
	cmd.Dir, cmd.Env = dir, append(ownEnviron(environ), readyVariable+"=3")
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{ended}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no interrupt of the terminal reaches it
	inheritNothing()
	err = cmd.Start()
	ended.Close()
	if err != nil {
		return nil, noServer(dir, err)
	}
	_ = cmd.Process.Release()
	_ = ready.SetReadDeadline(time.Now().Add(startTime))
	stop := context.AfterFunc(ctx, func() { _ = ready.SetReadDeadline(time.Now()) })
	defer stop()
	said, _ := io.ReadAll(ready) // "ready", or why it ended
	if c := Find(dir); c != nil && c.Alive(ctx) {
		return c, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, noServer(dir, errors.New(orElse(strings.TrimSpace(string(said)), "it did not start; see "+logFile)))
}

// inheritNothing has programs that start from now on inherit no descriptor that this process got from its parent. A
// server that had them would hold locks and pipes of a shell for as long as it lives.
func inheritNothing() {
	open, _ := os.ReadDir("/dev/fd") // empty if the folder does not exist
	for _, f := range open {
		if n, err := strconv.Atoi(f.Name()); err == nil && n > 2 {
			syscall.CloseOnExec(n)
		}
	}
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// ownEnviron is what a server gets of the environment of who starts it: all but what is of one command, such as the
// origin of its steps. Commands bring their own environment; requests over HTTP do not, and have this one.
func ownEnviron(environ []string) (own []string) {
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		ofCall := strings.HasPrefix(name, "XSTATE_") || name == "TRACEPARENT" || name == "TRACESTATE"
		if name == "XSTATE_PYTHON" || !ofCall {
			own = append(own, pair)
		}
	}
	return own
}

func openLog(dir string) (*os.File, error) {
	path := filepath.Join(dir, logFile)
	if info, err := os.Stat(path); err == nil && info.Size() > longestLog {
		_ = os.Remove(path)
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

// Ready reports to the process that started this server in the background how the start went: err, or that the server
// listens. It reports whether there is such a process.
func Ready(err error) bool {
	text := os.Getenv(readyVariable)
	if text == "" {
		return false
	}
	os.Unsetenv(readyVariable)
	syscall.CloseOnExec(3)
	f := os.NewFile(3, "ready")
	if f == nil {
		return false
	}
	said := "ready"
	if err != nil {
		said = err.Error()
	}
	fmt.Fprintln(f, said)
	f.Close()
	return true
}
