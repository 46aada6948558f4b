package runner

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// joint names the content of a group: names whose values share mutable objects. A name that shares with none is a
// group of its own, and its joint digest is the digest of its value, whatever the name.
type joint = kernel.Group

// pair is two names that share, in order.
type pair [2]string

// entry is what a key has at a position.
type entry struct {
	digest state.Digest
	writer int              // index of the node that wrote it; -1: the base
	info   *state.ValueInfo // of a var key that has a value; nil otherwise
	took   float64          // seconds that its writer executed
	failed state.BlockID    // the block that failed, of a poisoned key
	marks  []string         // why it may differ from run to run: those of its writer and of all that it rests on
}

// poison is the digest of a key that a failed node would have written.
const poison state.Digest = "!failed"

// unknown is, in a plan, the digest of a key whose writer must run first.
const unknown state.Digest = "!unknown"

func (e entry) poisoned() (block string, ok bool) { return string(e.failed), e.digest == poison }

// position is the state of everything at one place in the program: what each key has, and which names share.
type position struct {
	base   func(depgraph.Key) state.Digest // what a key has that no node wrote
	keys   map[depgraph.Key]entry
	shares map[pair]state.Digest

	context state.Digest          // see modules.go
	held    map[depgraph.Key]bool // what modules hold, libraries that were imported, and names that modules hold a part of
	born    map[string]int        // names that are bound → which came first
	births  int
	frail   map[string]bool // names whose values somebody may notice go: they have a finalizer, or refer weakly to others
}

func newPosition(base func(depgraph.Key) state.Digest) *position {
	return &position{base: base, keys: map[depgraph.Key]entry{}, shares: map[pair]state.Digest{}, held: map[depgraph.Key]bool{}, frail: map[string]bool{}, born: map[string]int{}}
}

func (p *position) clone() *position {
	q := *p
	q.keys, q.shares, q.held = maps.Clone(p.keys), maps.Clone(p.shares), maps.Clone(p.held)
	q.frail, q.born = maps.Clone(p.frail), maps.Clone(p.born)
	return &q
}

func (p *position) get(k depgraph.Key) entry {
	if e, ok := p.keys[k]; ok {
		return e
	}
	switch k.Space() {
	case "var", "display", "link", "held", "load":
		return entry{writer: -1}
	case "names":
		return entry{digest: state.DigestOf(fmt.Appendf(nil, "names %q", p.ordered())), writer: -1}
	case "reach":
		if k == reachAll {
			return entry{digest: state.DigestOf(fmt.Appendf(nil, "reach %q", p.reachingCode())), writer: -1}
		}
		names, last := p.reaching(k.Name())
		return entry{digest: state.DigestOf(fmt.Appendf(nil, "reach %q", names)), writer: last}
	case "files":
		return entry{digest: p.files(), writer: -1}
	case "stat":
		return p.presence(k.Name())
	case "time":
		if e, ok := p.keys[depgraph.Key("file:"+k.Name())]; ok {
			return entry{digest: digestWritten, writer: e.writer, marks: e.marks}
		}
	case "dir":
		return entry{digest: p.listing(k), writer: -1}
	case "isset":
		e := p.get(depgraph.Key("env:" + k.Name()))
		if e.digest != state.Absent {
			e.digest = "set"
		}
		return e
	case "env":
		if k == envAll {
			return entry{digest: p.environment(p.base(envAll)), writer: -1}
		}
		if k == envChanged {
			return entry{digest: p.environment(state.Absent), writer: -1}
		}
	}
	return entry{digest: p.base(k), writer: -1}
}

// reaching returns the names whose values reach a class or function of the program, given its qualified name, or a part of
// what a workspace module holds: no group, for who uses one seldom changes it. Who does, changes them all. With them comes
// the node that wrote one of them last.
func (p *position) reaching(what string) (names []string, last int) {
	last = -1
	is := func(code string) bool { return code == what || code == "*" || strings.HasPrefix(code, what+"#") }
	for k, e := range p.keys {
		if k.Space() == "var" && e.info != nil && (slices.ContainsFunc(e.info.Code, is) || slices.Contains(e.info.ModuleReferences, what)) {
			names, last = append(names, k.Name()), max(last, e.writer)
		}
	}
	slices.Sort(names)
	return names, last
}

// reachAll is read by whoever lists subclasses.
const reachAll depgraph.Key = "reach:*"

// reachingCode returns the names that reach a class or function of the program, in the order in which they were bound.
func (p *position) reachingCode() []string {
	return slices.DeleteFunc(p.ordered(), func(name string) bool { return !p.reachesCode(name) })
}

func (p *position) reachesCode(name string) bool {
	info := p.keys[depgraph.Var(name)].info
	return info != nil && len(info.Code) > 0
}

// reach returns the names that reach a class as n may define, by qualified name: it is another than theirs, be it equal.
func (p *position) reach(n *node) map[string][]string {
	found := map[string][]string{}
	for k, e := range p.keys {
		if k.Space() != "var" || e.info == nil {
			continue
		}
		for _, code := range e.info.Code {
			name, _, _ := strings.Cut(code, "#")
			if n.facts.Kind == depgraph.KindClass && name == n.facts.Defines[0] || strings.Contains(name, ".<locals>.") {
				found[code] = append(found[code], k.Name())
			}
		}
	}
	return found
}

// digestWritten is the time of a file that the program wrote: not the same in any two runs.
const digestWritten state.Digest = "written"

// pristine is what hidden state has before any node.
func (p *position) pristine(k depgraph.Key) state.Digest { return p.base(k) }

// presence is what a mere question whether a file is there depends on.
func (p *position) presence(name string) entry {
	e := p.get(depgraph.Key("file:" + name))
	if stored(e.digest) {
		e.digest = "file"
	}
	return e
}

// listing is what a directory holds here: what it holds at the base, with the files written or deleted so far.
func (p *position) listing(dir depgraph.Key) state.Digest {
	changed := map[string]bool{}
	prefix := dir.Name() + "/"
	if dir.Name() == "." {
		prefix = ""
	}
	for k, e := range p.keys {
		if k.Space() != "file" {
			continue
		}
		if rest, ok := strings.CutPrefix(k.Name(), prefix); ok && rest != "" && !strings.HasPrefix(rest, "/") {
			name, _, nested := strings.Cut(rest, "/")
			changed[name] = changed[name] || e.digest != state.Absent || nested && e.digest != state.Absent
		}
	}
	itself, written := p.keys[depgraph.Key("file:"+dir.Name())]
	if written && itself.digest == state.Absent {
		return state.Absent
	}
	if len(changed) == 0 && !written {
		return p.base(dir)
	}
	var b strings.Builder
	b.WriteString(string(dir))
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		fmt.Fprintf(&b, "\x00%s=%v", name, changed[name])
	}
	if len(changed) == 0 {
		b.WriteString("\x00") // it was made, and is empty
	}
	return p.base(depgraph.Key(b.String()))
}

// files digests which files the program wrote or deleted so far.
func (p *position) files() state.Digest {
	var names []string
	for k := range p.keys {
		if k.Space() == "file" {
			names = append(names, k.Name())
		}
	}
	slices.Sort(names)
	return state.DigestOf(fmt.Appendf(nil, "files %q", names))
}

// environment digests the changes that the program made to the environment; base covers the rest.
func (p *position) environment(base state.Digest) state.Digest {
	lines := []string{string(base)}
	for k, e := range p.keys {
		if k.Space() == "env" {
			lines = append(lines, fmt.Sprintf("%s=%s", k.Name(), e.digest))
		}
	}
	slices.Sort(lines[1:])
	return state.DigestOf([]byte(strings.Join(lines, "\n")))
}

// namesKey is read by whoever may look at which names there are.
const namesKey depgraph.Key = "names:*"

// envAll is read by whoever iterates over the environment. envChanged, what the program changed of it, by child processes.
const (
	envAll     depgraph.Key = "env:*"
	envChanged depgraph.Key = "env:+"
)

// filesWritten is read by child processes.
const filesWritten depgraph.Key = "files:+"

// names returns the names that have a value here, sorted.
func (p *position) names() []string {
	var names []string
	for k, e := range p.keys {
		if k.Space() == "var" && e.digest != state.Absent {
			if _, bad := e.poisoned(); !bad {
				names = append(names, k.Name())
			}
		}
	}
	slices.Sort(names)
	return names
}

// ordered returns the names in the order in which they were bound, as a namespace lists them.
func (p *position) ordered() []string {
	names := p.names()
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(p.born[a], p.born[b]) })
	return names
}

// bear notes which names t binds for the first time, or again after they were deleted.
func (p *position) bear(t *state.Trace) {
	bear := func(name string) {
		if _, there := p.born[name]; !there {
			p.births++
			p.born[name] = p.births
		}
	}
	for _, name := range t.BindOrder {
		if was, moved := strings.CutPrefix(name, "-"); moved {
			delete(p.born, was)
			name = was
		}
		bear(name)
	}
	for _, w := range t.Writes {
		if w.Key.Space() == "var" && w.Digest != state.Absent {
			bear(w.Key.Name())
		} else if w.Key.Space() == "var" {
			delete(p.born, w.Key.Name())
		}
	}
}

// group returns the names whose values are, with name's, one object graph; sorted, name included.
func (p *position) group(name string) []string {
	if len(p.shares) == 0 {
		return []string{name}
	}
	seen := map[string]bool{name: true}
	for todo := []string{name}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for pr := range p.shares {
			other := ""
			switch n {
			case pr[0]:
				other = pr[1]
			case pr[1]:
				other = pr[0]
			}
			if other != "" && !seen[other] {
				seen[other] = true
				todo = append(todo, other)
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// joint returns the group of name and its joint digest.
func (p *position) joint(name string) (joint, []string) {
	names := p.group(name)
	if len(names) == 1 {
		return joint(p.keys[depgraph.Var(name)].digest), names
	}
	var b strings.Builder
	b.WriteString("group\n")
	for _, n := range names {
		fmt.Fprintf(&b, "%q %s\n", n, p.keys[depgraph.Var(n)].digest)
	}
	for _, s := range sortedShares(p.shares, func(pr pair) bool { return slices.Contains(names, pr[0]) }) {
		fmt.Fprintf(&b, "%q\n", []string(s))
	}
	return joint(state.DigestOf([]byte(b.String()))), names
}

// writer returns the last node that wrote one of the names: what they share is so since then.
func (p *position) writer(names []string) int {
	last := -1
	for _, n := range names {
		last = max(last, p.keys[depgraph.Var(n)].writer)
	}
	return last
}

func sortedShares(shares map[pair]state.Digest, keep func(pair) bool) []state.Alias {
	var found []state.Alias
	for pr, d := range shares {
		if keep(pr) {
			found = append(found, state.Alias{pr[0], pr[1], string(d)})
		}
	}
	slices.SortFunc(found, func(a, b state.Alias) int { return slices.Compare(a, b) })
	return found
}

// within returns the sharing among the names read.
func (p *position) within(reads []state.Access) []state.Alias {
	if len(p.shares) == 0 {
		return nil
	}
	read := map[string]bool{}
	for _, a := range reads {
		if a.Key.Space() == "var" {
			read[a.Key.Name()] = true
		}
	}
	return sortedShares(p.shares, func(pr pair) bool { return read[pr[0]] && read[pr[1]] })
}

// around returns all sharing that involves one of the names.
func (p *position) around(names []string) []state.Alias {
	if len(p.shares) == 0 {
		return nil
	}
	return sortedShares(p.shares, func(pr pair) bool { return slices.Contains(names, pr[0]) || slices.Contains(names, pr[1]) })
}

// mismatch returns the first read of t that does not hold here; ok says that all hold, sharing included.
func (p *position) mismatch(t *state.Trace) (first state.Access, now entry, ok bool) {
	return mismatch(here{position: p}, t)
}

// mismatch is the same of any place.
func mismatch(p place, t *state.Trace) (first state.Access, now entry, ok bool) {
	for _, a := range t.Reads {
		if e := p.get(a.Key); e.digest != a.Digest {
			return a, e, false
		}
	}
	// What an execution reads only where it is there: who notices that a value goes, figures that were begun, what libraries saw.
	reads := func(k depgraph.Key) bool {
		_, found := slices.BinarySearchFunc(t.Reads, state.Access{Key: k}, byKey)
		return found
	}
	for _, w := range t.Writes {
		if w.Key.Space() == "var" && p.noticed(w.Key.Name()) && !reads(w.Key) {
			return state.Access{Key: w.Key}, p.get(w.Key), false
		}
	}
	if e := p.get(figuresKey); e.digest != state.Absent && !reads(figuresKey) {
		return state.Access{Key: figuresKey}, e, false
	}
	for _, a := range t.Reads {
		if a.Key.Space() != "module" {
			continue
		}
		k := loadKey(a.Key.Name())
		if e := p.get(k); saw(e.digest) != "" && !reads(k) {
			return state.Access{Key: k}, e, false
		}
	}
	if !slices.EqualFunc(p.within(t.Reads), t.ReadAliases, slices.Equal) || !slices.EqualFunc(p.around(t.AliasSensitive), t.AliasesBefore, slices.Equal) {
		return state.Access{}, entry{}, false
	}
	return state.Access{}, entry{}, true
}

// apply makes this the position after node i ran, or was reused, with trace t.
func (p *position) apply(i int, t *state.Trace) {
	gone, context := map[string]bool{}, false
	for _, w := range t.Writes {
		if _, bad := p.keys[w.Key].poisoned(); bad && w.Digest == state.Absent {
			continue // where it was seen that a name is deleted, and where it was not, users of it are blocked
		}
		e := entry{digest: w.Digest, writer: i, took: t.Seconds}
		if info, ok := t.Info[w.Key]; ok {
			e.info = &info
		}
		if name := w.Key.Name(); w.Key.Space() == "var" {
			gone[name] = true
			if delete(p.frail, name); e.info != nil && e.info.LifetimeSensitive {
				p.frail[name] = true
			}
		}
		p.keys[w.Key] = e
		if w.Key.Space() == "held" || w.Key.Space() == "load" || e.info != nil && len(e.info.ModuleReferences) > 0 {
			p.held[w.Key] = true
		} else {
			delete(p.held, w.Key)
		}
		context = context || w.Key.Space() == "conf" || w.Key.Space() == "cwd"
	}
	p.bear(t)
	if context {
		p.context = p.contextOf()
	}
	if len(p.shares) > 0 {
		maps.DeleteFunc(p.shares, func(pr pair, _ state.Digest) bool {
			return gone[pr[0]] || gone[pr[1]] || slices.Contains(t.AliasSensitive, pr[0]) || slices.Contains(t.AliasSensitive, pr[1])
		})
	}
	for _, s := range t.AliasesAfter {
		p.shares[pair{s[0], s[1]}] = state.Digest(s[2])
	}
}

// noticed reports whether the value of name, or one that shares with it, is frail.
func (p *position) noticed(name string) bool {
	if len(p.frail) == 0 {
		return false
	}
	return slices.ContainsFunc(p.group(name), func(n string) bool { return p.frail[n] })
}

// taint returns the marks of a trace and of everything it read.
func (p *position) taint(t *state.Trace) []string {
	marks := slices.Clone(t.Marks)
	for _, a := range t.Reads {
		for _, m := range p.get(a.Key).marks {
			marks = appendNew(marks, m)
		}
	}
	return marks
}

// mark gives what t wrote its marks.
func (p *position) mark(t *state.Trace, marks []string) {
	for _, w := range t.Writes {
		if e, ok := p.keys[w.Key]; ok && len(marks) > 0 {
			e.marks = marks
			p.keys[w.Key] = e
		}
	}
}

// fail makes this the position after node i failed, or was blocked, in block: what it defines is poisoned.
func (p *position) fail(i int, block state.BlockID, defines []string) {
	for _, name := range defines {
		p.keys[depgraph.Var(name)] = entry{digest: poison, writer: i, failed: block}
		delete(p.held, depgraph.Var(name))
		delete(p.frail, name)
		delete(p.born, name)
		maps.DeleteFunc(p.shares, func(pr pair, _ state.Digest) bool { return pr[0] == name || pr[1] == name })
	}
}

func byKey(a, b state.Access) int { return cmp.Compare(a.Key, b.Key) }
