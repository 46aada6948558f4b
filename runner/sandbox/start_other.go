//go:build !linux

package sandbox

import (
	"context"
	"os/exec"
	"syscall"
)

// Box is an interpreter with all processes that it starts.
type Box struct {
	cmd      *exec.Cmd
	degraded []string
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
	return b, cmd.Start()
}

// Pid is the process id of the interpreter.
func (b *Box) Pid() int { return b.cmd.Process.Pid }

// Level is how far the box is observed.
func (b *Box) Level() Level { return LevelHooks }

// Degraded names what of the bounds, and of the observation, the system does not offer.
func (b *Box) Degraded() []string { return b.degraded }

// Wait waits until the interpreter has ended.
func (b *Box) Wait() error { return b.cmd.Wait() }

// Kill ends the processes of the interpreter's group at once.
func (b *Box) Kill() { _ = syscall.Kill(-b.Pid(), syscall.SIGKILL) }

// Exceeded says which limit ended the box; nil: none did.
func (b *Box) Exceeded() *Denial { return nil }

// Take returns an empty report.
func (b *Box) Take(_ context.Context, node int) (Report, error) {
	return Report{Node: node, Main: map[string]*Access{}, Child: map[string]*Access{}}, nil
}

// Probe reports the level that this machine offers, and why no better one.
func Probe() (Level, string) { return LevelHooks, "only Linux can observe system calls" }
