package runner

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// flowPlace is the place of a node in a flow. It notes what is asked there.
type flowPlace struct {
	f     *Flow
	node  uint32
	asked []uint32
	err   error
}

// What a node wrote, in place of a digest of content: that it is one of texts has the highest bit.
const (
	digAbsent uint32 = iota
	digUnknown
	digPoison
	digFirst
	digShort uint32 = 1 << 30 // a digest of 20 bytes, as values have
	digText  uint32 = 1 << 31
)

// known returns the number of a key; 0: nobody wrote it or asked for it.
func (f *Flow) known(name depgraph.Key) uint32 {
	return f.byKey.find(hashText(name), func(k uint32) bool { return f.keys[k].name == name })
}

// key returns the number of a key, giving it one.
func (f *Flow) key(name depgraph.Key) uint32 {
	if k := f.known(name); k != 0 {
		return k
	}
	k := uint32(len(f.keys))
	f.keys = append(f.keys, flowKey{name: name})
	f.byKey.add(k)
	if s := name.Space(); s == "file" || s == "env" {
		f.bySpace[s] = append(f.bySpace[s], k)
	}
	return k
}

// ask notes that a key was asked for.
func (p *flowPlace) ask(name depgraph.Key) uint32 {
	k := p.f.key(name)
	p.asked = append(p.asked, k)
	return k
}

// writer returns the last of the writers of k before node n; 0: none.
func (f *Flow) writer(k, n uint32) uint32 {
	return f.last(f.keys[k].writers, n)
}

// written returns what node n wrote to k.
func (f *Flow) written(n, k uint32) uint32 {
	for w := f.lists.of(f.nodes[n].writes); len(w) > 0; w = w[2:] {
		if w[0] == k {
			return w[1]
		}
	}
	panic("runner: internal error: a writer does not write " + string(f.keys[k].name))
}

// entry is what k has where n was the last to write it; n is 0 for none.
func (f *Flow) entry(k, n uint32) entry {
	if n == 0 {
		return entry{writer: -1}
	}
	e := entry{writer: int(n)}
	switch d := f.written(n, k); {
	case d == digAbsent:
	case d == digUnknown:
		e.digest = unknown
	case d == digPoison:
		e.digest, e.failed = poison, f.failed[n]
	case d&digText != 0:
		e.digest = state.Digest(f.texts[d&^digText])
	case d&digShort != 0:
		e.digest = state.Digest(hex.EncodeToString(f.digests[d&^digShort][:20]))
	default:
		e.digest = hexDigest(&f.digests[d])
	}
	return e
}

func (p *flowPlace) get(name depgraph.Key) entry {
	f := p.f
	k := p.ask(name)
	if w := f.writer(k, p.node); w != 0 {
		return f.entry(k, w)
	}
	around := newPosition(p.base)
	switch name.Space() {
	case "var", "display", "link", "held", "load":
		return entry{writer: -1}
	case "names":
		p.err = fmt.Errorf("%w: a block asks in which order names were bound", ErrWalk)
	case "reach":
		if name == reachAll {
			p.err = fmt.Errorf("%w: a block asks in which order classes were bound", ErrWalk)
			break
		}
		p.ask(askReach)
		p.all(around, "var")
		p.informed(around)
		return p.ranked(around, name)
	case "files", "dir":
		p.ask(askFile)
		p.all(around, "file")
	case "stat", "time":
		p.one(around, depgraph.Key("file:"+name.Name()))
	case "isset":
		p.one(around, depgraph.Key("env:"+name.Name()))
	case "env":
		if name == envAll || name == envChanged {
			p.ask(askEnv)
			p.all(around, "env")
		}
	}
	return around.get(name)
}

// base is what a key has before the first node.
func (p *flowPlace) base(name depgraph.Key) state.Digest {
	k := p.ask(name)
	d := p.f.e.world.get(name)
	p.f.base[k] = d
	return d
}

// one gives a position what a key has here.
func (p *flowPlace) one(to *position, name depgraph.Key) {
	k := p.ask(name)
	if w := p.f.writer(k, p.node); w != 0 {
		to.keys[name] = p.f.entry(k, w)
	}
}

// all gives a position what every key of a space has here that some node before wrote. Who asks has asked for the key that
// stands for them.
func (p *flowPlace) all(to *position, space string) {
	f := p.f
	add := func(k uint32) {
		if w := f.writer(k, p.node); w != 0 {
			to.keys[f.keys[k].name] = f.entry(k, w)
		}
	}
	if space != "var" {
		for _, k := range f.bySpace[space] {
			add(k)
		}
		return
	}
	for k := range f.keys {
		if strings.HasPrefix(string(f.keys[k].name), "var:") {
			add(uint32(k))
		}
	}
}

// ranked asks a position for a key of which the last writer is told, that with the highest number: they get numbers in order.
func (p *flowPlace) ranked(around *position, name depgraph.Key) entry {
	var writers []uint32
	for _, e := range around.keys {
		writers = append(writers, uint32(e.writer))
	}
	p.f.sort(writers)
	for k, e := range around.keys {
		e.writer = p.f.search(writers, uint32(e.writer))
		around.keys[k] = e
	}
	e := around.get(name)
	if e.writer >= 0 {
		e.writer = int(writers[e.writer])
	}
	return e
}

// informed adds what is known of values.
func (p *flowPlace) informed(to *position) {
	traces := map[int]*state.Trace{}
	for k, e := range to.keys {
		n := &p.f.nodes[e.writer]
		if n.flags&flagTrace == 0 || e.digest == poison {
			continue
		}
		t := traces[e.writer]
		if t == nil {
			found, ok, err := p.f.e.cfg.Store.Trace(hexDigest(&n.trace))
			if err != nil || !ok {
				p.err = fmt.Errorf("%w: a result is gone", ErrWalk)
				return
			}
			t = &found
			traces[e.writer] = t
		}
		if info, ok := t.Info[k]; ok {
			e.info = &info
			to.keys[k] = e
		}
	}
}

// noticed is false: a flow does not take frail values, see found.
func (p *flowPlace) noticed(string) bool { return false }

func (p *flowPlace) layout(n *node, cited []string) state.Digest {
	if len(cited) == 0 {
		return state.Absent
	}
	var blocks []uint32
	for _, name := range cited {
		id := strings.TrimSuffix(strings.TrimPrefix(name, "<"), ">")
		p.ask(depgraph.Key(askText + id))
		if x := p.f.block(state.BlockID(id)); x != 0 {
			blocks = append(blocks, x)
		}
	}
	slices.SortFunc(blocks, func(x, y uint32) int {
		if p.f.blocks[x].label < p.f.blocks[y].label {
			return -1
		}
		return 1
	})
	var units []*unit
	for _, x := range slices.Compact(blocks) {
		u, err := p.f.unit(p.f.ctx, x)
		if err != nil {
			p.err = err
			return state.Absent
		}
		units = append(units, u)
	}
	return layoutOf(units, n, cited)
}

func (p *flowPlace) nameOf(writer int) string {
	n := &p.f.nodes[writer]
	b := &p.f.blocks[n.block]
	if b.nodes.n == 1 {
		return string(b.id)
	}
	return fmt.Sprintf("%s#%d", b.id, n.at+1)
}

// saying is what a node says of names that share objects.
type saying struct {
	touched []string
	after   []state.Alias
}

func (p *flowPlace) within(reads []state.Access) []state.Alias {
	f := p.f
	if len(f.partners) == 0 {
		return nil
	}
	read := map[string]bool{}
	for _, a := range reads {
		if a.Key.Space() == "var" {
			read[a.Key.Name()] = true
		}
	}
	return p.shares(read, func(pr pair) bool { return read[pr[0]] && read[pr[1]] })
}

func (p *flowPlace) around(names []string) []state.Alias {
	if len(p.f.partners) == 0 {
		return nil
	}
	asked := map[string]bool{}
	for _, name := range names {
		asked[name] = true
		p.ask(depgraph.Var(name))
	}
	return p.shares(asked, func(pr pair) bool { return asked[pr[0]] || asked[pr[1]] })
}

// shares returns the pairs that there are here, of those with one of the names.
func (p *flowPlace) shares(names map[string]bool, keep func(pair) bool) []state.Alias {
	all := map[pair]state.Digest{}
	for name := range names {
		for pr := range p.f.partners[name] {
			if !keep(pr) {
				continue
			}
			if d, ok := p.share(pr); ok {
				all[pr] = d
			}
		}
	}
	return sortedShares(all, keep)
}

// share returns what was said last of a pair, unless one of its names was written or touched since.
func (p *flowPlace) share(pr pair) (state.Digest, bool) {
	f := p.f
	said := f.writer(f.key(shareKey(pr)), p.node)
	if said == 0 {
		return "", false
	}
	for _, name := range pr {
		for _, by := range []uint32{f.remover(name, p.node), f.writer(f.key(depgraph.Key(askTouch+name)), p.node)} {
			if by != 0 && f.before(said, by) {
				return "", false
			}
		}
	}
	for _, s := range f.shared[said].after {
		if pr == (pair{s[0], s[1]}) {
			return state.Digest(s[2]), true
		}
	}
	panic("runner: internal error: who said that names share does not")
}

func shareKey(pr pair) depgraph.Key { return depgraph.Key(askShare + pr[0] + "\x00" + pr[1]) }

// remover returns the last node before n that is known to have written a name.
func (f *Flow) remover(name string, n uint32) uint32 {
	writers := f.keys[f.key(depgraph.Var(name))].writers
	for n = f.last(writers, n); n != 0 && f.nodes[n].flags&flagSupposed != 0; {
		n = f.last(writers, n)
	}
	return n
}

// digest keeps the digest that a node wrote.
func (f *Flow) digest(d state.Digest) uint32 {
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
		i, ok := f.byText[string(d)]
		if !ok {
			i = uint32(len(f.texts))
			f.texts = append(f.texts, string(d))
			f.byText[string(d)] = i
		}
		return i | digText
	}
	i := uint32(len(f.digests))
	if free := len(f.freeDig); free > 0 {
		i, f.freeDig = f.freeDig[free-1], f.freeDig[:free-1]
		f.digests[i] = raw
	} else {
		f.digests = append(f.digests, raw)
	}
	if n == 20 {
		i |= digShort
	}
	return i
}

// drop gives up what digest kept.
func (f *Flow) drop(d uint32) {
	if d >= digFirst && d&digText == 0 {
		f.freeDig = append(f.freeDig, d&^digShort)
	}
}
