package runner

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// finding is what was decided about a node, and what it changes for the nodes after it.
type finding struct {
	trace   state.Digest // the reused result
	flags   uint8
	open    *PlanNode     // nil where a result is reused
	failed  state.BlockID // the block whose failure poisons what it writes
	writes  map[depgraph.Key]state.Digest
	aliases aliasFact
	queried []uint32
}

// visit decides about node n.
func (pl *Planner) visit(ctx context.Context, n uint32) error {
	pl.work.Visited++
	x, at := pl.nodes[n].block, pl.nodes[n].at
	u, err := pl.unit(ctx, x)
	if err != nil {
		return err
	}
	pl.cutUnit(x, u)
	if len(u.nodes) <= int(at) || shortCode(u.nodes[at].code) != pl.nodes[n].code {
		return fmt.Errorf("%w: a block differs from the one that was read before", errNeedsWalk)
	}
	p := &plannerPlace{pl: pl, node: n}
	stopped := false
	for _, earlier := range pl.lists.of(pl.blocks[x].nodes)[:at] {
		stopped = stopped || pl.nodes[earlier].flags&flagFails != 0
	}
	pl.ctx = ctx
	before := pl.e.compared
	d, err := pl.e.decide(p, u.nodes[at], decideOptions{stopped: stopped, pin: u.pin()})
	if err == nil {
		err = p.err
	}
	if err != nil {
		return err
	}
	pl.work.Compared += pl.e.compared - before
	found := pl.found(p, u.nodes[at], &d)
	if p.err != nil {
		return p.err
	}
	pl.put(n, found)
	return nil
}

// found returns the finding that a decision is. It gives up where the decision takes a lifetime-sensitive value:
// whether a node releases that depends on the whole state.
func (pl *Planner) found(p *plannerPlace, n *node, d *decision) finding {
	found := finding{trace: d.Trace, failed: d.failed, writes: map[depgraph.Key]state.Digest{}}
	if d.Action != ActReuse {
		found.open = &d.PlanNode
	}
	switch {
	case d.failed != "":
		found.flags |= flagFails
		for _, name := range n.facts.Defines {
			found.writes[depgraph.Var(name)] = poison
		}
		if p.get(figuresKey).digest != state.Absent {
			found.writes[figuresKey] = state.Absent
		}
	case d.trace != nil:
		p.noEnding(&d.trace.Trace)
		for _, w := range d.trace.Writes {
			if w.Digest == state.Absent && w.Key.Space() == "var" {
				if _, bad := p.get(w.Key).poisoned(); bad {
					continue // see programState.apply
				}
			}
			found.writes[w.Key] = w.Digest
			if d.trace.Info[w.Key].LifetimeSensitive {
				p.err = fmt.Errorf("%w: a value has a finalizer or weak references", errNeedsWalk)
			}
		}
		found.aliases = aliasFact{d.trace.AliasSensitive, d.trace.AliasesAfter}
	default:
		found.flags |= flagUnknown
		p.noEnding(d.Last)
		for k := range possibleWrites(n, d.Last) {
			found.writes[k] = unknown
		}
	}
	slices.Sort(p.queried)
	found.queried = slices.Compact(p.queried)
	return found
}

// retract removes what was decided about a node.
func (pl *Planner) retract(n uint32) { pl.put(n, finding{}) }

// put stores the finding of n, and requeues the nodes that queried what it changes.
func (pl *Planner) put(n uint32, found finding) {
	pl.putQueried(n, found.queried)
	alike, aliasedNames := pl.sameAliases(n, found), map[string]bool{}
	if !alike {
		pl.sharers(n, found, aliasedNames)
		pl.removeAliases(n)
	}
	sameTrace := found.trace != "" && pl.nodes[n].flags&flagTrace != 0 && hexDigest(&pl.nodes[n].trace) == found.trace
	pl.putWrites(n, found, sameTrace)
	if !alike {
		pl.addAliases(n, found.aliases)
		pl.sharers(n, found, aliasedNames)
		for name := range aliasedNames {
			pl.requeueAll(depgraph.Var(name), n)
		}
	}
	node := &pl.nodes[n]
	if (node.flags^found.flags)&flagFails != 0 {
		for _, later := range pl.lists.of(pl.blocks[node.block].nodes)[node.at+1:] {
			pl.push(later)
		}
	}
	node.flags = node.flags&^(flagTrace|flagFails|flagUnknown) | found.flags
	if found.trace != "" {
		node.trace, node.flags = rawDigest(found.trace), node.flags|flagTrace
	}
	if delete(pl.open, n); found.open != nil {
		pl.open[n] = found.open
	}
}

// putQueried sets the keys that the decision about a node queried. They are ascending.
func (pl *Planner) putQueried(n uint32, queried []uint32) {
	if slices.Equal(pl.lists.of(pl.nodes[n].queried), queried) {
		return
	}
	old := slices.Clone(pl.lists.of(pl.nodes[n].queried)) // the array of lists may move
	for _, k := range old {
		if _, stays := slices.BinarySearch(queried, k); !stays {
			pl.leave(&pl.keys[k].readers, n)
		}
	}
	for _, k := range queried {
		if _, was := slices.BinarySearch(old, k); !was {
			pl.enter(&pl.keys[k].readers, n)
		}
	}
	pl.nodes[n].queried = pl.lists.set(pl.nodes[n].queried, queried)
}

// putWrites sets what a node wrote, and requeues readers of what changed.
func (pl *Planner) putWrites(n uint32, found finding, sameTrace bool) {
	old := slices.Clone(pl.lists.of(pl.nodes[n].writes))
	for w := old; len(w) > 0; w = w[2:] {
		k := w[0]
		name := pl.keys[k].name
		was := pl.entry(k, n)
		now, stays := found.writes[name]
		if stays {
			next := entry{digest: now, failed: found.failed}
			if is(was, next) {
				pl.kept(k, n, sameTrace)
			} else {
				pl.changed(k, n, was, next)
			}
		} else {
			pl.leave(&pl.keys[k].writers, n)
			pl.changed(k, n, was, pl.entryOrBase(k, pl.writer(k, n)))
		}
		pl.drop(w[1])
	}
	var fresh []uint32
	for _, name := range slices.Sorted(maps.Keys(found.writes)) {
		k, now := pl.key(name), found.writes[name]
		fresh = append(fresh, k, pl.digest(now))
		if writes(old, k) {
			continue
		}
		was := pl.entryOrBase(k, pl.writer(k, n))
		pl.enter(&pl.keys[k].writers, n)
		pl.changed(k, n, was, entry{digest: now, failed: found.failed})
	}
	pl.nodes[n].writes = pl.lists.set(pl.nodes[n].writes, fresh)
	if delete(pl.failed, n); found.failed != "" {
		pl.failed[n] = found.failed
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

// unqueried is the digest of a key before the first node, as long as no node queried it there.
const unqueried state.Digest = "!unqueried"

// entryOrBase returns what k has where n was its last writer, or before the first node.
func (pl *Planner) entryOrBase(k, n uint32) entry {
	e := pl.entry(k, n)
	if n == 0 {
		if hasBase(pl.keys[k].name) {
			var queried bool
			if e.digest, queried = pl.base[k]; !queried {
				e.digest = unqueried
			}
		}
	}
	return e
}

// is reports whether two entries are equal for a reader, whichever node wrote them.
func is(a, b entry) bool { return a.digest == b.digest && (a.digest != poison || a.failed == b.failed) }

// kept requeues the nodes that read what values reach. An equal digest from another trace may reach other code.
func (pl *Planner) kept(k, n uint32, sameTrace bool) {
	if !sameTrace && pl.keys[k].name.Space() == "var" {
		pl.requeueAll(keyReach, n)
	}
}

// changed requeues the readers of k after n, where its entry or its writer changed.
func (pl *Planner) changed(k, n uint32, was, now entry) {
	pl.requeue(k, n, !is(was, now))
	switch pl.keys[k].name.Space() {
	case "var":
		pl.requeueAll(keyReach, n)
	case "file":
		pl.requeueAll(keyFile, n)
	case "env":
		pl.requeueAll(keyEnv, n)
	}
}

// requeue queues the nodes that queried k after node n, up to and with the next writer. Where the digest is equal, it
// queues only those whose reason may name the writer. n is 0 for the beginning of the program.
func (pl *Planner) requeue(k, n uint32, differs bool) {
	next := pl.after(pl.keys[k].writers, n)
	_, piece, more := pl.seek(pl.keys[k].readers, n) // no iterator: this is what invalidation costs
	for {
		for _, r := range piece {
			if next != 0 && pl.before(next, r) {
				return
			}
			if r != n && (differs || pl.open[r] != nil) {
				pl.push(r)
			}
		}
		if len(more) == 0 {
			return
		}
		piece, more = more[0], more[1:]
	}
}

// requeueAll queues all nodes after n that queried a key of the planner's own.
func (pl *Planner) requeueAll(name depgraph.Key, n uint32) {
	k := pl.known(name)
	if k == 0 {
		return
	}
	for r := range pl.from(pl.keys[k].readers, n) {
		if r != n {
			pl.push(r)
		}
	}
}

// removeAliases removes what a node said about names that share.
func (pl *Planner) removeAliases(n uint32) {
	old, ok := pl.shared[n]
	if !ok {
		return
	}
	remove := func(name depgraph.Key) { pl.leave(&pl.keys[pl.key(name)].writers, n) }
	for _, name := range old.touched {
		remove(depgraph.Key(keyTouch + name))
	}
	for _, s := range old.after {
		pr := pair{s[0], s[1]}
		remove(shareKey(pr))
		for _, name := range pr {
			all := pl.partners[name]
			if all[pr]--; all[pr] == 0 {
				delete(all, pr)
			}
			if len(all) == 0 {
				delete(pl.partners, name)
			}
		}
	}
	delete(pl.shared, n)
}

// addAliases adds what a node says about names that share.
func (pl *Planner) addAliases(n uint32, now aliasFact) {
	if len(now.touched)+len(now.after) == 0 {
		return
	}
	pl.shared[n] = now
	add := func(name depgraph.Key) { pl.enter(&pl.keys[pl.key(name)].writers, n) }
	for _, name := range now.touched {
		add(depgraph.Key(keyTouch + name))
	}
	for _, s := range now.after {
		pr := pair{s[0], s[1]}
		add(shareKey(pr))
		for _, name := range pr {
			if pl.partners[name] == nil {
				pl.partners[name] = map[pair]int{}
			}
			pl.partners[name][pr]++
		}
	}
}

// sharers adds to names those that share with what n writes or touches, and those that n lists as sharing.
func (pl *Planner) sharers(n uint32, found finding, names map[string]bool) {
	about := func(name string) {
		for pr := range pl.partners[name] {
			names[pr[0]], names[pr[1]] = true, true
		}
	}
	for w := pl.lists.of(pl.nodes[n].writes); len(w) > 0; w = w[2:] {
		if name := pl.keys[w[0]].name; name.Space() == "var" {
			about(name.Name())
		}
	}
	for name := range found.writes {
		if name.Space() == "var" {
			about(name.Name())
		}
	}
	for _, s := range []aliasFact{pl.shared[n], found.aliases} {
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

// sameAliases reports whether n removes and adds the same aliases as before.
func (pl *Planner) sameAliases(n uint32, found finding) bool {
	old, writes := pl.shared[n], pl.lists.of(pl.nodes[n].writes)
	if (pl.nodes[n].flags^found.flags)&flagUnknown != 0 || len(writes) != 2*len(found.writes) {
		return false
	}
	for ; len(writes) > 0; writes = writes[2:] {
		if _, ok := found.writes[pl.keys[writes[0]].name]; !ok {
			return false
		}
	}
	return slices.Equal(old.touched, found.aliases.touched) &&
		slices.EqualFunc(old.after, found.aliases.after, slices.Equal)
}

// checkUnfolding returns errNeedsWalk where functions of the program are unfolded, or could be expected to be.
func (pl *Planner) checkUnfolding(ctx context.Context) error {
	if pl.calls.both == 0 && len(pl.calls.lastValues) == 0 {
		return nil
	}
	var units []*unit
	for x := pl.blocks[0].next; x != 0; x = pl.blocks[x].next {
		u, err := pl.unit(ctx, x)
		if err != nil {
			return err
		}
		units = append(units, &unit{ProgramBlock: u.ProgramBlock, facts: u.facts, err: u.err})
	}
	if found := unfold(units); len(found.Nodes)+len(found.Whole) > 0 {
		return fmt.Errorf("%w: nodes of a block depend on other blocks", errNeedsWalk)
	}
	return nil
}
