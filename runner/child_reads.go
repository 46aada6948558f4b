package runner

import (
	"os"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/basestate"
	"github.com/xstate-engine/xstate/runner/kernel"
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

// untouched reports whether a file is as it was, though native code or a child process opened it to write: then it is
// no result of the node. Another time is a change, for a process may compare it. Whether the file was there counts as
// read, also where the node removed it: on a file that is not there, the same call fails.
func (x *execution) untouched(path string, before *kernel.FileBefore, fw fileWrite) bool {
	f := &x.seen.Files
	if before == nil || !slices.Contains(f.Maybe, path) {
		return false
	}
	info, err := os.Lstat(path)
	same := err == nil && fw.before == fw.after && uint32(info.Mode().Perm()) == before.Mode&0o777 &&
		(!basestate.IsFile(fw.after) || info.ModTime().UnixNano() == before.Time)
	if same || err != nil {
		if _, read := f.Reads[path]; !read {
			how := "presence"
			f.Reads[path] = &how
		}
	}
	return same
}
