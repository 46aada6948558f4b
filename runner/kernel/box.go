package kernel

import (
	"context"
	"os/exec"
	"syscall"

	"github.com/xstate-engine/xstate/runner/sandbox"
)

// box is what a process runs in: a sandbox, or nothing.
type box interface {
	Pid() int
	Level() sandbox.Level
	Take(ctx context.Context, node int) (sandbox.Report, error)
	Wait() error
	Kill()
	Handle(h sandbox.Handler)
}

// startBox starts a command, in a sandbox unless spec is nil.
func startBox(cmd *exec.Cmd, spec *sandbox.Spec) (box, error) {
	if spec == nil {
		return plain{cmd}, cmd.Start()
	}
	return sandbox.Start(cmd, *spec)
}

// plain is a process without a sandbox.
type plain struct{ *exec.Cmd }

func (p plain) Pid() int { return p.Process.Pid }

func (p plain) Level() sandbox.Level { return sandbox.LevelHooks }

func (p plain) Take(context.Context, int) (sandbox.Report, error) { return sandbox.Report{}, nil }

func (p plain) Handle(sandbox.Handler) {}

func (p plain) Kill() { _ = syscall.Kill(-p.Pid(), syscall.SIGKILL) }
