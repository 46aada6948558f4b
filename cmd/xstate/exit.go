package main

import (
	"errors"
	"fmt"

	"github.com/xstate-engine/xstate/bench"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state"
)

// The exit codes of outcomes. Those of errors are by their class.
const (
	exitDone     = api.ExitDone
	exitFailed   = api.ExitFailed
	exitUsage    = api.ExitUsage
	exitRefused  = api.ExitRefused
	exitDiverged = api.ExitDiverged
)

// outcome is a verb that did its work, with an answer that the exit code reports: a block failed, a difference.
type outcome int

func (o outcome) Error() string { return fmt.Sprintf("exit code %d", int(o)) }

// exitCode returns the exit code of an error with a code. The benchmarks have their own codes.
func exitCode(c state.Code) int {
	switch c {
	case bench.CodeNothing, bench.CodeNoWorkload, bench.CodeNoStrategy, bench.CodeNoPeer:
		return exitUsage
	}
	return api.ClassOf(c).ExitCode()
}

// fail prints an error and returns the exit code for it; nil is success.
func fail(u *term.UI, err error) int {
	u.Progress("")
	if err == nil {
		return exitDone
	}
	var answer outcome
	if errors.As(err, &answer) {
		return int(answer)
	}
	e := worded(u.Door, foundIn(err))
	u.Say("xstate: " + e.Message + "\n")
	u.Say(conflictText(e.Conflicts))
	for _, c := range e.Candidates {
		u.Say(candidateText(c))
	}
	if e.Hint != "" {
		u.Say("hint: " + e.Hint + "\n")
	}
	if u.JSON {
		_ = u.Document(api.Failure{Version: api.Version, Error: e})
	}
	return exitCode(e.Code)
}
