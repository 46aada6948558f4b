package sandbox

import (
	"time"
)

// PolicyName is the name of files that a box must not write, because they say what boxes may do.
const PolicyName = "xstate.toml"

// Bounds are what a box may do. Paths are absolute, without symbolic links; a folder means all that is in it.
type Bounds struct {
	// Strict refuses to start where something below cannot be enforced. Otherwise Degraded of the box names it.
	Strict bool
	// Read and Write are folders and files that may be read, or read and written, beside the workspace (written), the
	// spool, and SystemFolders and Spec.System (read). Deny are taken out of all of these; the store always is.
	Read, Write, Deny []string
	// ReadOnly are files that may be read, and neither written, replaced, renamed nor created, wherever they lie.
	ReadOnly []string
	// Hosts are the hosts that may be reached through the proxy: "pypi.org", "*.example.com", "10.0.0.1:8080". None: no
	// network but loopback to what the box itself listens on.
	Hosts []string
	// Limits of the whole tree.
	Limits Limits
	// Launcher wraps the interpreter: "" or "bwrap".
	Launcher string
}

// Limits of a box; zero: none.
type Limits struct {
	CPU       time.Duration // all processes together, for each node
	Wall      time.Duration // for each node
	Memory    int64         // resident bytes of all processes together
	Processes int           // at the same time
	FileSize  int64         // bytes of one file
	Files     int           // that one node creates
	Output    int64         // bytes that one node puts out
}

// ActionLook is the action of asking whether a file is there, and for its attributes.
const ActionLook = "look"
