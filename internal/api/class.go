package api

import (
	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/journal/rule"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/kernel/bash"
	"github.com/xstate-engine/xstate/runner/kernel/node"
	"github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/runner/private"
	"github.com/xstate-engine/xstate/runner/remote"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/runner/suite"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/artifact"
	"github.com/xstate-engine/xstate/state/keys"
	"github.com/xstate-engine/xstate/state/provenance"
	"github.com/xstate-engine/xstate/state/query"
)

// Codes of errors that doors make themselves.
const (
	CodeUsage       state.Code = "usage" // a command or a request that cannot be understood
	CodeNoFile      state.Code = "no-file"
	CodeNotAFile    state.Code = "not-a-file"
	CodeUnreadable  state.Code = "unreadable"
	CodeFileExists  state.Code = "file-exists"   // a file that exists and is not to be overwritten
	CodeWhich       state.Code = "which-session" // it must be named
	CodeNoFigure    state.Code = "no-figure"
	CodeNoViewer    state.Code = "no-viewer" // no program to show a picture with
	CodeInterrupted state.Code = "interrupted"
	CodeInternal    state.Code = "internal"

	CodeServed       state.Code = "server-running" // another server serves the store
	CodeServerGone   state.Code = "server-gone"    // it ended before it answered
	CodeServerSilent state.Code = "server-silent"  // it does not answer
	CodeNoServer     state.Code = "no-server"      // there is none, and none can be started
	CodeTooSlow      state.Code = "too-slow"       // a question was given up
	CodeNoJupyter    state.Code = "no-jupyter"     // no Python here can speak with Jupyter
	CodeNoChecker    state.Code = "no-checker"     // none that reads such files is installed

	CodeTooLarge  state.Code = "too-large" // a body or an answer
	CodeNoMethod  state.Code = "no-method" // a path, a method or a type of content that is not served
	CodeNoContext state.Code = "no-context"
	CodeForbidden state.Code = "forbidden" // a folder that is not served
	CodeNoCache   state.Code = "remote-no-cache"
)

// Class is a kind of errors: what a caller can do about one, whichever code it has. Exit codes (ExitCode) and the codes
// of protocols (failure.go in internal/serve/rpc) are those of classes.
type Class int

// The classes. The zero value is that of a code that is not known.
const (
	ClassInternal Class = iota // a fault of the engine, or of the system below
	ClassFailed                // what was to be done was begun, and failed or was interrupted
	ClassUsage                 // the request, its file or its environment must be another one
	ClassNotFound              // what the request names is not there
	ClassRefused               // the state or a policy forbids it; the same request may succeed later
	ClassConflict              // others have changed what it changes
	ClassBusy                  // others hold what it needs; the same request will succeed later
	ClassDamaged               // what is stored is not what was written
)

// Class returns the class of an error.
func (e *Error) Class() Class { return ClassOf(e.Code) }

// ClassOf returns the class of the errors with a code.
func ClassOf(code state.Code) Class { return classes[code] }

// classes has every code. TestClasses finds those that are not here.
var classes = byCode(map[Class][]state.Code{
	ClassInternal: {CodeInternal, CodeServerGone, state.CodeDiskFull, state.CodeIO, state.CodeClosed},
	ClassFailed:   {CodeInterrupted, journal.CodeRefused, journal.CodeLost},
	ClassUsage: {
		CodeUsage, CodeNotAFile, CodeUnreadable, CodeFileExists, CodeWhich, CodeTooLarge, CodeForbidden,
		CodeNoCache, runner.CodeNoExecutor,
		state.Code(patch.CodeBinary), state.Code(patch.CodeEmpty), state.Code(patch.CodeEncoding),
		state.Code(patch.CodeNotebook), state.Code(patch.CodeLanguage), state.Code(patch.CodeUnsupported),
		state.Code(patch.CodeUnwritable), state.Code(patch.CodePatch),
		state.CodeSessionExists, state.CodeInvalid, state.CodeArtifactCycle, query.CodeExpression,
		query.CodeNotExecuted, replay.CodeNoClaim, keys.CodeUnusable, provenance.CodeStatement, xstate.CodeNothing,
		replay.CodeUnchanged, private.CodeNotPrivate, runner.CodeNotKept, runner.CodeForeignValue,
		runner.CodeNoStdin, kernel.CodeUnknownLanguage, kernel.CodeChanged, python.CodeTooOld, python.CodeBroken,
		node.CodeTooOld, node.CodeBroken, journal.CodeArguments, journal.CodeResult, journal.CodeEffects,
		rule.CodeInvalid, policy.CodeInvalid,
	},
	ClassNotFound: {
		CodeNoFile, CodeNoFigure, CodeNoViewer, CodeNoServer, CodeNoJupyter, CodeNoChecker, CodeNoMethod, CodeNoContext,
		state.CodeNoStore, state.CodeNoSession, state.CodeNoWorkspace, state.CodeNoStep, state.CodeNoCall,
		query.CodeNoBlock, query.CodeNoVersion, query.CodeNoValue, artifact.CodeNoArtifact, replay.CodeNoRun,
		suite.CodeNoTests, private.CodeUnchanged, python.CodeNotFound, node.CodeNotFound, bash.CodeNotFound,
		journal.CodeNoChoice, journal.CodeNoTool, remote.CodeNoRef, remote.CodeNoAction,
	},
	ClassRefused: {
		CodeServed, CodeServerSilent, CodeTooSlow, state.CodeReadOnly, state.CodeNewer, state.CodeRootFolder,
		xstate.CodeUnrecorded, runner.CodeNotExecuted, runner.CodeFileEdited, runner.CodeBehindLink,
		private.CodeConflict,
		state.Code(patch.CodeAbsent), state.Code(patch.CodeAmbiguous), state.Code(patch.CodeOverlap),
		state.Code(patch.CodeNoText), state.Code(patch.CodeExists),
		journal.CodeNotWaiting, journal.CodeNotRevertible, journal.CodeDenied, journal.CodeBudget,
		journal.CodeWaiting, journal.CodeUnrecorded, rule.CodeDenied, policy.CodeUnenforceable,
		remote.CodeUnavailable, remote.CodeReadOnly,
	},
	ClassConflict: {state.CodeConflict, remote.CodeDiverged},
	ClassBusy:     {state.CodeBusy},
	ClassDamaged: {state.CodeDamaged, state.CodeArchiveDamaged, state.CodeNoSource, provenance.CodeSignature,
		provenance.CodeArchiveLarge, remote.CodeDamaged},
})

func byCode(lists map[Class][]state.Code) map[state.Code]Class {
	classes := map[state.Code]Class{}
	for class, codes := range lists {
		for _, code := range codes {
			classes[code] = class
		}
	}
	return classes
}

// The exit codes, as scripts know them.
const (
	ExitDone     = 0
	ExitFailed   = 1 // a block failed, or the run was interrupted
	ExitUsage    = 2 // a bad command line, file or environment
	ExitRefused  = 3 // by policy or conflict: another has the store, it may not be written; or a call waits
	ExitDiverged = 4 // an incremental run differs from one from scratch, or the store is damaged
	ExitInternal = 5
)

// ExitCode is the exit code of a command that fails with an error of the class.
func (c Class) ExitCode() int {
	switch c {
	case ClassFailed:
		return ExitFailed
	case ClassUsage, ClassNotFound:
		return ExitUsage
	case ClassRefused, ClassConflict, ClassBusy:
		return ExitRefused
	case ClassDamaged:
		return ExitDiverged
	}
	return ExitInternal
}
