package main

import (
	"context"
	"errors"
	"syscall"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/wording"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/state"
)

// errorDocument returns an error in the words of the caller's door.
func (c caller) errorDocument(err error) api.Error { return worded(c.door, foundIn(err)) }

func worded(d wording.Door, e api.Error) api.Error {
	e.Message, e.Hint = d.Text(e.Message), d.Remedy(string(e.Code), e.Hint)
	if e.Code == api.CodeUsage {
		e.Message = d.Misuse(e.Message)
	}
	return e
}

// foundIn returns the code, the message and the hint of an error as they were written.
func foundIn(err error) api.Error {
	var own *state.Error
	var bad *patch.ParseError
	var cmd *usageError
	var unfit *patch.ApplyError
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE),
		state.CodeOf(err) == python.CodeBroken && fewFiles():
		return api.Error{Code: state.CodeIO, Message: err.Error(),
			Hint: "the limit of open files is too low for a run, which needs at least 64: raise it with ulimit -n"}
	case errors.As(err, &unfit):
		return api.Error{
			Code:       state.Code(unfit.Code),
			Message:    unfit.Error(),
			Hint:       unfit.Hint,
			Candidates: unfit.Candidates,
		}
	case errors.As(err, &cmd):
		return api.Error{Code: api.CodeUsage, Message: cmd.Error(), Hint: cmd.hint}
	case errors.As(err, &bad):
		return api.Error{Code: state.Code(bad.Code), Message: bad.Error(), Hint: bad.Hint}
	case errors.As(err, &own):
		e := api.Error{Code: own.Code, Message: sentence(own), Hint: own.Hint}
		if merge := (*xstate.MergeError)(nil); errors.As(err, &merge) {
			e.Conflicts = merge.Conflicts
		}
		return e
	case errors.Is(err, context.Canceled):
		return api.Error{
			Code:    api.CodeInterrupted,
			Message: "interrupted before anything was done",
			Hint:    "run it again to continue",
		}
	case state.IsDiskFull(err):
		full := state.DiskFull(err.Error(), err)
		return api.Error{Code: full.Code, Message: full.Message, Hint: full.Hint}
	}
	return api.Error{
		Code:    api.CodeInternal,
		Message: err.Error(),
		Hint:    "this should not happen; please report it with the command and the program",
	}
}

// fewFiles reports whether the process may open too few files to run anything: an interpreter cannot say so.
func fewFiles() bool {
	var limit syscall.Rlimit
	return syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil && limit.Cur < 64
}

// sentence is the message of an error, with its cause if that says more.
func sentence(e *state.Error) string {
	switch e.Code {
	case state.CodeIO, state.CodeReadOnly, state.CodeDamaged, state.CodeInvalid, state.CodeConflict:
		return e.Error()
	}
	return e.Message
}

// usageError is a command line that cannot be understood.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string { return e.err.Error() }

func usage(err error) error {
	var u *usageError
	if errors.As(err, &u) {
		return err
	}
	return &usageError{err: err, hint: "`xstate --help` lists the verbs and flags"}
}
