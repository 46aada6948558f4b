//go:build !linux

package sandbox

import (
	"context"
	"os/exec"
	"syscall"
)

// Box is an interpreter with all processes that it starts.
type Box struct{ cmd *exec.Cmd }

// Start starts a command. Only Linux offers more than LevelHooks.
func Start(cmd *exec.Cmd, _ Spec) (*Box, error) { return &Box{cmd}, cmd.Start() }

// Pid is the process id of the interpreter.
func (b *Box) Pid() int { return b.cmd.Process.Pid }

// Level is how far the box is observed.
func (b *Box) Level() Level { return LevelHooks }

// Degraded names what of the bounds, and of the observation, the system does not offer.
func (b *Box) Degraded() []string { return []string{"orphans are not ended"} }

// Wait waits until the interpreter has ended.
func (b *Box) Wait() error { return b.cmd.Wait() }

// Kill ends the processes of the interpreter's group at once.
func (b *Box) Kill() { _ = syscall.Kill(-b.Pid(), syscall.SIGKILL) }

// Take returns an empty report.
func (b *Box) Take(_ context.Context, node int) (Report, error) {
	return Report{Node: node, Main: map[string]*Access{}, Child: map[string]*Access{}}, nil
}

// Probe reports the level that this machine offers, and why no better one.
func Probe() (Level, string) { return LevelHooks, "only Linux can observe system calls" }
