package runner

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// finding is what was decided about a node, and what that makes of the position after it.
type finding struct {
	trace  state.Digest // that is reused
	flags  uint8
	open   *PlanNode     // nil: it is reused
	failed state.BlockID // whose failure poisons what it writes
	writes map[depgraph.Key]state.Digest
	shares saying
	asked  []uint32
}

// visit decides anew about node n.
func (f *Flow) visit(ctx context.Context, n uint32) error {
	f.work.Visited++
	x, at := f.nodes[n].block, f.nodes[n].at
	u, err := f.unit(ctx, x)
	if err != nil {
		return err
	}
	f.cutUnit(x, u)
	if len(u.nodes) <= int(at) || shortCode(u.nodes[at].code) != f.nodes[n].code {
		return fmt.Errorf("%w: a block is another one than it was", ErrWalk)
	}
	p := &flowPlace{f: f, node: n}
	stopped := false
	for _, earlier := range f.lists.of(f.blocks[x].nodes)[:at] {
		stopped = stopped || f.nodes[earlier].flags&flagFails != 0
	}
	f.ctx = ctx
	before := f.e.compared
	d, err := f.e.decide(p, u.nodes[at], stopped)
	if err == nil {
		err = p.err
	}
	if err != nil {
		return err
	}
	f.work.Compared += f.e.compared - before
	found := f.found(p, u.nodes[at], &d)
	if p.err != nil {
		return p.err
	}
	f.put(n, found)
	return nil
}

// found is what a decision makes of the position.
func (f *Flow) found(p *flowPlace, n *node, d *decision) finding {
	found := finding{trace: d.Trace, failed: d.poisons, writes: map[depgraph.Key]state.Digest{}}
	if d.Action != ActReuse {
		found.open = &d.PlanNode
	}
	switch {
	case d.poisons != "":
		for _, name := range n.facts.Defines {
			found.writes[depgraph.Var(name)] = poison
		}
		if d.trace != nil {
			found.flags |= flagFails
		}
	case d.trace != nil:
		for _, w := range d.trace.Writes {
			if w.Digest == state.Absent && w.Key.Space() == "var" {
				if _, bad := p.get(w.Key).poisoned(); bad {
					continue // see position.apply
				}
			}
			found.writes[w.Key] = w.Digest
			if d.trace.Info[w.Key].LifetimeSensitive {
				p.err = fmt.Errorf("%w: somebody may notice that a value goes", ErrWalk)
			}
		}
		found.shares = saying{d.trace.AliasSensitive, d.trace.AliasesAfter}
	default:
		found.flags |= flagSupposed
		for k := range supposed(n, d.Last) {
			found.writes[k] = unknown
		}
	}
	slices.Sort(p.asked)
	found.asked = slices.Compact(p.asked)
	return found
}

// retract takes back what was decided about a node.
func (f *Flow) retract(n uint32) { f.put(n, finding{}) }

// put makes found what is decided about n, and lets those wait whose answers are others by that.
func (f *Flow) put(n uint32, found finding) {
	f.putAsked(n, found.asked)
	alike, sharing := f.sharesAlike(n, found), map[string]bool{}
	if !alike {
		f.sharers(n, found, sharing)
		f.unshare(n)
	}
	sameTrace := found.trace != "" && f.nodes[n].flags&flagTrace != 0 && hexDigest(&f.nodes[n].trace) == found.trace
	f.putWrites(n, found, sameTrace)
	if !alike {
		f.share(n, found.shares)
		f.sharers(n, found, sharing)
		for name := range sharing {
			f.wakeAll(depgraph.Var(name), n)
		}
	}
	node := &f.nodes[n]
	if (node.flags^found.flags)&flagFails != 0 {
		for _, later := range f.lists.of(f.blocks[node.block].nodes)[node.at+1:] {
			f.push(later)
		}
	}
	node.flags = node.flags&^(flagTrace|flagFails|flagSupposed) | found.flags
	if found.trace != "" {
		node.trace, node.flags = rawDigest(found.trace), node.flags|flagTrace
	}
	if delete(f.open, n); found.open != nil {
		f.open[n] = found.open
	}
}

// putAsked makes the keys that a node asks for those given, ascending.
func (f *Flow) putAsked(n uint32, asked []uint32) {
	if slices.Equal(f.lists.of(f.nodes[n].asked), asked) {
		return
	}
	old := slices.Clone(f.lists.of(f.nodes[n].asked)) // the array may move
	for _, k := range old {
		if _, stays := slices.BinarySearch(asked, k); !stays {
			f.leave(&f.keys[k].readers, n)
		}
	}
	for _, k := range asked {
		if _, was := slices.BinarySearch(old, k); !was {
			f.enter(&f.keys[k].readers, n)
		}
	}
	f.nodes[n].asked = f.lists.set(f.nodes[n].asked, asked)
}

// putWrites makes what a node wrote what was found.
func (f *Flow) putWrites(n uint32, found finding, sameTrace bool) {
	old := slices.Clone(f.lists.of(f.nodes[n].writes))
	for w := old; len(w) > 0; w = w[2:] {
		k := w[0]
		name := f.keys[k].name
		was := f.entry(k, n)
		now, stays := found.writes[name]
		if stays {
			next := entry{digest: now, failed: found.failed}
			if is(was, next) {
				f.kept(k, n, sameTrace)
			} else {
				f.changed(k, n, was, next)
			}
		} else {
			f.leave(&f.keys[k].writers, n)
			f.changed(k, n, was, f.entryOrBase(k, f.writer(k, n)))
		}
		f.drop(w[1])
	}
	var fresh []uint32
	for _, name := range slices.Sorted(maps.Keys(found.writes)) {
		k, now := f.key(name), found.writes[name]
		fresh = append(fresh, k, f.digest(now))
		if writes(old, k) {
			continue
		}
		was := f.entryOrBase(k, f.writer(k, n))
		f.enter(&f.keys[k].writers, n)
		f.changed(k, n, was, entry{digest: now, failed: found.failed})
	}
	f.nodes[n].writes = f.lists.set(f.nodes[n].writes, fresh)
	if delete(f.failed, n); found.failed != "" {
		f.failed[n] = found.failed
	}
}

func writes(list []uint32, k uint32) bool {
	for ; len(list) > 0; list = list[2:] {
		if list[0] == k {
			return true
		}
	}
	return false
}

// unasked is what a key has before the first node, as long as nobody asked.
const unasked state.Digest = "!unasked"

// entryOrBase is what k has where n was the last to write it.
func (f *Flow) entryOrBase(k, n uint32) entry {
	e := f.entry(k, n)
	if n == 0 {
		switch f.keys[k].name.Space() {
		case "var", "display", "link", "held", "load":
		default:
			var asked bool
			if e.digest, asked = f.base[k]; !asked {
				e.digest = unasked
			}
		}
	}
	return e
}

// is reports whether two entries are the same to who asks, but for who wrote them.
func is(a, b entry) bool { return a.digest == b.digest && (a.digest != poison || a.failed == b.failed) }

// kept lets those wait who may find another thing in what n wrote to k, though it is the same by its digest: what it reaches.
func (f *Flow) kept(k, n uint32, sameTrace bool) {
	if !sameTrace && f.keys[k].name.Space() == "var" {
		f.wakeAll(askReach, n)
	}
}

// changed lets those wait who asked for k after n, where it was one and is another, or is written by another node.
func (f *Flow) changed(k, n uint32, was, now entry) {
	f.wake(k, n, !is(was, now))
	switch f.keys[k].name.Space() {
	case "var":
		f.wakeAll(askReach, n)
	case "file":
		f.wakeAll(askFile, n)
	case "env":
		f.wakeAll(askEnv, n)
	}
}

// wake lets those wait who asked for k after node n, up to and with the next that writes it; where its digest is the same, only
// those whose reason may name who wrote it. n is 0 for the beginning.
func (f *Flow) wake(k, n uint32, differs bool) {
	next := f.after(f.keys[k].writers, n)
	_, piece, more := f.seek(f.keys[k].readers, n) // no iterator: this is what invalidation costs
	for {
		for _, r := range piece {
			if next != 0 && f.before(next, r) {
				return
			}
			if r != n && (differs || f.open[r] != nil) {
				f.push(r)
			}
		}
		if len(more) == 0 {
			return
		}
		piece, more = more[0], more[1:]
	}
}

// wakeAll lets all wait who asked for a key of the flow's own after node n.
func (f *Flow) wakeAll(name depgraph.Key, n uint32) {
	k := f.known(name)
	if k == 0 {
		return
	}
	for r := range f.from(f.keys[k].readers, n) {
		if r != n {
			f.push(r)
		}
	}
}

// unshare takes back what a node said of names that share.
func (f *Flow) unshare(n uint32) {
	old, ok := f.shared[n]
	if !ok {
		return
	}
	remove := func(name depgraph.Key) { f.leave(&f.keys[f.key(name)].writers, n) }
	for _, name := range old.touched {
		remove(depgraph.Key(askTouch + name))
	}
	for _, s := range old.after {
		pr := pair{s[0], s[1]}
		remove(shareKey(pr))
		for _, name := range pr {
			all := f.partners[name]
			if all[pr]--; all[pr] == 0 {
				delete(all, pr)
			}
			if len(all) == 0 {
				delete(f.partners, name)
			}
		}
	}
	delete(f.shared, n)
}

// share makes known what a node says of names that share.
func (f *Flow) share(n uint32, now saying) {
	if len(now.touched)+len(now.after) == 0 {
		return
	}
	f.shared[n] = now
	add := func(name depgraph.Key) { f.enter(&f.keys[f.key(name)].writers, n) }
	for _, name := range now.touched {
		add(depgraph.Key(askTouch + name))
	}
	for _, s := range now.after {
		pr := pair{s[0], s[1]}
		add(shareKey(pr))
		for _, name := range pr {
			if f.partners[name] == nil {
				f.partners[name] = map[pair]int{}
			}
			f.partners[name][pr]++
		}
	}
}

// sharers adds the names that share with what n writes or touches, or that it says to share.
func (f *Flow) sharers(n uint32, found finding, names map[string]bool) {
	about := func(name string) {
		for pr := range f.partners[name] {
			names[pr[0]], names[pr[1]] = true, true
		}
	}
	for w := f.lists.of(f.nodes[n].writes); len(w) > 0; w = w[2:] {
		if name := f.keys[w[0]].name; name.Space() == "var" {
			about(name.Name())
		}
	}
	for name := range found.writes {
		if name.Space() == "var" {
			about(name.Name())
		}
	}
	for _, s := range []saying{f.shared[n], found.shares} {
		for _, name := range s.touched {
			about(name)
		}
		for _, pr := range s.after {
			names[pr[0]], names[pr[1]] = true, true
			about(pr[0])
			about(pr[1])
		}
	}
}

// sharesAlike reports whether n takes away, and says, the same sharing as before.
func (f *Flow) sharesAlike(n uint32, found finding) bool {
	old, writes := f.shared[n], f.lists.of(f.nodes[n].writes)
	if (f.nodes[n].flags^found.flags)&flagSupposed != 0 || len(writes) != 2*len(found.writes) {
		return false
	}
	for ; len(writes) > 0; writes = writes[2:] {
		if _, ok := found.writes[f.keys[writes[0]].name]; !ok {
			return false
		}
	}
	return slices.Equal(old.touched, found.shares.touched) && slices.EqualFunc(old.after, found.shares.after, slices.Equal)
}
