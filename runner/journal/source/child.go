package source

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
)

// child is a server that runs as a process of xstate. It leads a group, so that what it starts ends with it: npx starts
// the server in a child process.
type child struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.ReadCloser
	wrote tail
	gone  chan struct{}
	once  sync.Once
}

// Times until a server that should end gets a stronger signal.
const (
	patience = 2 * time.Second
	insists  = time.Second
)

// startChild starts a server's command.
func startChild(config policy.MCP, o *Options) (*child, error) {
	c := &child{gone: make(chan struct{})}
	c.cmd = exec.Command(config.Command[0], config.Command[1:]...)
	c.cmd.Dir = o.Folder
	// As a bounded program: the usual variables, and what the user names.
	c.cmd.Env = (&policy.Policy{Level: policy.Workspace, Pass: config.Env}).Environ(o.Environ)
	if config.Folder != "" {
		c.cmd.Dir = config.Folder
	}
	if err := lookUp(c.cmd, config.Command[0], o); err != nil {
		return nil, err
	}
	c.cmd.Stderr = &c.wrote
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// A child of the server may hold its outputs open. The server has ended nevertheless.
	c.cmd.WaitDelay = patience
	theirs, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	out, ours, err := os.Pipe()
	if err != nil {
		_ = in.Close()
		return nil, err
	}
	defer ours.Close()
	c.cmd.Stdin, c.cmd.Stdout, c.in, c.out = theirs, ours, in, out
	if err := c.cmd.Start(); err != nil {
		_, _ = in.Close(), out.Close()
		return nil, fmt.Errorf("it does not start: %w", err)
	}
	go func() {
		_ = c.cmd.Wait()
		close(c.gone)
	}()
	return c, nil
}

// lookUp finds the program of a command as the user's shell would, but in no folder of the workspace: a program in
// bounds writes there, and the command runs without them.
func lookUp(cmd *exec.Cmd, name string, o *Options) error {
	if strings.Contains(name, "/") {
		cmd.Path, cmd.Err = name, nil
		return nil
	}
	workspace, err := filepath.EvalSymlinks(o.Folder)
	if err != nil {
		return err
	}
	for _, folder := range strings.Split(o.getenv("PATH"), ":") {
		path := folder + "/" + name
		if real, err := filepath.EvalSymlinks(folder); err != nil || parents.Holds(workspace, real) {
			continue
		}
		if info, err := os.Stat(path); folder != "" && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			cmd.Path, cmd.Err = path, nil
			return nil
		}
	}
	return fmt.Errorf("there is no program %s on PATH", name)
}

// end ends the server: it closes its input, as the protocol has it, and insists where that does not help.
func (c *child) end() {
	c.once.Do(func() {
		_ = c.in.Close()
		for _, step := range []struct {
			signal syscall.Signal
			wait   time.Duration
		}{{0, patience}, {syscall.SIGTERM, insists}} {
			if step.signal != 0 {
				_ = syscall.Kill(-c.cmd.Process.Pid, step.signal)
			}
			select {
			case <-c.gone:
			case <-time.After(step.wait):
				continue
			}
			break
		}
		// Kill what remains of its group, and the server itself if it still runs.
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
		<-c.gone
		_ = c.out.Close()
	})
}

// said is what the server wrote last to its standard error, on one line.
func (c *child) said() string { return c.wrote.String() }

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

// tailSize bounds a tail, in bytes.
const tailSize = 2000

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - tailSize; over > 0 {
		t.kept = bytes.Clone(t.kept[over:])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(t.kept), "")), " ")
}
