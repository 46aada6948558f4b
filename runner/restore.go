package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// before makes the kernel's state that of p, for the names in namesToBind. They are bound to their values at p,
// no name has anything else, and hidden state, environment and the program's files are as they are at p.
//
// The engine loads values that the kernel does not have. If a value was not stored, the engine re-runs the node that
// wrote it, from that node's own prior state, recursively. Each rebuild is of an earlier node, so the recursion ends.
func (w *walk) before(ctx context.Context, p *programState, at int, namesToBind []string) error {
	if !w.listsSubclasses(p, w.nodes[at]) {
		return w.restoreState(ctx, p, at, namesToBind)
	}
	classes := p.namesReachingCode() // in the order in which a class lists its subclasses
	for i := range classes {
		if err := w.restoreState(ctx, p, at, classes[:i+1]); err != nil {
			return err
		}
	}
	return w.restoreState(ctx, p, at, append(classes, namesToBind...))
}

// restoreState restores the state for names in any order.
func (w *walk) restoreState(ctx context.Context, p *programState, at int, namesToBind []string) error {
	for range 2*len(w.nodes) + 8 {
		if err := w.e.need(ctx, w); err != nil {
			return err
		}
		// Only a new interpreter has libraries as they were, and none of the processes that were started.
		if !w.behind(p, at, modulesKey, w.e.kernelState.modules) ||
			!w.behind(p, at, runningKey, w.e.kernelState.running) || w.misloaded(p, at) {
			w.e.dropKernel()
			continue
		}
		if stale, err := w.unloadModules(ctx, p, at); err != nil {
			return err
		} else if stale {
			w.e.dropKernel()
			continue
		}
		if i := w.nextState(p, at, namesToBind); i >= 0 {
			if err := w.rebuild(ctx, i); err != nil {
				return err
			}
			continue
		}
		if err := w.makeWay(ctx, p); err != nil {
			return err
		}
		if lost, err := w.environment(ctx, p); err != nil { // before libraries are imported that look at it
			return err
		} else if lost >= 0 {
			return w.lost(lost)
		}
		missing, err := w.bindAll(ctx, p, at, namesToBind)
		if err == nil && missing < 0 {
			err = w.unparkRebound(ctx, p, at)
		}
		if err != nil {
			return err
		}
		if missing < 0 {
			if missing, err = w.nextOpen(ctx, p, at, namesToBind); err != nil {
				return err
			}
		}
		if missing < 0 {
			if gone, err := w.detachOthers(ctx, p); err != nil {
				return err
			} else if gone {
				continue // with names that used them
			}
		}
		if missing < 0 && w.e.kernelState.figures != p.get(figuresKey).digest {
			if p.get(figuresKey).digest != state.Absent {
				missing = p.get(figuresKey).writer
			} else if err := w.closeFigures(ctx); err != nil {
				return err
			}
		}
		if missing < 0 {
			if err := w.filesAt(p, w.leftToRunning(p)); err != nil { // the working directory may be one of them
				return err
			}
			if missing, err = w.hidden(ctx, p); err != nil || missing < 0 {
				return err
			}
		}
		if missing >= at {
			return fmt.Errorf("runner: internal error: node %d needs a later node %d", at, missing)
		}
		if err := w.rebuild(ctx, missing); err != nil {
			return err
		}
	}
	return fmt.Errorf("the state before block %s %w", w.nodes[at].unit.ID, errStuck)
}

func (w *walk) closeFigures(ctx context.Context) error {
	err := w.e.kernel.CloseDisplays(ctx)
	w.e.kernelState.figures = state.Absent
	return err
}

// makeWay parks or unbinds every group that p does not have. If p has only a part of a group, because a name was
// rebound or poisoned since, that part stays.
func (w *walk) makeWay(ctx context.Context, p *programState) error {
	m := &w.e.kernelState
	shared := aliasedNames(p.aliases, m.aliases)
	groups := map[groupDigest][]string{}
	for name := range m.differing(p, shared) {
		b, bound := m.bound[name]
		e := p.keys.of(depgraph.Var(name))
		if bound && (shared[name] || isGroup(b.groupDigest) || e.digest != b.digest || !w.laidOut(name, e)) {
			groups[b.groupDigest] = append(groups[b.groupDigest], name)
		} // else it stays
	}
	req, digests := kernel.Binding{}, groupDigests{of: p}
	for _, j := range slices.Sorted(maps.Keys(groups)) {
		slices.Sort(groups[j])
		for _, set := range parts(j, groups[j]) {
			kept := w.project(p, set)
			if _, twice := m.parked[j]; len(kept) == 0 && !twice && w.current(p, set) {
				req.Park = append(req.Park, kernel.Parking{Group: j, Names: set})
				m.park(j, set)
			}
			for _, name := range set {
				if kept[name] {
					b := m.bound[name]
					b.groupDigest = digests.get(name)
					m.put(name, b)
				} else {
					req.Unbind = append(req.Unbind, name)
					m.unbind(name)
				}
			}
		}
	}
	m.agree(p)
	if len(req.Unbind) == 0 {
		return nil
	}
	req.Drop = m.evict(cmp.Or(w.o.Memory, defaultMemory))
	return w.e.kernel.Bind(ctx, req)
}

// project returns the names of a bound group that are, with all that p has them share with, as p has them. Of those of
// which only some can stay, because they share no longer, those stay that were not written since: another may have come
// to an equal value, and to make that again will not make this.
func (w *walk) project(p *programState, set []string) map[string]bool {
	m := &w.e.kernelState
	kept, done := map[string]bool{}, map[string]bool{}
	set, writers := slices.Clone(set), map[string]int{}
	for _, name := range set {
		if _, is := writers[name]; !is {
			group := p.group(name)
			last := p.writer(group)
			for _, n := range group {
				writers[n] = last
			}
		}
	}
	slices.SortStableFunc(set, func(a, b string) int { return cmp.Compare(writers[a], writers[b]) })
	for _, name := range set {
		if done[name] {
			continue
		}
		group := p.group(name)
		ok := true
		for _, n := range group {
			done[n] = true
			ok = ok && slices.Contains(set, n) && p.keys.of(depgraph.Var(n)).digest == m.bound[n].digest
		}
		ok = ok && w.current(p, group)
		for pr, d := range m.aliases {
			in0, in1 := slices.Contains(group, pr[0]), slices.Contains(group, pr[1])
			if in0 && in1 && p.aliases[pr] != d || in0 != in1 && (kept[pr[0]] || kept[pr[1]]) {
				ok = false
			}
		}
		for pr := range p.aliases {
			if _, have := m.aliases[pr]; !have && slices.Contains(group, pr[0]) {
				ok = false
			}
		}
		if ok {
			for _, n := range group {
				kept[n] = true
			}
		}
	}
	return kept
}

// current reports whether a bound or parked function was made from its definition as it reads now. One of a group may
// have come from the store.
func (w *walk) current(p *programState, names []string) bool {
	return len(names) > 1 || w.laidOut(names[0], p.keys.of(depgraph.Var(names[0])))
}

// laidOut is current for the one name whose value at p is e.
func (w *walk) laidOut(name string, e entry) bool {
	n := w.definitionOf(name, e)
	return n == nil || w.e.kernelState.layouts[name] == n.layout
}

// definition returns the node that defines the function bound to name at p, if it is one whose definition calls
// nothing. Such a function is made by running its definition rather than loaded: then its lines are those of the text
// as it is.
func (w *walk) definition(p *programState, name string) *node {
	return w.definitionOf(name, p.keys.of(depgraph.Var(name)))
}

// definitionOf is definition for a name whose value is e.
func (w *walk) definitionOf(name string, e entry) *node {
	if e.writer >= 0 && e.writer < len(w.nodes) {
		if n := w.nodes[e.writer]; n.facts.Kind == depgraph.KindDef && n.facts.Defines[0] == name {
			return n
		}
	}
	return nil
}

// definitions returns the names of which there is a definition at p.
func (w *walk) definitions(p *programState) (names []string) {
	for _, n := range w.definers {
		if e, ok := p.keys.find(depgraph.Var(n.facts.Defines[0])); ok && e.writer == n.index {
			names = append(names, n.facts.Defines[0])
		}
	}
	return names
}

// parts splits the names bound in groups of one joint digest into the groups: names that hold equal values but share
// nothing are separate groups under one digest.
func parts(j groupDigest, names []string) [][]string {
	if len(names) > 1 && !isGroup(j) {
		var single [][]string
		for _, n := range names {
			single = append(single, []string{n})
		}
		return single
	}
	return [][]string{names}
}

// bindAll binds the wanted names. It returns the index of a node that must be run again first, or -1.
func (w *walk) bindAll(ctx context.Context, p *programState, at int, namesToBind []string) (int, error) {
	m := &w.e.kernelState
	missing := -1
	names := w.closure(p, namesToBind)
	slices.SortStableFunc(names, func(a, b string) int { // definitions first: values that hold a function hold that one
		return cmp.Compare(defined(p, a), defined(p, b))
	})
	for _, name := range names {
		if _, live := m.bound[name]; live {
			continue
		}
		if missing >= 0 && defined(p, name) > 0 {
			break
		}
		j, names := p.groupDigest(name)
		writer, err := w.bindGroup(ctx, p, at, j, names)
		if err != nil {
			return -1, err
		}
		missing = max(missing, writer)
	}
	return missing, nil
}

// defined is 0 for a function and 1 for anything else.
func defined(p *programState, name string) int {
	if info := p.keys.of(depgraph.Var(name)).info; info != nil && info.Type == "function" {
		return 0
	}
	return 1
}

// closure returns the names that have a value at p among those wanted and those that the code of their values may
// load, sorted.
func (w *walk) closure(p *programState, namesToBind []string) []string {
	seen, grouped := map[string]bool{}, map[string]bool{}
	todo := slices.Clone(namesToBind)
	for len(todo) > 0 {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		e, ok := p.keys.find(depgraph.Var(name))
		if seen[name] || !ok || e.digest == state.Absent {
			continue
		}
		if _, bad := e.poisoned(); bad {
			continue
		}
		seen[name] = true
		if grouped[name] {
			continue
		}
		for _, n := range p.group(name) {
			grouped[n] = true
			info := p.keys.of(depgraph.Var(n)).info
			if info == nil {
				continue
			}
			todo = append(todo, info.Deps...)
			if len(info.Code) > 0 && info.Type != "function" { // it may hold any function that is bound to its name
				todo = append(todo, w.definitions(p)...)
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// bindGroup binds one group from what is parked or stored. It returns the node to run again if it cannot, else -1.
func (w *walk) bindGroup(ctx context.Context, p *programState, at int, j groupDigest, names []string) (int, error) {
	m := &w.e.kernelState
	if done, err := w.unpark(ctx, p, j, names); done || err != nil {
		return -1, err
	}
	if handles := p.handles(names); len(handles) > 0 {
		return -1, w.detachUnbound(ctx, p, handles)
	}
	writer := p.writer(names)
	if len(names) == 1 && w.definition(p, names[0]) != nil {
		return writer, nil
	}
	v, ok, err := w.e.value(j)
	if err == nil && (!ok || v.Blob == "") {
		v, ok = w.e.kernelState.outlines.value(j)
	}
	if err != nil || !ok {
		return writer, err
	}
	for _, need := range v.Needs {
		if m.classes[need.Digest] {
			continue
		}
		if by := w.definer(need, at); by >= 0 {
			return by, nil
		}
		return writer, nil
	}
	return w.load(ctx, p, j, names, v, writer)
}

// unparkRebound binds the parked groups of the names that node at binds to other values, though it may read none of
// them: the rest of such a group is a separate group after the node, and a group that is parked cannot lose a name.
func (w *walk) unparkRebound(ctx context.Context, p *programState, at int) error {
	names := slices.Clone(w.nodes[at].facts.Defines)
	if t := w.outcomes[at].t; t != nil {
		for _, a := range t.Writes {
			if a.Key.Space() == "var" {
				names = append(names, a.Key.Name())
			}
		}
	}
	m := &w.e.kernelState
	for _, name := range names {
		if _, live := m.bound[name]; live || p.get(depgraph.Var(name)).digest == state.Absent {
			continue
		}
		j, group := p.groupDigest(name)
		if len(group) > 1 {
			if _, err := w.unpark(ctx, p, j, group); err != nil {
				return err
			}
		}
	}
	return nil
}

// unpark binds a group if it is parked.
func (w *walk) unpark(ctx context.Context, p *programState, j groupDigest, names []string) (bool, error) {
	m := &w.e.kernelState
	if g, ok := m.parked[j]; !ok || !slices.Equal(g.names, names) || !w.current(p, names) {
		return false, nil
	}
	delete(m.parked, j)
	m.bind(p, j, names)
	return true, w.e.kernel.Bind(ctx, kernel.Binding{Unpark: []groupDigest{j}})
}

// definer returns the last node before at that wrote the class a stored value needs, or -1.
func (w *walk) definer(need state.Need, at int) int {
	for i := at - 1; i >= 0; i-- {
		if t := w.outcomes[i].t; t != nil && t.Err == nil {
			for _, a := range t.Writes {
				if a.Key == depgraph.Var(need.Key) && a.Digest == need.Digest {
					return i
				}
			}
		}
	}
	return -1
}

// rebuild executes node i again, for the state it leaves. If the execution differs from the recorded trace, the node is
// not reproducible: the new trace replaces the old one and the walk restarts.
func (w *walk) rebuild(ctx context.Context, i int) error {
	recorded := w.outcomes[i].t
	if recorded == nil && w.readOnly {
		return errNotKept
	}
	if recorded == nil || recorded.Err != nil {
		return fmt.Errorf("runner: internal error: node %d is to be rebuilt but has no result", i)
	}
	if w.readOnly && w.nodes[i].facts.Kind == depgraph.KindStatement {
		return errNotKept
	}
	if w.asks && w.e.cfg.Store.Foreign() {
		return errForeignCode
	}
	if w.served(i) != nil && w.nodes[i].facts.Kind == depgraph.KindStatement {
		return errServed
	}
	if err := w.mayExecute(); err != nil {
		return err
	}
	debugf("kernel", "rebuild %s", w.nodes[i].id())
	if w.nodes[i].facts.Kind == depgraph.KindStatement {
		w.restored++
	}
	want := w.stateAt(i)
	if w.rebuilding == nil {
		w.rebuilding = map[int]bool{}
	}
	w.rebuilding[i] = true
	t, err := w.executeAt(ctx, i, want, false)
	delete(w.rebuilding, i)
	if err != nil {
		return err
	}
	got := want.clone() // aliases may be reported for another name: that depends on what is bound
	got.apply(i, &t.Trace)
	want.apply(i, recorded)
	if !sameWrites(got, want, t.Writes, recorded.Writes) || !maps.Equal(got.aliases, want.aliases) ||
		(t.Ending == nil) != (recorded.Ending == nil) {
		if w.readOnly {
			return errForeign
		}
		if w.served(i) != nil {
			return errServed
		}
		debugf(
			"kernel",
			"rebuild %s: wrote %v, recorded %v; shares %v, recorded %v",
			w.nodes[i].id(),
			t.Writes,
			recorded.Writes,
			t.AliasesAfter,
			recorded.AliasesAfter,
		)
		w.differs[i]++
		w.replace(i, t, state.Reason{Code: state.ReasonLost})
		return errRestart
	}
	if w.rebuilt != nil {
		w.rebuilt[i] += t.Seconds
	}
	return nil
}

// sameWrites reports whether two states have the same of all that two executions wrote. One of these may have written
// what a key had already: a library sets a variable when it is imported, and not when the interpreter has it.
func sameWrites(p, q *programState, writes ...[]state.Access) bool {
	for _, a := range slices.Concat(writes...) {
		if p.get(a.Key).digest != q.get(a.Key).digest {
			return false
		}
	}
	return true
}

// stateAt returns the program state before node i of this walk.
func (w *walk) stateAt(i int) *programState {
	p := newProgramState(w.e.baseState.Get)
	for k, n := range w.nodes[:i] {
		out := w.outcomes[k]
		switch {
		case out.t != nil && out.t.Err == nil:
			p.apply(k, out.t)
		case out.Status == state.StatusNotReached:
		default:
			p.fail(k, cmp.Or(state.BlockID(out.Reason.By), n.unit.ID), n.facts.Defines)
		}
	}
	return p
}

// hidden makes random number generators, configuration and working directory what p has.
// It returns the index of a node that must be run again first, or -1.
func (w *walk) hidden(ctx context.Context, p *programState) (int, error) {
	m := &w.e.kernelState
	keys := map[depgraph.Key]bool{}
	for k := range m.hidden {
		keys[k] = true
	}
	for _, space := range []string{"rng", "conf", "cwd"} {
		for k := range p.keys.in(space) {
			keys[k] = true
		}
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		want, have := p.get(k).digest, p.pristine(k)
		if e, ok := m.hidden[k]; ok {
			have = e.digest
		}
		if k == modulesKey || have == want {
			continue
		}
		var body []byte
		if want != p.pristine(k) {
			v, ok, err := w.e.value(groupDigest(want))
			ok = ok && v.Tier != state.TierForeign // a pickle; the node that wrote it makes it again
			if err == nil && ok {
				body, ok, err = w.e.cfg.Store.Blob(v.Blob)
			}
			if err != nil {
				return -1, err
			}
			if !ok {
				return p.get(k).writer, nil
			}
		}
		if err := w.e.kernel.SetHidden(ctx, k, want, want == p.pristine(k), body); err != nil {
			if errors.Is(err, kernel.ErrDied) || ctx.Err() != nil {
				return -1, err
			}
			return -1, fmt.Errorf("%s %w: %w", k, errStuck, err) // a limit that can only be lowered
		}
		m.hidden[k] = entry{digest: want}
	}
	return -1, nil
}

// lost forgets that node i has a result, because a part of it is gone.
func (w *walk) lost(i int) error {
	if w.readOnly {
		return errNotKept
	}
	if i < 0 {
		return fmt.Errorf("runner: internal error: hidden state of no node is lost")
	}
	if w.served(i) != nil {
		return errServed
	}
	t, err := w.executeAt(context.Background(), i, w.stateAt(i), false)
	if err != nil {
		return err
	}
	w.differs[i]++
	w.replace(i, t, state.Reason{Code: state.ReasonLost})
	return errRestart
}

// filesAt is restoreFiles, where the nodes of the walk may execute again for a content that the store has lost.
func (w *walk) filesAt(p *programState, keep func(name string, want entry) bool) error {
	err := w.restoreFiles(p, keep)
	var lost *lostContent
	if errors.As(err, &lost) {
		return w.lost(lost.writer)
	}
	return err
}
