package beneath

import "sync/atomic"

// Operation is a step of the work on files that can fail by itself.
type Operation struct {
	Name string // such as "remove"
	Path string // the file's path
}

var injected atomic.Pointer[func(Operation) error]

// Inject has fault decide whether operations of this process fail, until undo is called. An operation fails before it
// has any effect; "write" fails when half of a content is written. It is for tests of what the callers do then.
func Inject(fault func(Operation) error) (undo func()) {
	injected.Store(&fault)
	return func() { injected.Store(nil) }
}

// fails returns the error that an operation is to fail with.
func fails(name, path string) error {
	if fault := injected.Load(); fault != nil {
		return (*fault)(Operation{name, path})
	}
	return nil
}
