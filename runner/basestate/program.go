package basestate

import (
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/state"
)

// Programs that a node executes, with the libraries, headers and settings of the system that they use, are one input of
// the node: the key program:NAME@LIST. The list of files is learnt with a trace, and LIST is its digest. A file counts
// by its identity (size, time of change, inode), for an installation replaces it, and a compiler has thousands of them.
// A file that is not there counts as absent.

// Folded lists of files: of a folder with more than foldedFiles, the folder is compared instead, for what is installed
// or removed changes its time. Of long lists, smaller folders are folded.
const (
	foldedFiles     = 200
	longList        = 600
	foldedFilesLong = 20
)

// ProgramKey returns the key of programs, by the name of the first, and the list of the files that they use. A folder
// whose list is read ends in a slash.
func ProgramKey(name string, files []string) (depgraph.Key, string) {
	if name == "" {
		name = "fork" // a copy of the interpreter
	}
	list := strings.Join(folded(files), "\n")
	return depgraph.Key("program:" + name + "@" + string(state.DigestOf([]byte(list))[:12])), list
}

// folded makes a list shorter.
func folded(files []string) []string {
	most := foldedFiles
	if len(files) > longList {
		most = foldedFilesLong
	}
	count := map[string]int{}
	for _, f := range files {
		count[path.Dir(f)]++
	}
	var list []string
	for _, f := range files {
		if dir := path.Dir(f); count[dir] > most && !strings.HasSuffix(f, "/") {
			f = dir + "/"
		}
		list = append(list, f)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// programDigest digests the identities of the files that a program: key names.
func programDigest(files string) state.Digest {
	if files == "" {
		return state.Absent
	}
	var b strings.Builder
	for f := range strings.SplitSeq(files, "\n") {
		fmt.Fprintf(&b, "%q %s\n", f, identity(f))
	}
	return state.DigestOf([]byte(b.String()))
}

// identity returns a text that changes when a file becomes another. Of a folder it is whether that is there, and with a
// slash at the end also whether what it lists is the same.
func identity(name string) string {
	info, err := beneath.LookThrough(name)
	switch {
	case err != nil:
		return "absent"
	case info.Mode.IsDir() && !strings.HasSuffix(name, "/"):
		return "folder"
	case info.Mode.IsDir() && holdsPython(name):
		return identityOfList(name)
	}
	size := info.Size
	if info.Mode.IsDir() {
		size = 0 // it depends on the file system
	}
	return fmt.Sprintf("%d %d %d", size, info.Time.UnixNano(), info.Inode)
}

// holdsPython reports whether a folder is one of modules of Python. The first import of a module makes __pycache__ in
// it, which changes the time of the folder.
func holdsPython(folder string) bool {
	return strings.Contains(folder, "/site-packages/") || strings.Contains(folder, "/dist-packages/") ||
		strings.Contains(folder, "/lib/python") || strings.Contains(folder, "/lib64/python")
}

// identityOfList returns a text that changes when a folder lists something else, or one of its files becomes another.
// Compiled Python does not count.
func identityOfList(folder string) string {
	names, err := beneath.List(folder)
	if err != nil {
		return "unreadable"
	}
	h := sha256.New()
	for _, n := range names {
		if n != "__pycache__" {
			fmt.Fprintf(h, "%q %s\n", n, identity(path.Join(folder, n)))
		}
	}
	return fmt.Sprintf("list %x", h.Sum(nil)[:12])
}
