package runner

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
)

// What child processes do to files raises no event in the interpreter. Where a program starts any, the workspace is looked
// at before and after each node that did: what differs was written by it.

const (
	scanFiles = 5000    // in a larger workspace nothing is looked at; the node is marked all the same
	scanBytes = 4 << 20 // of a file that is copied beforehand, so that it can be put back
)

// look is the workspace at one moment.
type look map[string]looked

type looked struct {
	size, mtime int64
	mode        uint32
	copy        string // where its content is, "" when it is too large
}

// spawns reports whether the text of a program shows that it starts child processes.
func spawns(units []*unit) bool {
	for _, u := range units {
		for _, n := range u.nodes {
			if slices.ContainsFunc(n.facts.Effects, func(e depgraph.Effect) bool { return e.Kind == depgraph.EffectSubprocess }) {
				return true
			}
		}
	}
	return false
}

// look notes every file of the workspace; with copies when keep is a folder to put them in.
func (e *Engine) look(keep string) look {
	found := look{}
	err := filepath.WalkDir(e.cfg.Workspace, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // gone meanwhile, or not ours to read
		}
		if name := d.Name(); d.IsDir() && path != e.cfg.Workspace && (strings.HasPrefix(name, ".") || name == "__pycache__" || name == "node_modules") {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() {
			return nil
		}
		if len(found) == scanFiles {
			return fs.SkipAll
		}
		f := looked{size: info.Size(), mtime: info.ModTime().UnixNano(), mode: uint32(info.Mode().Perm())}
		if keep != "" && f.size <= scanBytes {
			if data, err := os.ReadFile(path); err == nil {
				f.copy = filepath.Join(keep, "before-look-"+hexName(path))
				if os.WriteFile(f.copy, data, 0o600) != nil {
					f.copy = ""
				}
			}
		}
		found[path] = f
		return nil
	})
	if err != nil || len(found) >= scanFiles {
		return nil
	}
	return found
}

func hexName(path string) string { return strings.ReplaceAll(strings.Trim(path, "/"), "/", "%2F") }

// addUntraced adds to what a node was seen to write the files that differ from before.
func (x *execution) addUntraced() {
	if x.looked == nil || !x.reply.Files.Untraced {
		return
	}
	now := x.walk.e.look("")
	if x.reply.Files.Writes == nil {
		x.reply.Files.Writes = map[string]*fileBefore{}
	}
	for path, f := range now {
		was, existed := x.looked[path]
		if existed && was.size == f.size && was.mtime == f.mtime {
			continue
		}
		x.addWrite(path, was, existed)
	}
	for _, path := range slices.Sorted(maps.Keys(x.looked)) {
		if _, there := now[path]; !there {
			x.addWrite(path, x.looked[path], true)
		}
	}
}

func (x *execution) addWrite(path string, was looked, existed bool) {
	if _, seen := x.reply.Files.Writes[path]; seen {
		return
	}
	if existed { // what it is now may rest on what it was
		if x.reply.Files.Reads == nil {
			x.reply.Files.Reads = map[string]*string{}
		}
		x.reply.Files.Reads[path] = nil
	}
	switch {
	case !existed:
		x.reply.Files.Writes[path] = nil
	case was.copy != "":
		x.reply.Files.Writes[path] = &fileBefore{Copy: was.copy, Mode: was.mode, Time: was.mtime}
	default:
		x.reply.Marks = appendNew(x.reply.Marks, "file changed unseen")
	}
}
