package runner

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/basestate"
	"github.com/xstate-engine/xstate/runner/beneath"
)

// Programs such as make compare the times of files. In a whole run, a file has the time at which its last writer ran,
// so the times are in the order of the writers, and later than those of the files that the program does not write. Here
// a file that is restored would be newer than what a later node wrote, and an edited file newer than what an earlier
// node wrote in the run before. So times are put in order before a node executes, and at the end:
//
//   - Files of different nodes have different times, in the order of the nodes.
//   - Files of one node are in the order in which the node left them (state.Trace.FileOrder).
//   - If the program starts processes, they are not older than any file of the workspace that it does not write.
//
// A time that is in order stays: to set one costs a hash of the file.

// apart is how far the times of files are set apart.
const apart = time.Microsecond

// timedFile is a file that the program wrote.
type timedFile struct {
	name        string
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
		folder, in, err := w.e.baseState.Place(f.name)
		if err == nil {
			err = folder.SetTime(in, f.want)
		}
		if err != nil {
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
		if info := w.e.baseState.Stat(name); info != nil && info.Regular() && !linked(info) {
			files = append(files, timedFile{name, e.writer, e.age, info.Time, info.Time})
		}
	}
	slices.SortFunc(files, func(a, b timedFile) int {
		return cmp.Or(cmp.Compare(a.writer, b.writer), cmp.Compare(a.age, b.age), cmp.Compare(a.name, b.name))
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
	folder, _, err := w.e.baseState.Place(".")
	if err != nil {
		return *w.newest
	}
	_ = folder.Walk(func(name string, info *beneath.Info, err error) error {
		if left--; err != nil || left < 0 {
			return fs.SkipAll
		}
		if base := path.Base(name); info.Mode.IsDir() && (strings.HasPrefix(base, ".") || base == "__pycache__") {
			return fs.SkipDir
		}
		if _, own := w.e.cfg.Files[name]; own || !info.Regular() {
			return nil
		}
		if info.Time.After(*w.newest) && info.Time.Before(now) {
			*w.newest = info.Time
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
func dropCompiled(at *basestate.State, name string) {
	stem, ok := strings.CutSuffix(path.Base(name), ".py")
	folder, in, err := at.Place(path.Join(path.Dir(name), "__pycache__"))
	if !ok || err != nil {
		return
	}
	compiled, err := folder.Names(in)
	for _, f := range compiled {
		if err == nil && strings.HasPrefix(f, stem+".") && strings.HasSuffix(f, ".pyc") {
			_ = folder.Remove(path.Join(in, f)) // Python makes it again
		}
	}
}

// fileOrder sorts the names of files by their times.
func (e *Engine) fileOrder(names []string) []string {
	times := map[string]time.Time{}
	for _, name := range names {
		if info := e.baseState.Stat(name); info != nil {
			times[name] = info.Time
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(times[a].Compare(times[b]), cmp.Compare(a, b)) })
	return names
}
