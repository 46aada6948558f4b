package runner

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/basestate"
)

// Programs such as make compare the times of files. In a whole run, a file has the time at which its last writer ran,
// so the times are in the order of the writers, and later than those of the files that the program does not write. Here
// a file that is restored would be newer than what a later node wrote, and an edited file newer than what an earlier
// node wrote in the run before. So times are put in order before a node executes, and at the end:
//
//   - Files of different nodes have different times, in the order of the nodes.
//   - Files of one node are in the order in which the node left them (state.Trace.FileOrder).
//   - They are not older than any file of the workspace that the program does not write, where it starts processes.
//
// A time that is in order stays: to set one costs a hash of the file.

// apart is how far the times of files are set apart.
const apart = time.Microsecond

// timedFile is a file that the program wrote.
type timedFile struct {
	path        string
	writer, age int
	time, want  time.Time
}

// orderTimes puts the times of the files that the program wrote in the order of their writers.
func (w *walk) orderTimes(p *programState) error {
	files := w.timedFiles(p)
	if len(files) == 0 {
		return nil
	}
	if floor := w.newestInput(); !floor.IsZero() {
		for i := range files {
			if f := &files[i]; f.want.Before(floor) {
				floor = floor.Add(apart)
				f.want = floor
			}
		}
	}
	for i := len(files) - 2; i >= 0; i-- {
		f, next := &files[i], files[i+1]
		limit := next.want
		if f.writer != next.writer {
			limit = limit.Add(-apart)
		}
		if f.want.After(limit) {
			f.want = limit
		}
	}
	for _, f := range files {
		if f.want.Equal(f.time) {
			continue
		}
		if err := os.Chtimes(f.path, time.Time{}, f.want); err != nil {
			return fmt.Errorf("set the time of a file that the program wrote: %w", err)
		}
	}
	return nil
}

// timedFiles returns the files that are at p as a node wrote them, in the order of their writers.
func (w *walk) timedFiles(p *programState) (files []timedFile) {
	for name := range w.e.cfg.Files {
		e := p.get(depgraph.Key("file:" + name))
		if e.writer < 0 || !basestate.IsFile(e.digest) {
			continue
		}
		path := w.e.baseState.Path(name)
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && !linked(info) {
			files = append(files, timedFile{path, e.writer, e.age, info.ModTime(), info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b timedFile) int {
		return cmp.Or(cmp.Compare(a.writer, b.writer), cmp.Compare(a.age, b.age), cmp.Compare(a.path, b.path))
	})
	return files
}

// maxInputs is how many files newestInput looks at.
const maxInputs = 5000

// newestInput returns the time of the newest file of the workspace that the program does not write. It is zero where
// the program starts no processes by its text, and in a workspace that is too large.
func (w *walk) newestInput() time.Time {
	if w.newest != nil {
		return *w.newest
	}
	w.newest = new(time.Time)
	starts := func(f depgraph.Effect) bool { return f.Kind == depgraph.EffectSubprocess }
	if !slices.ContainsFunc(w.nodes, func(n *node) bool { return slices.ContainsFunc(n.facts.Effects, starts) }) {
		return *w.newest
	}
	left, now := maxInputs, time.Now()
	root := w.e.cfg.Workspace
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if left--; err != nil || left < 0 {
			return fs.SkipAll
		}
		if d.IsDir() {
			if path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "__pycache__") {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if _, own := w.e.cfg.Files[w.e.baseState.Short(path)]; err != nil || own || !info.Mode().IsRegular() {
			return nil
		}
		if t := info.ModTime(); t.After(*w.newest) && t.Before(now) {
			*w.newest = t
		}
		return nil
	})
	if left < 0 {
		*w.newest = time.Time{}
	}
	return *w.newest
}

// dropCompiled removes what a Python process compiled of a source that has changed. Python takes a compiled file for
// up to date if the source has its size and its time in seconds: another content may come within one.
func dropCompiled(path string) {
	stem, ok := strings.CutSuffix(filepath.Base(path), ".py")
	if !ok {
		return
	}
	compiled, err := os.ReadDir(filepath.Join(filepath.Dir(path), "__pycache__"))
	for _, f := range compiled {
		if err == nil && strings.HasPrefix(f.Name(), stem+".") && strings.HasSuffix(f.Name(), ".pyc") {
			_ = os.Remove(filepath.Join(filepath.Dir(path), "__pycache__", f.Name())) // Python makes it again
		}
	}
}

// fileOrder returns the paths in the order of the times of the files.
func fileOrder(paths []string) []string {
	times := map[string]time.Time{}
	for _, path := range paths {
		if info, err := os.Lstat(path); err == nil {
			times[path] = info.ModTime()
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Or(times[a].Compare(times[b]), cmp.Compare(a, b)) })
	return paths
}

// linked reports whether a file has several names.
func linked(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && st.Nlink > 1
}
