package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/xstate-engine/xstate/runner/sandbox/proxy"
)

// ErrEnded says that all processes of a box have ended before the end of a node. Its report holds what was seen.
var ErrEnded = errors.New("the processes of the sandbox have ended")

// ExitError says how an interpreter ended that is not a child of this process.
type ExitError struct{ Status syscall.WaitStatus }

func (e *ExitError) Error() string { return fmt.Sprintf("wait status %#x", uint32(e.Status)) }

// exitOf returns how an interpreter ended, from what its keeper said; nothing, where that was killed.
func exitOf(said []byte) error {
	status := syscall.WaitStatus(syscall.SIGKILL)
	if len(said) == 4 {
		status = syscall.WaitStatus(binary.LittleEndian.Uint32(said))
	}
	if status == 0 {
		return nil
	}
	return &ExitError{status}
}

// SystemFolders hold the system. Files that are only read there are tools, not data.
var SystemFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix",
	"/gnu", "/snap"}

// Level is how far a box is observed.
type Level string

// Levels, from exact to none.
const (
	LevelCalls Level = "seccomp" // each call is seen by user notification
	LevelTrace Level = "ptrace"  // each call is seen by ptrace
	LevelHooks Level = "hooks"   // only what the language's own hooks see; child processes are not observed
)

// Spec is how a box is started.
type Spec struct {
	// Observe is the level wanted; "": the best that the system offers.
	Observe Level
	// Folder is the workspace, Store the store's folder, and Spool the folder for what passes between driver and
	// engine. All absolute, without symbolic links. Calls on paths in Store and Spool are not reported.
	// A Folder that lies in Store is the workspace all the same.
	Folder, Store, Spool string
	// System are folders of the system, the interpreter and its libraries, beside SystemFolders. Files that are only
	// read there are tools, not data.
	System []string
	// Helpers are parts of the command lines of processes that a library keeps for its own use. They hold nothing of
	// the program's.
	Helpers []string
	// Journal is the file in which each image is announced before the write, in the form of the engine's journal.
	Journal string
	// Bounds are what the box may do; nil: everything.
	Bounds *Bounds
	// Record lets a proxy read the requests of the box, for Handle; nil: nothing is recorded.
	Record *proxy.Authority
}

// Report is what a box did while one node ran.
type Report struct {
	Node int
	// Main is what the interpreter's own process did, Child what all other processes did. By absolute path, without
	// symbolic links; links on the way have separate entries.
	Main, Child map[string]*Access
	// Programs were executed, in order, each once.
	Programs []string
	// Sockets were connected: "unix:/run/x", "unix:@abstract", "tcp:10.0.0.1:80", "udp:…". Those that were bound begin
	// with "bind:". Where the kind of an internet socket is not known, it is "inet:…".
	Sockets []string
	// Running says that child processes were alive at the end of the node.
	Running bool
	// Serving says that some of these are not helpers, and Leaves that the interpreter started such a one in the node.
	Serving, Leaves bool
	// Unseen says what could not be followed, see doc.go. None: all was seen.
	Unseen []string
	// Denied are calls that the bounds forbade, in order.
	Denied []Denial
	// Hidden are paths where something is that a look did not show, for the bounds forbid to read it.
	Hidden map[string]bool
	// Changed are the files that a change was noted of, or that got another name. One of them may have names that the
	// node did not use.
	Changed map[FileID]bool
}

// FileID is a file under all its names.
type FileID struct{ Device, Inode uint64 }

// AddTool adds a file or folder to System, if it is there. The root is none.
func (s *Spec) AddTool(path string) {
	if real, err := filepath.EvalSymlinks(path); err == nil && real != "/" && !slices.Contains(s.System, real) {
		s.System = append(s.System, real)
	}
}

// Unasked is the number of no folder. With it, a driver asks the system about an absolute path without asking the
// supervisor, where the answer would count for nothing: so a question costs a twentieth. See doc.go.
const Unasked = 0x58535441

// Use is what a process did with a path. Reads are uses before this node's own first write.
type Use uint16

// Uses of a path.
const (
	UseRead   Use = 1 << iota // opened to be read, or executed
	UseLook                   // asked whether it is there, and what it is: stat, access, readlink
	UseAbsent                 // it was not there when it was first used
	UseList                   // a folder that was listed
	UseWrite                  // created, written, truncated, renamed, linked or removed
	UseMode                   // its permissions or owner were set
	UseTime                   // its times were set
	UseTold                   // the driver announced a write, and has the image
	UseAsked                  // a look or a list of the main process that is not part of an import
)

// Access is what the processes of a box did with one path during one node.
type Access struct {
	Use Use
	// Before is what was there before UseWrite, UseMode or UseTime; nil: nothing. Its Copy is "" without UseWrite.
	Before *Image
}

// Image is what was at a path before a node wrote there.
type Image struct {
	// Copy is where the content is. Of what is not a regular file it is "directory", "special" or "symlink:TARGET".
	Copy string `json:"copy"`
	Mode uint32 `json:"mode"`
	Time int64  `json:"time"` // when the content last changed, nanoseconds
}

// Denial is a call that the bounds forbade.
type Denial struct {
	// Action is "read", "write", "execute", "connect", "bind", "signal" or the name of a system call, or a limit such
	// as "memory". Target is the path, address or amount.
	Action, Target string
	// Rule is the line of a policy file that would allow it, such as `files.read = ["/data"]`; "" where none would.
	Rule string
}
