//go:build !linux

package sandbox

import (
	"context"
	"os/exec"
	"syscall"

	"github.com/xstate-engine/xstate/runner/sandbox/proxy"
)

// Box is an interpreter with all processes that it starts.
type Box struct {
	cmd      *exec.Cmd
	degraded []string
	recorder *recorder // nil: nothing is recorded
}

// Start starts a command. Only Linux offers more than LevelHooks, and enforces bounds.
func Start(cmd *exec.Cmd, s Spec) (*Box, error) {
	b := &Box{cmd: cmd, degraded: []string{"orphans are not ended"}}
	if lacks := Enforceable(s); len(lacks) > 0 {
		if s.Bounds.Strict {
			return nil, &UnenforceableError{lacks}
		}
		for _, l := range lacks {
			b.degraded = append(b.degraded, l.String())
		}
	}
	s.Bounds = nil // none of them that concern the network is enforced
	var err error
	if b.recorder, err = newRecorder(s, true); err != nil {
		return nil, err
	}
	cmd.Env = b.recorder.environ(cmd.Environ(), s)
	if err = cmd.Start(); err != nil {
		b.recorder.close()
	}
	return b, err
}

// Pid is the process id of the interpreter.
func (b *Box) Pid() int { return b.cmd.Process.Pid }

// Level is how far the box is observed.
func (b *Box) Level() Level { return LevelHooks }

// Degraded names what of the bounds, and of the observation, the system does not offer.
func (b *Box) Degraded() []string { return b.degraded }

// Wait waits until the interpreter has ended.
func (b *Box) Wait() error {
	defer b.recorder.close()
	return b.cmd.Wait()
}

// Handle says what answers the requests of the box from now on, if they are recorded; nil: they are refused.
func (b *Box) Handle(h proxy.Handler) {
	if b.recorder != nil {
		b.recorder.proxy.Handle(h)
	}
}

// Kill ends the processes of the interpreter's group at once.
func (b *Box) Kill() { _ = syscall.Kill(-b.Pid(), syscall.SIGKILL) }

// Exceeded says which limit ended the box; nil: none did.
func (b *Box) Exceeded() *Denial { return nil }

// Take returns an empty report.
func (b *Box) Take(_ context.Context, node int) (Report, error) {
	r := Report{Node: node, Main: map[string]*Access{}, Child: map[string]*Access{}}
	if b.recorder != nil {
		b.recorder.take(&r)
	}
	return r, nil
}

// Probe reports the level that this machine offers, and why no better one.
func Probe() (Level, string) { return LevelHooks, "only Linux can observe system calls" }
