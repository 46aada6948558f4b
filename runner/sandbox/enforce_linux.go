package sandbox

import "golang.org/x/sys/unix"

// enforcement is how bounds are put on a box. What it does not need is nil.
type enforcement struct {
	// decide is asked before a call goes on. An errno other than zero fails the call; a denial comes into the report.
	decide func(*call) (unix.Errno, *Denial)
	// filter are instructions that come before those of the supervisor. Each returns or leaves the number of the call
	// loaded.
	filter []unix.SockFilter
	// restrict is what the keeper puts on the thread that starts the interpreter: the Bounds of its Setup.
	restrict []byte
	// degraded names what cannot be enforced.
	degraded []string
}

// enforce returns how to put the bounds of a box on it.
func enforce(Spec) (enforcement, error) { return enforcement{}, nil }
