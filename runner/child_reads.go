package runner

import (
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/basestate"
	"github.com/xstate-engine/xstate/state"
)

// readsOfChildren adds what child processes read beside contents of files and listings.
//
// A process that asks for the state of a file learns its size, permissions and times. Size and time of a file that the
// program did not write are covered by its time. A file that the program wrote has another time in every run, and only
// the order of these times is the same (see file_times.go): so its content counts, and the order of all such files that
// the node asked for.
func (x *execution) readsOfChildren(t *state.Trace, found map[depgraph.Key]state.Digest) {
	p, e := x.pos, x.walk.e
	read := func(k depgraph.Key) state.Digest {
		found[k] = p.get(k).digest
		e.keepText(found[k])
		return found[k]
	}
	var written []string
	for _, path := range x.seen.Files.Looks {
		if path == e.cfg.File {
			continue // each edit gives it another size and time: all that lists the folder would run after every one
		}
		name := e.baseState.Short(path)
		if !basestate.IsFile(p.get(e.baseState.FileKey(path)).digest) {
			continue // whether a folder is there is known, and its times say nothing that a listing does not
		}
		read(depgraph.Key("mode:" + name))
		if read(depgraph.Key("time:"+name)) == digestWritten {
			read(e.baseState.FileKey(path))
			written = append(written, name)
		}
		delete(found, depgraph.Key("stat:"+name)) // what has a time, or a content, is there
	}
	if len(written) > 0 && x.seen.Files.ShowsTimes {
		x.seen.Marks = appendNew(x.seen.Marks, "clock")
	}
	if len(written) > 1 {
		read(orderKey(written))
	}
	if tools := x.seen.Files.Tools; len(tools) > 0 {
		k, list := basestate.ProgramKey(x.seen.Files.Program, tools)
		x.learn(t, k, list)
		read(k)
	}
}

// learn notes the files that witness a version: of a package, or of the programs that a node executed.
func (x *execution) learn(t *state.Trace, k depgraph.Key, files string) {
	if t.Paths == nil {
		t.Paths = map[depgraph.Key]string{}
	}
	t.Paths[k] = files
	x.walk.e.baseState.Learn(map[depgraph.Key]string{k: files})
}

// markSubprocess marks a node that started a process of which not all is known.
const markSubprocess = "subprocess"

// noteOrder notes the order of the times of the files that the node wrote, for programs that compare times.
func (x *execution) noteOrder(t *state.Trace, files map[string]fileWrite) {
	var names []string
	for name, fw := range files {
		if basestate.IsFile(fw.after) {
			names = append(names, name)
		}
	}
	if len(names) >= 2 {
		t.FileOrder = x.walk.e.fileOrder(names)
	}
}

// orderKey names the order in which files were written, as a child process that compares their times reads it.
func orderKey(names []string) depgraph.Key {
	slices.Sort(names)
	return depgraph.Key("order:" + strings.Join(names, "\n"))
}
