package runner

import (
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/basestate"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
)

// A node's inputs are digested when it has ended. Another process, such as an editor, may have written to one while the
// node ran: then it is not known which content the node read. And an input whose digest was taken when the run began
// may have been edited before the node read it. Such an execution is kept as what happened and never reused
// (state.Trace.Once), so the next run executes the node again.
//
// The time of the last change of a file's content or attributes tells (ctime), which no process can set. It has the
// resolution of the system's tick, some milliseconds: an edit within the tick in which the node began goes unseen. So
// does a file that is removed meanwhile, unless its digest was taken before. Where child processes are not observed, a
// node that starts one has no edited inputs: the child may have made the change.

// noteEdits looks through what a node that began at a time read at p, for files that something other than the node
// wrote to since. It reports whether there are any, and gives them the digest of edited ones.
func noteEdits(
	found map[depgraph.Key]state.Digest, p *programState, base *basestate.State, began time.Time,
	own func(name string) bool,
) (any bool) {
	for k := range found {
		switch k.Space() {
		case "file", "stat", "mode", "time": // a file that is there now may have been made meanwhile
		default:
			continue
		}
		if wasEdited(k, p, base, began) && !own(k.Name()) { // few are, and to ask for the owner costs another look
			debugf("run", "%s was edited while a node ran that read it", k.Name())
			found[k], any = state.Edited, true
		}
	}
	return any
}

// wasEdited reports whether a file was written to since a time, or since its digest was taken.
func wasEdited(k depgraph.Key, p *programState, base *basestate.State, began time.Time) bool {
	info := base.Stat(k.Name())
	if info != nil && !info.Regular() && !info.Link() {
		return false // the time of a folder is that of its entries; a pipe has one for each write
	}
	if info != nil && info.Changed > began.UnixNano() {
		return true
	}
	_, written := p.keys.find(depgraph.Key("file:" + k.Name()))
	return !written && !base.Holds(k)
}

// changedBy reports whether a node that did f changed a file, or its permissions or names, though its content may be as
// it was.
func changedBy(f *kernel.Files, name string, base *basestate.State) bool {
	_, wrote := f.Writes[base.Path(name)]
	_, set := f.Chmods[base.Path(name)]
	if wrote || set || len(f.Changed) == 0 {
		return wrote || set
	}
	info := base.Stat(name)
	return info != nil && f.Changed[sandbox.FileID{Device: info.Device, Inode: info.Inode}]
}
