package runner

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/basestate"
	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// A handle that stays open from one node to the next is tied to an inode, not to a path. Code that writes to the file,
// renames it or replaces it changes what the handle does later, without a look at the handle:
//
//	a = open("f", "a") ∥ os.rename("f", "g") ∥ a.write("x")
//
// So files that are open are state. The key open:NAME represents all that determines what the handles of one file do:
// their inode, the paths that lead to it, its content, their positions, and their buffers. NAME is the path at which
// the file was first found open. The key inode:PATH says which open file a path leads to.
//
// A node reads and writes open:NAME if it uses a handle of the file, leaves another one open, or writes to a path that
// leads to it. It writes a lineage: no content determines the position of a handle. When the last handle is closed, the
// key is absent again. The nodes that wrote the key since it was absent are its chain.
//
// Invariant: a name in the kernel that reaches a handle of NAME is bound as at p only where the kernel has NAME as at
// p. To bring a file there, the engine executes the nodes of the chain in order, each on the files as they were before
// it. It never writes to an inode on which a handle of the program is open: where a state has other content at the
// path, the path gets a new inode, and handles on the old one are forgotten, with the names that reach them. So a node
// finds at a path either a file that no handle knows, or the one that its handles had in the recorded run. And a node
// that turns out to have used an open file which the kernel does not have is executed again in a kernel that has it.
//
// At the end of a program, what is in buffers is written to files. The engine records that as a separate trace for each
// file that is still open then, when it ends the interpreter: it reads open:NAME, and writes the files. Where
// everything is reused, such traces say what the workspace holds after the end.
//
// Not covered: handles that no name reaches (of a module of the workspace, or in a global of a library), and loggers'
// handlers, which are reopened.

// used returns the open files that the node used or changed, as keys.
func (x *execution) used() []depgraph.Key {
	found := map[depgraph.Key]bool{}
	for _, path := range x.seen.Files.Used {
		if k := openKey(x.walk.e.baseState.Short(path)); x.pos.get(k).digest != state.Absent {
			found[k] = true
		}
	}
	for path := range x.seen.Files.Writes {
		if k := openFileAt(x.pos, x.walk.e.baseState.Short(path)); k != "" {
			found[k] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// lacking returns those of the open files used that the kernel does not have as the program has them here.
func (x *execution) lacking() []depgraph.Key {
	return slices.DeleteFunc(x.used(), func(k depgraph.Key) bool {
		return x.walk.e.kernelState.open[k] == x.pos.get(k).digest
	})
}

// openElsewhere returns the paths that lead to files open here which the kernel does not have. A node that writes to
// one is undone.
func (x *execution) openElsewhere() (paths []string) {
	for k, e := range x.pos.keys.in(spaceInode) {
		if e.digest == state.Absent {
			continue
		}
		if file := depgraph.Key(e.digest); x.walk.e.kernelState.open[file] != x.pos.get(file).digest {
			paths = append(paths, x.walk.e.baseState.Path(k.Name()))
		}
	}
	return paths
}

// openReads adds the open files that the node used to found, and which of them the paths that it wrote lead to.
func (x *execution) openReads(found map[depgraph.Key]state.Digest, writes map[string]fileWrite) {
	for _, k := range x.used() {
		found[k] = x.pos.get(k).digest
	}
	for name := range writes {
		k := inodeKey(name)
		if d := x.pos.get(k).digest; d != state.Absent {
			found[k] = d
		}
	}
}

// openWrites returns what the node made of open files, with the paths that lead to them now.
func (x *execution) openWrites(t *state.Trace) (writes []state.Access) {
	used, now := x.used(), x.openNow()
	for k := range now {
		if x.pos.get(k).digest == state.Absent {
			used = append(used, k)
		}
	}
	if len(used) == 0 {
		return nil // as nearly always: the rest looks at all keys
	}
	leads := map[depgraph.Key]state.Digest{} // which of them each path leads to, before or now
	for k, e := range x.pos.keys.in(spaceInode) {
		if slices.Contains(used, depgraph.Key(e.digest)) {
			leads[k] = state.Absent
		}
	}
	for _, k := range used {
		paths, open := now[k]
		if !open {
			writes = append(writes, state.Access{Key: k})
			continue
		}
		writes = append(writes, state.Access{Key: k, Digest: lineage(t, x.recorded, k)})
		for _, path := range paths {
			leads[inodeKey(path)] = state.Digest(k)
		}
	}
	for k, d := range leads {
		if x.pos.get(k).digest != d {
			writes = append(writes, state.Access{Key: k, Digest: d})
		}
	}
	return writes
}

// openNow returns the files that are open after the node, and the paths that lead to each.
func (x *execution) openNow() map[depgraph.Key][]string {
	now := map[depgraph.Key][]string{}
	for name, paths := range x.seen.Files.Open {
		k := openKey(x.walk.e.baseState.Short(name))
		now[k] = []string{}
		for _, path := range paths {
			now[k] = append(now[k], x.walk.e.baseState.Short(path))
		}
	}
	return now
}

// followOpen updates the kernel state after a node that wrote t.
func (m *kernelState) followOpen(t *state.Trace) {
	for _, a := range t.Writes {
		switch {
		case a.Key.Space() != spaceOpen:
		case a.Digest == state.Absent:
			delete(m.open, a.Key)
		default:
			m.open[a.Key] = a.Digest
		}
	}
}

// spoiled is the state of an open file that a failed node used.
const spoiled state.Digest = "!used"

// spoilOpen notes that a failed node used open files, and left some open.
func (x *execution) spoilOpen() {
	m := &x.walk.e.kernelState
	for _, k := range x.used() {
		m.open[k] = spoiled
	}
	for k := range x.openNow() {
		if _, known := m.open[k]; !known {
			m.open[k] = spoiled
		}
	}
}

// chain returns the nodes before at that made the state of an open file, in order.
func (w *walk) chain(k depgraph.Key, at int) (chain []int) {
	for i := range w.outcomes[:at] {
		t := w.outcomes[i].t
		if t == nil || t.Err != nil {
			continue
		}
		for _, a := range t.Writes {
			if a.Key != k {
				continue
			}
			if chain = append(chain, i); a.Digest == state.Absent {
				chain = nil
			}
		}
	}
	return chain
}

// nextOpen returns the first node to execute again for the open files that node at needs to be as p has them, or -1.
// They are those that the names to bind use, those that the node used when it executed last, and those that it turned
// out to use. Others may be wanted as well.
func (w *walk) nextOpen(
	ctx context.Context,
	p *programState,
	at int,
	namesToBind []string,
	others ...depgraph.Key,
) (int, error) {
	m, next := &w.e.kernelState, -1
	wanted := slices.Concat(p.handles(w.closure(p, namesToBind)), w.lacked[at], others)
	if at < len(w.nodes) && w.outcomes[at].t != nil {
		t := w.outcomes[at].t
		for _, a := range t.Reads {
			if a.Key.Space() == spaceOpen {
				wanted = append(wanted, a.Key)
			}
		}
	}
	for _, k := range wanted {
		want := p.get(k).digest
		if want == state.Absent || m.open[k] == want {
			continue
		}
		chain := w.chain(k, at)
		if len(chain) == 0 {
			return -1, fmt.Errorf("runner: internal error: no node opened %s", k.Name())
		}
		i := chain[0]
		if have, ok := m.open[k]; ok {
			at := slices.IndexFunc(chain, func(i int) bool {
				return slices.Contains(w.outcomes[i].t.Writes, state.Access{Key: k, Digest: have})
			})
			if at >= 0 && at+1 < len(chain) {
				i = chain[at+1]
			} else if err := w.detach(ctx, []depgraph.Key{k}); err != nil {
				return -1, err
			}
		}
		if next < 0 || i < next {
			next = i
		}
	}
	return next, nil
}

// detachUnbound takes open files from the kernel that it has as p has them, though a name that uses them is not bound:
// the chain leads to both.
func (w *walk) detachUnbound(ctx context.Context, p *programState, handles []depgraph.Key) error {
	var have []depgraph.Key
	for _, k := range handles {
		if w.e.kernelState.open[k] == p.get(k).digest {
			have = append(have, k)
		}
	}
	if len(have) == 0 {
		return nil
	}
	return w.detach(ctx, have)
}

// detachOthers takes the open files from the kernel that it does not have as p has them. It reports whether there were
// any.
func (w *walk) detachOthers(ctx context.Context, p *programState) (bool, error) {
	var others []depgraph.Key
	for k, have := range w.e.kernelState.open {
		if p.get(k).digest != have {
			others = append(others, k)
		}
	}
	if len(others) == 0 {
		return false, nil
	}
	slices.Sort(others)
	return true, w.detach(ctx, others)
}

// detach makes the kernel forget open files, with the names that use them. The paths of those that are open for writing
// get new inodes: what a handle that is left still writes must not reach a file of the program.
func (w *walk) detach(ctx context.Context, keys []depgraph.Key) error {
	e, m := w.e, &w.e.kernelState
	debugf("kernel", "detach %v", keys)
	var files []string
	for _, k := range keys {
		delete(m.open, k)
		files = append(files, e.baseState.Path(k.Name()))
	}
	uses := func(handles []string) bool {
		return slices.ContainsFunc(handles, func(file string) bool { return slices.Contains(keys, openKey(file)) })
	}
	var req kernel.Binding
	for name, b := range m.bound {
		if uses(b.handles) {
			req.Unbind = append(req.Unbind, name)
		}
	}
	for j, g := range m.parked {
		if uses(g.handles) {
			req.Drop = append(req.Drop, j)
			delete(m.parked, j)
		}
	}
	for _, name := range req.Unbind {
		m.unbind(name)
	}
	paths, err := e.kernel.Detach(ctx, files)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if !e.mayWrite(path) {
			continue
		}
		if err := e.renewInode(path); err != nil {
			return fmt.Errorf("take %s from a handle: %w", path, err)
		}
	}
	return e.kernel.Bind(ctx, req) // only now: a handle that ends writes what is in its buffer
}

// renewInode replaces a file by an equal one.
func (e *Engine) renewInode(path string) error {
	name := e.baseState.Short(path)
	info := e.baseState.Stat(name)
	if info == nil || !info.Regular() {
		return e.baseState.Failure() // or it is gone, or another kind of file is there: no handle has that
	}
	if err := e.announce(path); err != nil {
		return err
	}
	folder, in, err := e.baseState.Place(name)
	if err != nil {
		return err
	}
	from, err := folder.File(in)
	if err != nil {
		return err
	}
	defer from.Close()
	attributes := beneath.Attributes{Mode: info.Mode.Perm(), Time: info.Time}
	return folder.Replace(in, attributes, func(to *beneath.Content) error {
		_, err := io.Copy(to, from)
		return err
	})
}

// endCode is the code of the traces that record what the end of a program writes to a file that is open.
func endCode(k depgraph.Key) state.Digest {
	return state.DigestOf(fmt.Appendf(nil, "end of the program\n%q\n", k))
}

// endTrace returns what the end of the program writes to a file that is open at p.
func (e *Engine) endTrace(p *programState, k depgraph.Key) (*state.Trace, error) {
	traces, err := e.traces(endCode(k))
	for i := range traces {
		changed := func(a state.Access) bool { return p.get(a.Key).digest != a.Digest }
		lost := func(a state.Access) bool { return !e.cfg.Store.HasBlob(a.Digest) }
		if !slices.ContainsFunc(traces[i].Reads, changed) && !slices.ContainsFunc(traces[i].Writes, lost) {
			return &traces[i].Trace, err
		}
	}
	return nil, err
}

// reachEnd brings to the end, after the last node, the files that are open there and of which it is not known what the
// end writes to them.
func (w *walk) reachEnd(ctx context.Context) error {
	if w.o.Serve != nil || w.o.Discard {
		return nil
	}
	for range 2*len(w.nodes) + 8 {
		var missing []depgraph.Key
		for _, k := range w.pos.openKeys() {
			if w.e.kernelState.open[k] == w.pos.get(k).digest {
				continue
			}
			if t, err := w.e.endTrace(w.pos, k); err != nil {
				return err
			} else if t == nil {
				missing = append(missing, k)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		if err := w.e.need(ctx, w); err != nil {
			return err
		}
		i, err := w.nextOpen(ctx, w.pos, len(w.nodes), nil, missing...)
		if err == nil && i >= 0 {
			err = w.rebuild(ctx, i)
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("the end of the program %w", errStuck)
}

// ended returns the state after the end of the program. Files that the kernel has open are as the last node left them:
// the interpreter still runs.
func (w *walk) ended() (*programState, error) {
	p := w.pos
	for _, k := range w.pos.openKeys() {
		if w.e.kernelState.open[k] == w.pos.get(k).digest {
			continue
		}
		t, err := w.e.endTrace(w.pos, k)
		if err != nil {
			return nil, err
		}
		if t == nil {
			continue
		}
		if p == w.pos {
			p = p.clone()
		}
		for _, a := range t.Writes {
			p.keys.set(a.Key, entry{digest: a.Digest, writer: w.pos.get(k).writer})
		}
	}
	return p, nil
}

// flushFiles has the kernel write what it holds in buffers, and records what that made of files. The kernel ends then.
func (e *Engine) flushFiles(ctx context.Context) error {
	if e.kernel == nil || e.end == nil || len(e.kernelState.open) == 0 {
		return nil
	}
	if err := e.kernel.Flush(ctx); err != nil {
		return nil // it died: nothing more is written
	}
	for _, k := range e.end.openKeys() {
		d := e.end.get(k).digest
		if e.kernelState.open[k] != d {
			continue
		}
		t := state.Trace{Code: endCode(k), Reads: []state.Access{{Key: k, Digest: d}}, At: time.Now().UTC()}
		for at, entry := range e.end.keys.in(spaceInode) {
			if depgraph.Key(entry.digest) != k {
				continue
			}
			name := at.Name()
			r, known := e.cfg.Files[name]
			now := e.baseState.OnDisk(name)
			if !known || now == r.Left || !basestate.IsFile(now) {
				continue
			}
			ref, err := e.keepFile(name, e.cfg.Store.PutBlobFile)
			if err != nil {
				return err
			}
			e.noteWrite(name, fileWrite{before: r.Left, after: ref.Digest})
			t.Reads = append(t.Reads, state.Access{Key: at, Digest: entry.digest})
			t.Writes = append(t.Writes, state.Access{Key: depgraph.Key("file:" + name), Digest: ref.Digest})
		}
		slices.SortFunc(t.Reads, byKey)
		slices.SortFunc(t.Writes, byKey)
		t.Trust = e.trust()
		if _, err := e.cfg.Store.PutTrace(t); err != nil {
			return err
		}
	}
	return e.keepFiles()
}
