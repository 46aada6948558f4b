package sandbox

// action is what a call does, as far as a report is concerned.
type action uint8

const (
	actNone     action = iota
	actOpen            // opens by flags
	actOpenHow         // opens by flags in memory
	actCreate          // opens to write a new or emptied file
	actLook            // asks about what is at a path
	actExec            // executes a program
	actMake            // makes a folder or a special file
	actRemove          // removes a file or folder
	actRename          // moves the first path to the second
	actLink            // adds a name for the first path
	actSymlink         // makes a symbolic link
	actMode            // sets permissions, owner or attributes
	actTime            // sets times
	actTruncate        // cuts a file
	actChroot          // changes what the process takes for the root
	actMount           // changes what is where
	actConnect         // connects a socket
	actBind            // binds a socket
	actShared          // shares memory or messages without a file
	actHandle          // opens a file by a handle
	actListen          // accepts connections
	actFork            // starts a process or a thread
	actList            // lists an open folder
)

// shape says where the arguments of a call are. An index of -1: the call has no such argument. Without a folder, a path
// is relative to the current one.
type shape struct {
	act    action
	folder int8
	path   int8
	// For calls on two paths: those of the second. Other calls do not use them.
	folder2, path2 int8
	// flags is where AT_ flags are, or those of open.
	flags int8
	// onLink: the call works on a symbolic link itself if that is the last component of the path.
	onLink bool
	// onFile: without a path, the call works on the descriptor in the first argument.
	onFile bool
}

// at is the shape of a call with a folder, a path and, perhaps, flags.
func at(act action, flags int8) shape {
	return shape{act: act, folder: 0, path: 1, folder2: -1, path2: -1, flags: flags}
}

// plain is the shape of a call on a path that comes first.
func plain(act action) shape {
	return shape{act: act, folder: -1, path: 0, folder2: -1, path2: -1, flags: -1}
}

// two is the shape of a call with two paths.
func two(act action, folder, path, folder2, path2 int8) shape {
	return shape{act: act, folder: folder, path: path, folder2: folder2, path2: path2, flags: -1, onLink: true}
}

// bare is the shape of a call without a path.
func bare(act action) shape {
	return shape{act: act, folder: -1, path: -1, folder2: -1, path2: -1, flags: -1}
}

func (s shape) link() shape { s.onLink = true; return s }

func (s shape) file() shape { s.onFile, s.path, s.folder = true, -1, -1; return s }

func (s shape) withFlags(i int8) shape { s.flags = i; return s }

// inotify is the shape of a call whose first argument is not a folder.
func (s shape) inotify() shape { s.folder = -1; return s }

// target moves folder and path.
func (s shape) target(folder, path int8) shape { s.folder, s.path = folder, path; return s }
