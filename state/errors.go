package state

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// Code is the stable name of an error, for programs to branch on.
type Code string

// The codes of this package. Packages above add their own.
const (
	CodeNoStore       Code = "no-store"       // the directory holds no store, and creating one is not allowed
	CodeBusy          Code = "store-busy"     // another process holds the store
	CodeReadOnly      Code = "store-readonly" // the store cannot be written, or was opened read-only
	CodeNewer         Code = "store-newer"    // written by a later version of xstate
	CodeDamaged       Code = "store-damaged"  // history differs from what was written
	CodeDiskFull      Code = "disk-full"
	CodeIO            Code = "store-io" // the file system failed for another reason
	CodeClosed        Code = "store-closed"
	CodeNoSession     Code = "no-session"
	CodeNoWorkspace   Code = "no-workspace" // the folder that a program runs in is gone
	CodeRootFolder    Code = "root-folder"  // what is asked for has no meaning where a program runs in the root folder
	CodeSessionExists Code = "session-exists"
	CodeNoStep        Code = "no-step"
	CodeNoSource      Code = "no-source"
	CodeNoCall        Code = "no-call"
	CodeConflict      Code = "conflict"       // another writer appended steps, see Conflict
	CodeInvalid       Code = "invalid-change" // a draft does not fit the program it changes
)

// Sentinels for errors.Is; they match every Error of the same code.
var (
	ErrNoSession     = &Error{Code: CodeNoSession}
	ErrSessionExists = &Error{Code: CodeSessionExists}
	ErrNoStep        = &Error{Code: CodeNoStep}
	ErrNoSource      = &Error{Code: CodeNoSource}
	ErrDamaged       = &Error{Code: CodeDamaged}
	ErrReadOnly      = &Error{Code: CodeReadOnly}
)

var (
	errReadOnly = &Error{Code: CodeReadOnly, Message: "the store is open for reading only"}
	errClosed   = &Error{Code: CodeClosed, Message: "the store is closed"}
)

// Error is an error for users: a stable code, a sentence without a final stop, and a hint with the next thing to do.
type Error struct {
	Code    Code
	Message string
	Hint    string // "" if there is nothing useful to say
	Err     error  // the cause, or nil
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is a sentinel of the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Message == "" && t.Code == e.Code
}

// CodeOf returns the code of the outermost Error in err's chain, or "".
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Conflict reports that a session's head was not where the writer expected it. Errors with CodeConflict wrap it.
type Conflict struct {
	Session string
	Base    StepNumber // the head that the writer expected
	Head    StepNumber // the actual head
	Since   []Step     // the steps after Base without their changes, oldest first, at most conflictSteps
}

const conflictSteps = 32

func (c *Conflict) Error() string {
	if c.Base > c.Head {
		return fmt.Sprintf("session %q is at step %d, not yet at %d", c.Session, c.Head, c.Base)
	}
	what := ""
	for _, s := range c.Since {
		if s.Block != "" {
			what += fmt.Sprintf(", step %d: %s %s", s.Number, s.Kind, s.Block)
		} else {
			what += fmt.Sprintf(", step %d: %s", s.Number, s.Kind)
		}
	}
	return fmt.Sprintf("session %q moved from step %d to %d%s", c.Session, c.Base, c.Head, what)
}

// damaged returns the error for a damaged database file.
func damaged(file, what string, cause error) *Error {
	return &Error{
		Code:    CodeDamaged,
		Message: fmt.Sprintf("%s is damaged: %s", file, what),
		Hint: "nothing was changed; copy the file to a safe place, then restore it from a backup " +
			"(results.db and blobs/ are not needed)",
		Err: cause,
	}
}

// fileError wraps an error of the file system and gives it a code. what names the attempt, as in "open history.db".
// Errors that have a code keep it.
func fileError(what string, err error) error {
	var own *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return err
	case IsDiskFull(err):
		return DiskFull(what, err)
	case errors.Is(err, syscall.ENOTDIR):
		return &Error{
			Code:    CodeReadOnly,
			Message: what + ": a part of its path is a file",
			Hint:    "choose a store elsewhere with `--store DIR`",
			Err:     err,
		}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return &Error{
			Code:    CodeReadOnly,
			Message: what + ": not permitted",
			Hint:    "check the permissions of the store, or choose one elsewhere with `--store DIR`",
			Err:     err,
		}
	}
	return &Error{Code: CodeIO, Message: what, Err: err}
}

// SessionExists returns the error of a session that is to be made and is there.
func SessionExists(name string) *Error {
	return &Error{
		Code:    CodeSessionExists,
		Message: fmt.Sprintf("the session %q exists already", name),
		Hint:    "choose another name, or continue that session",
	}
}

// NoWorkspace returns the error of a folder that a session's program runs in, and that is gone.
func NoWorkspace(folder string, err error) *Error {
	return &Error{
		Code:    CodeNoWorkspace,
		Message: fmt.Sprintf("the folder in which the program runs is gone: %s was deleted or moved", folder),
		Hint:    "put it back; `xstate run FILE --session NAME` goes on with the session in the folder of FILE",
		Err:     err,
	}
}

// DiskFull returns the error of an attempt that a full disk made fail.
func DiskFull(what string, err error) *Error {
	return &Error{
		Code:    CodeDiskFull,
		Message: what + ": the disk is full",
		Hint:    "free some space and try again; no committed step is lost",
		Err:     err,
	}
}

// IsDiskFull reports whether a full disk is the cause of an error. It also compares the text, because bbolt formats
// system errors without wrapping them.
func IsDiskFull(err error) bool {
	if err == nil {
		return false
	}
	for _, full := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, full) || strings.HasSuffix(err.Error(), full.Error()) {
			return true
		}
	}
	return false
}
