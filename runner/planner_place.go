package runner

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// plannerPlace is the place of a node. It answers from the index, and notes every query.
type plannerPlace struct {
	pl      *Planner
	node    uint32
	queried []uint32
	err     error
}

// Numbers of what a node wrote. Those from digFirst on are indices of digests; the highest bits say of which kind.
const (
	digAbsent uint32 = iota
	digUnknown
	digPoison
	digFirst
	digShort uint32 = 1 << 30 // a digest of 20 bytes, as values have
	digText  uint32 = 1 << 31
)

// known returns the number of a key, or 0 if no node wrote or queried it.
func (pl *Planner) known(name depgraph.Key) uint32 {
	return pl.byKey.find(hashText(name), func(k uint32) bool { return pl.keys[k].name == name })
}

// key returns the number of a key. It gives the key one if it has none.
func (pl *Planner) key(name depgraph.Key) uint32 {
	if k := pl.known(name); k != 0 {
		return k
	}
	k := uint32(len(pl.keys))
	pl.keys = append(pl.keys, trackedKey{name: name})
	pl.byKey.add(k)
	if s := name.Space(); s == "file" || s == "env" {
		pl.bySpace[s] = append(pl.bySpace[s], k)
	}
	return k
}

// ending reports that the program continues: the planner gives up if a node ends it.
func (p *plannerPlace) ending() ending { return ending{} }

// noEnding gives up where an execution ended the program: whether a node is reached depends on all nodes before it.
func (p *plannerPlace) noEnding(t *state.Trace) {
	if t != nil && t.Ending != nil {
		p.err = fmt.Errorf("%w: a block ends the program", errNeedsWalk)
	}
}

// ask notes a query of a key.
func (p *plannerPlace) ask(name depgraph.Key) uint32 {
	k := p.pl.key(name)
	p.queried = append(p.queried, k)
	return k
}

// writer returns the last writer of k before node n, or 0.
func (pl *Planner) writer(k, n uint32) uint32 {
	return pl.last(pl.keys[k].writers, n)
}

// written returns what node n wrote to k, which it must have written.
func (pl *Planner) written(n, k uint32) uint32 {
	for w := pl.lists.of(pl.nodes[n].writes); len(w) > 0; w = w[2:] {
		if w[0] == k {
			return w[1]
		}
	}
	panic("runner: internal error: a writer does not write " + string(pl.keys[k].name))
}

// entry returns the value of k if n was its last writer. n is 0 if there was none.
func (pl *Planner) entry(k, n uint32) entry {
	if n == 0 {
		return entry{writer: -1}
	}
	e := entry{writer: int(n)}
	switch d := pl.written(n, k); {
	case d == digAbsent:
	case d == digUnknown:
		e.digest = unknown
	case d == digPoison:
		e.digest, e.failed = poison, pl.failed[n]
	case d&digText != 0:
		e.digest = state.Digest(pl.texts[d&^digText])
	case d&digShort != 0:
		e.digest = state.Digest(hex.EncodeToString(pl.digests[d&^digShort][:20]))
	default:
		e.digest = hexDigest(&pl.digests[d])
	}
	return e
}

func (p *plannerPlace) get(name depgraph.Key) entry {
	pl := p.pl
	k := p.ask(name)
	if w := pl.writer(k, p.node); w != 0 {
		return pl.entry(k, w)
	}
	if !hasBase(name) {
		return entry{writer: -1}
	}
	here := newProgramState(p.base)
	switch name.Space() {
	case "names":
		p.err = fmt.Errorf("%w: a block reads the order in which names were bound", errNeedsWalk)
	case "reach":
		if name == reachAll {
			p.err = fmt.Errorf("%w: a block reads the order in which classes were bound", errNeedsWalk)
			break
		}
		p.ask(keyReach)
		p.all(here, "var")
		p.informed(here)
		return p.ranked(here, name)
	case "files", "dir":
		p.ask(keyFile)
		p.all(here, "file")
	case "order":
		p.err = fmt.Errorf("%w: a child process compares the times of files that blocks write", errNeedsWalk)
	case spaceScope:
		p.err = fmt.Errorf("%w: a block reads what calls before it changed", errNeedsWalk)
	case "stat", "time":
		p.one(here, depgraph.Key("file:"+name.Name()))
	case "isset":
		p.one(here, depgraph.Key("env:"+name.Name()))
	case "env":
		if _, plain := name.Cut(); plain == envAll || plain == envOfChildren {
			p.ask(keyEnv)
			p.all(here, "env")
		}
	}
	return here.get(name)
}

// base returns what a key has before the first node.
func (p *plannerPlace) base(name depgraph.Key) state.Digest {
	k := p.ask(name)
	d := p.pl.e.baseState.Get(name)
	p.pl.base[k] = d
	return d
}

// one copies what a key has here into a state.
func (p *plannerPlace) one(to *programState, name depgraph.Key) {
	k := p.ask(name)
	if w := p.pl.writer(k, p.node); w != 0 {
		to.keys.set(name, p.pl.entry(k, w))
	}
}

// all copies into a state what the keys of a space have here, as far as earlier nodes wrote them. The caller has
// queried the key that represents all of them, so their changes requeue the node.
func (p *plannerPlace) all(to *programState, space string) {
	pl := p.pl
	add := func(k uint32) {
		if w := pl.writer(k, p.node); w != 0 {
			to.keys.set(pl.keys[k].name, pl.entry(k, w))
		}
	}
	if space != "var" {
		for _, k := range pl.bySpace[space] {
			add(k)
		}
		return
	}
	for k := range pl.keys {
		if strings.HasPrefix(string(pl.keys[k].name), "var:") {
			add(uint32(k))
		}
	}
}

// ranked queries a key that a state answers with the last writer, the one with the highest number. Numbers of nodes are
// not in program order, so the writers get ranks first.
func (p *plannerPlace) ranked(aliasesAround *programState, name depgraph.Key) entry {
	var writers []uint32
	for _, e := range aliasesAround.keys.all() {
		writers = append(writers, uint32(e.writer))
	}
	writers = p.pl.sorted(slices.Values(writers))
	for k, e := range maps.Collect(aliasesAround.keys.all()) {
		e.writer = p.pl.search(writers, uint32(e.writer))
		aliasesAround.keys.set(k, e)
	}
	e := aliasesAround.get(name)
	if e.writer >= 0 {
		e.writer = int(writers[e.writer])
	}
	return e
}

// informed adds the descriptions of values, which the planner does not keep, from the traces that wrote them.
func (p *plannerPlace) informed(to *programState) {
	traces := map[int]*state.Trace{}
	for k, e := range maps.Collect(to.keys.all()) {
		n := &p.pl.nodes[e.writer]
		if n.flags&flagTrace == 0 || e.digest == poison {
			continue
		}
		t := traces[e.writer]
		if t == nil {
			found, ok, err := p.pl.e.cfg.Store.Trace(hexDigest(&n.trace))
			if err != nil || !ok {
				p.err = fmt.Errorf("%w: a result is gone", errNeedsWalk)
				return
			}
			t = &found
			traces[e.writer] = t
		}
		if info, ok := t.Info[k]; ok {
			e.info = &info
			to.keys.set(k, e)
		}
	}
}

// isLifetimeSensitive is false: the planner gives up where a value is lifetime-sensitive, see found.
func (p *plannerPlace) isLifetimeSensitive(string) bool { return false }

func (p *plannerPlace) layout(n *node, cited []string) state.Digest {
	if len(cited) == 0 {
		return state.Absent
	}
	var blocks []uint32
	for _, name := range cited {
		id := strings.TrimSuffix(strings.TrimPrefix(name, "<"), ">")
		p.ask(depgraph.Key(keyText + id))
		if x := p.pl.block(state.BlockID(id)); x != 0 {
			blocks = append(blocks, x)
		}
	}
	slices.SortFunc(blocks, func(x, y uint32) int {
		if p.pl.blocks[x].label < p.pl.blocks[y].label {
			return -1
		}
		return 1
	})
	var units []*unit
	for _, x := range slices.Compact(blocks) {
		u, err := p.pl.unit(p.pl.ctx, x)
		if err != nil {
			p.err = err
			return state.Absent
		}
		units = append(units, u)
	}
	return layoutOf(units, n, cited)
}

func (p *plannerPlace) nameOf(writer int) string {
	n := &p.pl.nodes[writer]
	b := &p.pl.blocks[n.block]
	if b.nodes.n == 1 {
		return string(b.id)
	}
	return fmt.Sprintf("%s#%d", b.id, n.at+1)
}

// aliasFact is what a trace says about names that share objects.
type aliasFact struct {
	touched []string
	after   []state.Alias
}

func (p *plannerPlace) aliasesWithin(reads []state.Access) []state.Alias {
	pl := p.pl
	if len(pl.partners) == 0 {
		return nil
	}
	read := map[string]bool{}
	for _, a := range reads {
		if a.Key.Space() == "var" {
			read[a.Key.Name()] = true
		}
	}
	return p.aliases(read, func(pr pair) bool { return read[pr[0]] && read[pr[1]] })
}

func (p *plannerPlace) aliasesAround(names []string) []state.Alias {
	if len(p.pl.partners) == 0 {
		return nil
	}
	queried := map[string]bool{}
	for _, name := range names {
		queried[name] = true
		p.ask(depgraph.Var(name))
	}
	return p.aliases(queried, func(pr pair) bool { return queried[pr[0]] || queried[pr[1]] })
}

// aliases returns the pairs that share here, of those with one of the names.
func (p *plannerPlace) aliases(names map[string]bool, keep func(pair) bool) []state.Alias {
	all := map[pair]state.Digest{}
	for name := range names {
		for pr := range p.pl.partners[name] {
			if !keep(pr) {
				continue
			}
			if d, ok := p.share(pr); ok {
				all[pr] = d
			}
		}
	}
	return sortedAliases(all, keep)
}

// share returns what was said last about a pair, unless a node wrote or touched one of its names since.
func (p *plannerPlace) share(pr pair) (state.Digest, bool) {
	pl := p.pl
	said := pl.writer(pl.key(shareKey(pr)), p.node)
	if said == 0 {
		return "", false
	}
	for _, name := range pr {
		for _, by := range []uint32{pl.remover(name, p.node), pl.writer(pl.key(depgraph.Key(keyTouch+name)), p.node)} {
			if by != 0 && pl.before(said, by) {
				return "", false
			}
		}
	}
	for _, s := range pl.shared[said].after {
		if pr == (pair{s[0], s[1]}) {
			return state.Digest(s[2]), true
		}
	}
	panic("runner: internal error: the writer of a pair does not list it")
}

func shareKey(pr pair) depgraph.Key { return depgraph.Key(keyShare + pr[0] + "\x00" + pr[1]) }

// remover returns the last node before n that is known to have written a name: one that has to run first may not.
func (pl *Planner) remover(name string, n uint32) uint32 {
	writers := pl.keys[pl.key(depgraph.Var(name))].writers
	for n = pl.last(writers, n); n != 0 && pl.nodes[n].flags&flagUnknown != 0; {
		n = pl.last(writers, n)
	}
	return n
}

// digest stores a digest that a node wrote, and returns its number.
func (pl *Planner) digest(d state.Digest) uint32 {
	switch d {
	case state.Absent:
		return digAbsent
	case unknown:
		return digUnknown
	case poison:
		return digPoison
	}
	var raw [32]byte
	n, err := 0, error(nil)
	if len(d) == 40 || len(d) == 64 {
		n, err = hex.Decode(raw[:], []byte(d))
	}
	if n == 0 || err != nil || strings.ContainsAny(string(d), "ABCDEF") {
		i, ok := pl.byText[string(d)]
		if !ok {
			i = uint32(len(pl.texts))
			pl.texts = append(pl.texts, string(d))
			pl.byText[string(d)] = i
		}
		return i | digText
	}
	i := uint32(len(pl.digests))
	if free := len(pl.freeDig); free > 0 {
		i, pl.freeDig = pl.freeDig[free-1], pl.freeDig[:free-1]
		pl.digests[i] = raw
	} else {
		pl.digests = append(pl.digests, raw)
	}
	if n == 20 {
		i |= digShort
	}
	return i
}

// drop frees what digest stored.
func (pl *Planner) drop(d uint32) {
	if d >= digFirst && d&digText == 0 {
		pl.freeDig = append(pl.freeDig, d&^digShort)
	}
}
